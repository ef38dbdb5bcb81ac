"""Loading: which source wins, what is refused, what is tolerated, and what is only doubted."""

import pytest

from orchestrator.config.loader import load_settings
from orchestrator.errors import BadInput


def test_each_source_gives_way_to_the_one_before_it(home, tmp_path, monkeypatch):
    (home / "orchestrator.toml").write_text('port = 1\nhost = "a"\nlanguage = "ru"\ngit_email_domain = "w"\n')
    (tmp_path / "here" / ".env").write_text(
        "ORCH_PORT=2\nORCH_HOST=b\nORCH_LANGUAGE=en\nHOST=other\nOTHER=x\n"
    )
    monkeypatch.setenv("ORCH_PORT", "3")
    monkeypatch.setenv("ORCH_HOST", "c")
    loaded = load_settings({"port": 4, "log_level": None})
    settings = loaded.settings
    assert (settings.port, settings.host, settings.language, settings.git_email_domain) == (4, "c", "en", "w")
    origins = [loaded.origins[name] for name in ("port", "host", "language", "git_email_domain", "log_level")]
    assert origins == ["argument", "environment", ".env", "orchestrator.toml", "default"]
    assert loaded.warnings == ()


def test_an_empty_variable_is_not_set(home, monkeypatch):
    (home / "orchestrator.toml").write_text("port = 9100\n")
    monkeypatch.setenv("ORCH_PORT", "")
    assert load_settings().settings.port == 9100


def test_the_home_comes_from_xdg_when_nobody_names_it(tmp_path, monkeypatch):
    monkeypatch.delenv("ORCH_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    loaded = load_settings()
    assert loaded.settings.home == tmp_path / "data" / "orchestrator"
    assert loaded.origins["home"] == "default"


def test_the_home_in_dotenv_leads_to_the_settings_file(tmp_path, monkeypatch):
    monkeypatch.delenv("ORCH_HOME")
    (tmp_path / "orchestrator.toml").write_text("port = 9100\n")
    (tmp_path / "here" / ".env").write_text(f"ORCH_HOME={tmp_path}\n")
    assert load_settings().settings.port == 9100


def test_the_path_of_the_agent_cli_is_found_under_its_older_name(monkeypatch):
    monkeypatch.setenv("CLAUDE_BIN", "/opt/claude")
    loaded = load_settings()
    assert (loaded.settings.agent_command, loaded.origins["agent_command"]) == ("/opt/claude", "CLAUDE_BIN")
    assert load_settings({"agent_cli": "script"}).settings.agent_command == ""
    monkeypatch.setenv("ORCH_AGENT_COMMAND", "/opt/newer")
    assert load_settings().settings.agent_command == "/opt/newer"


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("ORCH_PORT", "abc", "ORCH_PORT=abc: must be a whole number from 1 up to 65535"),
        ("ORCH_PORT", "0", "ORCH_PORT=0: must be a whole number from 1 up to 65535"),
        ("ORCH_PORT", "8501", "ORCH_STAGING_PORT=8501: is the port of the service; give staging its own"),
        ("ORCH_MAX_CONCURRENCY", "65", "ORCH_MAX_CONCURRENCY=65: must be a whole number from 1 up to 64"),
        ("ORCH_POLL_INTERVAL", "nan", "ORCH_POLL_INTERVAL=nan: must be a number above 0 up to 604800"),
        ("ORCH_AGENT_CLI", "gpt", "ORCH_AGENT_CLI=gpt: must be one of claude, codex, script"),
        ("ORCH_MERGE_GATE_ENABLED", "flase", "ORCH_MERGE_GATE_ENABLED=flase: must be true or false"),
        ("ORCH_TIME_ZONE", "Mars", "ORCH_TIME_ZONE=Mars: must be a time zone of the IANA database"),
        ("ORCH_TIME_ZONE", "../etc", "ORCH_TIME_ZONE=../etc: must be a time zone"),
        ("ORCH_GITEA_BASE_URL", "git.local", "ORCH_GITEA_BASE_URL=git.local: must begin with http"),
        ("ORCH_GITEA_BASE_URL", "http://a:b@c", "must not contain a user or password"),
        ("ORCH_BUDGETS_JSON", '{"week": {}}', "must be limits (tokens, cost_usd, runs, wall_s) by scope"),
        ("ORCH_BUDGETS_JSON", '{"day": {"tokens": -1}}', "at day.tokens"),
    ],
)
def test_a_bad_value_is_refused_with_its_variable_and_what_is_allowed(variable, value, message, monkeypatch):
    monkeypatch.setenv(variable, value)
    with pytest.raises(BadInput) as refused:
        load_settings()
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("ORCH_API_TOKENS", "ann:king:hush"),
        ("ORCH_API_TOKENS", "ann:admin:hush ann:viewer:hush"),
        ("ORCH_DATABASE_URL", "mysql://root:hush@db/x"),
    ],
)
def test_a_bad_secret_is_refused_without_showing_it(variable, value, monkeypatch):
    monkeypatch.setenv(variable, value)
    with pytest.raises(BadInput, match=variable) as refused:
        load_settings()
    assert "hush" not in str(refused.value)


