"""A directory, a home and an environment of its own for every test."""

import os

import pytest


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    for name in list(os.environ):
        if name.startswith("ORCH_") or name in {"CLAUDE_BIN", "XDG_DATA_HOME"}:
            monkeypatch.delenv(name)
    home = tmp_path / "home"
    here = tmp_path / "here"
    home.mkdir()
    here.mkdir()
    monkeypatch.setenv("ORCH_HOME", str(home))
    monkeypatch.chdir(here)
    return home
