"""What a person is shown about the settings, and that the documentation agrees with the declarations."""

from pathlib import Path

import pytest

from orchestrator.config.description import describe
from orchestrator.config.loader import load_settings
from orchestrator.config.reference import as_env_example, as_markdown, write
from orchestrator.config.settings import Settings

ROOT = Path(__file__).parents[3]
MEND = "write it anew: python -m orchestrator.config.reference"


def rows(overrides=None):
    return {row.name: row for row in describe(load_settings(overrides))}


def test_every_setting_is_described(home):
    found = rows({"port": 9000})
    assert set(found) == set(Settings.model_fields)
    port = found["port"]
    assert (port.env, port.value, port.origin, port.default) == ("ORCH_PORT", 9000, "argument", 8500)
    assert port.help == "Port of the service."
    assert (found["repos_dir"].value, found["repos_dir"].default) == (str(home / "repos"), "repos")
    assert found["agent_home_dir"].value is None
    assert repr(found["staging_runner_infra_retry_delay_s"].value) == "30"


def test_secrets_are_masked_and_empty_ones_show_as_empty():
    found = rows({"gitea_token": "hush", "notify_urls": "tgram://hush"})
    assert found["gitea_token"].value == "********"
    assert found["notify_urls"].value == "********"
    assert found["plane_api_token"].value == ""


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://orch:hush@db:5432/orch?password=hush", "postgresql://********@db:5432/orch"),
        ("postgresql://orch:hu/sh@db/orch", "********"),
        ("postgresql://db/orch?password=hush", "********"),
        ("sqlite:////data/x.db", "sqlite:////data/x.db"),
        ("", ""),
    ],
)
def test_the_database_is_shown_without_its_password(url, shown):
    assert rows({"database_url": url})["database_url"].value == shown


def test_the_page_of_settings_is_true():
    assert (ROOT / "docs" / "settings.md").read_text(encoding="utf-8") == as_markdown(), MEND


def test_the_example_file_is_true():
    assert (ROOT / ".env.example").read_text(encoding="utf-8") == as_env_example(), MEND


def test_the_example_file_changes_nothing(tmp_path):
    (tmp_path / "here" / ".env").write_text(as_env_example(), encoding="utf-8")
    origins = load_settings().origins
    assert {name for name, origin in origins.items() if origin != "default"} == {"home"}


def test_the_example_file_can_be_uncommented_as_it_is(tmp_path):
    lines = (line.removeprefix("#") for line in as_env_example().splitlines() if line.startswith("#ORCH_"))
    (tmp_path / "here" / ".env").write_text("\n".join(lines), encoding="utf-8")
    loaded = load_settings()
    assert loaded.warnings == ()
    assert loaded.settings == load_settings().settings


def test_both_files_are_written(tmp_path):
    write(tmp_path)
    assert (tmp_path / "docs" / "settings.md").read_text(encoding="utf-8") == as_markdown()
    assert (tmp_path / ".env.example").read_text(encoding="utf-8") == as_env_example()
