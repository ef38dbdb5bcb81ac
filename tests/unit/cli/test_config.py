"""What `orch config` says about settings, and `orch db` does with the database."""

import sqlite3


def test_every_setting_is_listed_with_its_origin(orch, monkeypatch, tmp_path):
    monkeypatch.setenv("ORCH_PORT", "9000")
    ran = orch("config", "--json")
    rows = {row["name"]: row for row in ran.json["settings"]}
    assert (rows["port"]["value"], rows["port"]["origin"], rows["port"]["default"]) == (
        9000,
        "environment",
        8500,
    )
    assert rows["home"]["value"] == str(tmp_path / "home")
    assert rows["language"]["origin"] == "default"


def test_secrets_are_masked(orch, monkeypatch):
    monkeypatch.setenv("ORCH_PLANE_API_TOKEN", "plane-and-simple-secret")
    assert "plane-and-simple" not in orch("config", "--json").out
    assert "plane-and-simple" not in orch("config").out


def test_what_was_put_right_is_remarked(orch, monkeypatch):
    monkeypatch.setenv("ORCH_AGENT_KILL_GRACE_SECONDS", "soon")
    ran = orch("config", "--json")
    assert ran.code == 0
    assert "ORCH_AGENT_KILL_GRACE_SECONDS=soon" in ran.err
    assert len(ran.json["warnings"]) == 1


def test_the_database_is_made_and_then_left_alone(orch):
    first, second = orch("db", "upgrade", "--json").json, orch("db", "upgrade", "--json").json
    assert first["before"] is None
    assert second["before"] == second["revision"] == first["revision"]


def test_a_newer_database_is_refused(orch, tmp_path):
    orch("db", "upgrade")
    with sqlite3.connect(tmp_path / "home" / "orchestrator.db") as database:
        database.execute("UPDATE alembic_version SET version_num = '9999'")
    database.close()
    ran = orch("db", "upgrade", "--json")
    assert ran.code == 2
    assert "revision 9999" in ran.json["error"]


def test_a_backup_is_a_database_of_its_own(orch, tmp_path):
    orch("db", "upgrade")
    ran = orch("db", "backup", tmp_path / "copy.db", "--json")
    assert ran.json == {"ok": True, "files": [str(tmp_path / "copy.db")]}
    with sqlite3.connect(tmp_path / "copy.db") as copy:
        tables = {name for (name,) in copy.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    copy.close()
    assert {"tasks", "jobs", "events"} <= tables


def test_a_backup_needs_a_database(orch):
    ran = orch("db", "backup")
    assert ran.code == 2
    assert "there is no database at" in ran.err
