"""Every error is one clear line with an exit code that says of which kind it is."""

import json
import subprocess
import sys

import pytest

from orchestrator import __version__

HEAVY = {"alembic", "fastapi", "httpx", "jinja2", "pydantic", "rich", "sqlalchemy", "structlog", "uvicorn"}


def test_the_version_is_printed(orch):
    ran = orch("--version")
    assert (ran.code, ran.out) == (0, f"orch {__version__}\n")


def test_the_command_tree_loads_nothing_heavy():
    """Shell completion builds the tree at every key press."""
    script = "import json, sys, orchestrator.cli.tree; print(json.dumps(sorted(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert HEAVY.isdisjoint(json.loads(run.stdout))


def test_help_names_the_exit_codes(orch):
    ran = orch("--help")
    assert ran.code == 0
    assert "Exit codes: 0 done" in ran.out


def test_without_a_command_the_help_is_shown(orch):
    ran = orch()
    assert ran.code == 0
    assert "doctor" in ran.out


@pytest.mark.parametrize("group", ["item", "project", "gates", "db", "events"])
def test_a_group_without_a_command_shows_its_help(orch, group):
    ran = orch(group)
    assert ran.code == 2
    assert "Usage: orch " in ran.out + ran.err


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["frobnicate"], "orch: No such command 'frobnicate'; 'orch --help' says how\n"),
        (["item", "new"], "orch: Missing argument 'TITLE'; 'orch item new --help' says how\n"),
        (["item", "reject", "A-1"], "orch: Missing option '--comment'; 'orch item reject --help' says how\n"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_exit_code_2(orch, words, line):
    ran = orch(*words)
    assert ran.code == 2
    assert ran.err.replace("'--comment' / '-c'", "'--comment'") == line


def test_with_json_an_error_is_an_object_on_standard_output_too(orch):
    ran = orch("item", "show", "--json")
    assert ran.code == 2
    assert ran.json["ok"] is False
    assert ran.json["error"].startswith("Missing argument 'ID'")


def test_a_bad_setting_is_one_line(orch, monkeypatch):
    monkeypatch.setenv("ORCH_PORT", "many")
    ran = orch("config")
    assert ran.code == 2
    assert ran.err == "orch: ORCH_PORT=many: must be a whole number from 1 up to 65535\n"


def test_a_database_that_cannot_be_read_is_no_bad_input(orch, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (home / "orchestrator.db").write_bytes(b"this is no database at all" * 100)
    ran = orch("db", "upgrade")
    assert ran.code == 1
    assert ran.err.count("\n") == 1
