"""Finding the real agent CLIs: with none, a test is skipped or fails, and says why."""

import sys
from pathlib import Path

import pytest

from tests.real_clis import REQUIRED, claude, codex


def test_a_variable_names_the_program(monkeypatch):
    monkeypatch.setenv("ORCH_TEST_CLAUDE", sys.executable)
    assert claude() == Path(sys.executable)


@pytest.mark.parametrize(("find", "name"), [(claude, "CLAUDE"), (codex, "CODEX")])
def test_a_missing_program_skips_the_test_unless_it_is_required(monkeypatch, tmp_path, find, name):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(f"ORCH_TEST_{name}", raising=False)
    monkeypatch.delenv(REQUIRED, raising=False)
    with pytest.raises(pytest.skip.Exception, match=f"no {name.lower()} on the PATH; name one in ORCH_TEST_"):
        find()
    monkeypatch.setenv(REQUIRED, "1")
    with pytest.raises(pytest.fail.Exception, match=f"ORCH_TEST_{name}"):
        find()


def test_a_name_that_leads_nowhere_is_told(monkeypatch, tmp_path):
    monkeypatch.setenv("ORCH_TEST_CODEX", str(tmp_path / "codex"))
    monkeypatch.setenv(REQUIRED, "1")
    with pytest.raises(pytest.fail.Exception, match="no absolute path of a program"):
        codex()