def test_every_bad_value_has_its_line(monkeypatch):
    monkeypatch.setenv("ORCH_PORT", "x")
    monkeypatch.setenv("ORCH_LANGUAGE", "de")
    with pytest.raises(BadInput) as refused:
        load_settings()
    assert [line.split("=")[0] for line in str(refused.value).splitlines()] == ["ORCH_PORT", "ORCH_LANGUAGE"]


@pytest.mark.parametrize("value", ["abc", "-5", "0"])
@pytest.mark.parametrize(
    ("name", "used"),
    [
        ("staging_runner_timeout_s", 600),
        ("test_runner_timeout_s", 900),
        ("merge_retest_timeout_s", 900),
        ("agent_timeout_seconds", 1800),
        ("agent_timeout_developer_s", 3600),
        ("agent_timeout_reviewer_s", 3000),
        ("agent_kill_grace_seconds", 5),
    ],
)
def test_a_bad_limit_counts_as_the_default_with_a_warning(name, used, value, monkeypatch):
    variable = f"ORCH_{name.upper()}"
    monkeypatch.setenv(variable, value)
    loaded = load_settings()
    assert getattr(loaded.settings, name) == used
    assert loaded.origins[name] == "default"
    (warning,) = loaded.warnings
    assert warning.startswith(f"{variable}={value}: must be a whole number above 0")
    assert warning.endswith(f"{used} is used")


def test_a_bad_defer_budget_counts_as_the_default_and_none_is_allowed(monkeypatch):
    monkeypatch.setenv("ORCH_STAGING_RUNNER_INFRA_MAX_RETRIES", "many")
    monkeypatch.setenv("ORCH_STAGING_RUNNER_INFRA_RETRY_DELAY_S", "-1")
    monkeypatch.setenv("ORCH_TEST_RUNNER_INFRA_MAX_RETRIES", "0")
    loaded = load_settings()
    assert loaded.settings.staging_runner_infra_max_retries == 2
    assert loaded.settings.staging_runner_infra_retry_delay_s == 30
    assert loaded.settings.test_runner_infra_max_retries == 0
    assert len(loaded.warnings) == 2


def test_a_tolerated_value_does_not_excuse_a_refused_one(monkeypatch):
    monkeypatch.setenv("ORCH_TEST_RUNNER_TIMEOUT_S", "x")
    monkeypatch.setenv("ORCH_PORT", "x")
    with pytest.raises(BadInput, match="ORCH_PORT"):
        load_settings()


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("{", "it is not JSON; it is ignored"),
        ("[1]", "it is not an object of seconds by role"),
        ('{"king": 5}', "'king' is no role"),
        ('{"tester": "soon", "reviewer": 60}', "'soon' for tester is no number of seconds"),
    ],
)
def test_a_bad_override_of_a_time_limit_is_ignored_with_a_warning(text, warning, monkeypatch):
    monkeypatch.setenv("ORCH_AGENT_TIMEOUT_OVERRIDES_JSON", text)
    assert warning in load_settings().warnings[0]


def test_a_misspelt_variable_is_pointed_out(monkeypatch, tmp_path):
    monkeypatch.setenv("ORCH_TEST_RUNER_ENABLED", "false")
    monkeypatch.setenv("ORCH_PORT_STAGING", "1")
    monkeypatch.setenv("ORCH_TASK_FILE", "x")
    (tmp_path / "here" / ".env").write_text("ORCH_LANGUAGES=ru\n")
    assert load_settings().warnings == (
        "ORCH_TEST_RUNER_ENABLED in the environment is no setting; did you mean ORCH_TEST_RUNNER_ENABLED?",
        "ORCH_LANGUAGES in .env is no setting; did you mean ORCH_LANGUAGE?",
    )


def test_a_reaper_faster_than_the_longest_run_is_pointed_out(monkeypatch):
    monkeypatch.setenv("ORCH_AGENT_TIMEOUT_DEVELOPER_S", "5400")
    assert "it must exceed 5420" in load_settings().warnings[0]


def test_two_names_for_the_database_are_pointed_out(monkeypatch):
    monkeypatch.setenv("ORCH_DATABASE_URL", "postgresql://db/x")
    monkeypatch.setenv("ORCH_DB_PATH", "/data/x.db")
    loaded = load_settings()
    assert loaded.settings.effective_database_url == "postgresql+psycopg://db/x"
    assert "ORCH_DB_PATH is ignored" in loaded.warnings[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prot = 1", "'prot' is no setting; did you mean port?"),
        ("xyzzy = 1", "`orch config` lists them all"),
        ("[server]\nport = 1", "'server' is no setting"),
        ("port = \n", "line 1"),
        ('home = "/x"', "home cannot be set here"),
        ("port = [1]", "ORCH_PORT=[1]: must be a whole number"),
    ],
)
def test_a_bad_settings_file_is_refused(text, message, home):
    (home / "orchestrator.toml").write_text(text)
    with pytest.raises(BadInput) as refused:
        load_settings()
    assert message in str(refused.value)


def test_a_file_that_is_no_text_is_refused(home, tmp_path):
    (home / "orchestrator.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(BadInput, match=r"orchestrator\.toml cannot be read"):
        load_settings()
    (tmp_path / "here" / ".env").write_bytes(b"ORCH_HOST=\xff\n")
    with pytest.raises(BadInput, match=r"\.env in .* cannot be read"):
        load_settings()


def test_an_unknown_override_is_refused():
    with pytest.raises(BadInput, match="did you mean port"):
        load_settings({"prot": 1})
