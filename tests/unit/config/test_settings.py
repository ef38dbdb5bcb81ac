"""Settings: names, defaults, paths and the ladders that are read off them."""

from datetime import UTC, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr, ValidationError

from orchestrator.config.budgets import parse_budgets
from orchestrator.config.groups.agents import ROLES, timeout_overrides
from orchestrator.config.settings import GROUPS, Settings

# Names and stated defaults of inventory §12.
STATED = {
    "staging_runner_enabled": True,
    "staging_runner_repos": "",
    "staging_runner_timeout_s": 600,
    "staging_runner_infra_max_retries": 2,
    "staging_runner_infra_retry_delay_s": 30,
    "test_runner_enabled": True,
    "test_runner_repos": "",
    "test_runner_target": "tests/",
    "test_runner_timeout_s": 900,
    "test_runner_smoke_enabled": True,
    "test_runner_infra_max_retries": 2,
    "test_runner_infra_retry_delay_s": 30,
    "merge_gate_repos": "",
    "merge_retest_target": "tests/",
    "merge_retest_timeout_s": 900,
    "coverage_gate_repos": "",
    "coverage_epsilon": 0.5,
    "coverage_tool_fail_closed": False,
    "coverage_run_timeout_s": 900,
    "image_freshness_repos": "",
    "deploy_require_manual_approve": True,
    "post_deploy_repos": "",
    "post_deploy_window_s": 900,
    "post_deploy_interval_s": 30,
    "post_deploy_auto_rollback": False,
    "staging_infra_tolerance_enabled": True,
    "reaper_max_running_s": 5400,
    "transition_lease_repos": "",
    "agent_timeout_seconds": 1800,
    "agent_timeout_developer_s": 3600,
    "agent_timeout_reviewer_s": 3000,
    "agent_kill_grace_seconds": 20,
    "subprocess_tree_kill_enabled": True,
    "agent_model_default": "claude-opus-4-8",
    "agent_effort_analyst": "high",
    "agent_effort_architect": "high",
    "agent_effort_developer": "xhigh",
    "agent_effort_reviewer": "high",
    "agent_effort_tester": "medium",
    "agent_effort_deployer": "medium",
    "plane_test_write_enabled": False,
    "host": "127.0.0.1",
    "port": 8500,
    "staging_port": 8501,
    "max_concurrency": 1,
    "poll_interval": 0.5,
    "agent_cli": "claude",
    "agent_command": "",
    "language": "en",
    "projects_json": "",
}
NAMED = {
    *(
        "merge_gate_enabled",
        "merge_retest_infra_max_retries",
        "merge_lock_timeout_s",
        "coverage_gate_enabled",
    ),
    *("image_freshness_enabled", "post_deploy_monitor_enabled", "post_deploy_fail_threshold"),
    *("post_deploy_5xx_threshold", "reaper_enabled", "reaper_interval_s", "reaper_dead_ticks"),
    *("reaper_finalize_grace_s", "reaper_finalizer_liveness_enabled", "lease_reclaim_enabled"),
    *("transition_lease_enabled", "reconcile_enabled", "reconcile_plane_enabled", "reconcile_interval_s"),
    *("reconcile_skip_blocked_enabled", "reconcile_notify_unblock", "agent_timeout_overrides_json"),
    *(f"agent_model_{role}" for role in ROLES),
    *("agent_effort_default", "plane_test_sandbox_projects", "repos_dir", "worktrees_dir", "db_path"),
    *("git_email_domain", "agent_home_dir", "gitea_token", "plane_api_token", "home", "database_url"),
    *("plane_base_url", "plane_workspace", "plane_webhook_secret", "gitea_base_url", "gitea_webhook_secret"),
    *("notify_urls", "api_tokens"),
}
SECRETS = {
    *("database_url", "api_tokens", "notify_urls", "plane_api_token", "plane_webhook_secret"),
    *("gitea_token", "gitea_webhook_secret"),
}


def test_stated_defaults_are_kept():
    settings = Settings()
    assert {name: getattr(settings, name) for name in STATED} == STATED


def test_every_contract_name_exists():
    assert set(Settings.model_fields) >= NAMED | set(STATED)


def test_every_setting_belongs_to_one_group_and_says_what_it_means():
    names = [name for group in GROUPS for name in group.model_fields]
    assert sorted(names) == sorted(Settings.model_fields)
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []


def test_the_class_reads_no_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("ORCH_PORT", "9000")
    assert Settings(home=tmp_path).port == 8500


def test_settings_do_not_change_after_load(tmp_path):
    settings = Settings(home=tmp_path)
    with pytest.raises(ValidationError, match="frozen"):
        settings.port = 1  # type: ignore[misc]


def test_everything_is_below_the_home(tmp_path):
    settings = Settings(home=tmp_path)
    assert settings.repos_dir == tmp_path / "repos"
    assert settings.worktrees_dir == tmp_path / "worktrees"
    assert settings.runs_dir == tmp_path / "runs"
    assert settings.checkouts_dir == tmp_path / "checkouts"
    assert settings.state_dir == tmp_path / "state"
    assert settings.forge_dir == tmp_path / "forge"
    assert settings.board_path == tmp_path / "board.db"
    assert settings.effective_database_url == f"sqlite:///{tmp_path}/orchestrator.db"


def test_absolute_paths_are_kept_and_a_tilde_is_the_users_home(tmp_path):
    settings = Settings(home=Path("~/data"), repos_dir=tmp_path / "clones", db_path=Path("other.db"))
    assert settings.home == Path.home() / "data"
    assert settings.repos_dir == tmp_path / "clones"
    assert settings.effective_database_url == f"sqlite:///{settings.home}/other.db"


def test_a_relative_home_is_made_absolute():
    assert Settings(home=Path("data")).home == Path.cwd() / "data"


@pytest.mark.parametrize(
    ("url", "effective"),
    [
        ("postgres://u:p@db/orch", "postgresql+psycopg://u:p@db/orch"),
        ("postgresql://u:p@db/orch", "postgresql+psycopg://u:p@db/orch"),
        ("postgresql+psycopg://u:p@db/orch", "postgresql+psycopg://u:p@db/orch"),
        ("sqlite:////data/x.db", "sqlite:////data/x.db"),
    ],
)
def test_postgresql_is_reached_through_psycopg(url, effective):
    assert Settings(database_url=url).effective_database_url == effective


@pytest.mark.parametrize("name", sorted(SECRETS))
def test_secrets_do_not_show(name):
    given = "postgresql://user:hush@db/x" if name == "database_url" else "ann:admin:hush"
    assert "hush" not in repr(Settings.model_validate({name: given}))


def test_tokens_are_read_one_by_one():
    given = "ann:admin:sha256$ab:cd, bob:viewer:ef"
    assert Settings(api_tokens=given).api_tokens.get_secret_value() == given
    for bad in (f"{given} carl:king:hush", f"{given},ann:viewer:hush", f"{given} carl:viewer:"):
        with pytest.raises(ValidationError, match="api_tokens"):
            Settings(api_tokens=bad)


def test_alerts_go_to_each_address():
    assert Settings(notify_urls="tgram://a/b\n mailto://c?to=d,e").notify_targets == (
        "tgram://a/b",
        "mailto://c?to=d,e",
    )


def test_the_time_limit_is_the_override_then_the_roles_own_then_the_general_one():
    settings = Settings(agent_timeout_overrides_json='{"reviewer": 10, "tester": "20", "deployer": 0}')
    limits = {role: settings.agent_timeout(role).total_seconds() for role in ROLES}
    assert limits == {
        "analyst": 1800,
        "architect": 1800,
        "developer": 3600,
        "reviewer": 10,
        "tester": 20,
        "deployer": 1800,
    }
    assert settings.agent_timeout("reviewer") == timedelta(seconds=10)


@given(st.text() | st.dictionaries(st.sampled_from(ROLES), st.integers()).map(str))
def test_any_text_of_overrides_is_survived(text):
    usable, _ = timeout_overrides(text)
    assert all(role in ROLES and seconds > 0 for role, seconds in usable.items())


def test_budgets_are_limits_by_scope():
    given = '{"item": {"cost_usd": 20, "runs": 9}, "day": {"tokens": 5}}'
    settings = Settings(budgets_json=given)
    assert settings.budgets_json == given
    assert settings.budgets == {"item": {"cost_usd": 20.0, "runs": 9}, "day": {"tokens": 5}}
    assert Settings().budgets == {}


@pytest.mark.parametrize(
    "bad",
    ["{", "[]", '{"item": {"money": 1}}', '{"item": {"runs": 0}}', '{"run": {"runs": 1}}', '{"week": {}}'],
)
def test_budgets_that_are_not_possible_are_refused(bad):
    with pytest.raises(ValidationError, match="must be limits"):
        Settings(budgets_json=bad)


@given(st.text() | st.recursive(st.none() | st.integers() | st.floats(), st.lists).map(str))
def test_any_text_of_budgets_is_read_or_refused(text):
    try:
        budgets = parse_budgets(text)
    except ValueError:
        return
    assert all(amount > 0 for limits in budgets.values() for amount in limits.values())


def test_a_day_of_a_budget_begins_in_the_zone_of_the_settings():
    assert Settings().zone is UTC
    assert Settings(time_zone="Europe/Berlin").zone == ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize("names", ["ORCH_GITEA_TOKEN", "HTTPS_PROXY, orch_plane_api_token", "A-B"])
def test_what_is_ours_or_no_variable_is_not_handed_to_agents(names):
    with pytest.raises(ValidationError, match="agent_env"):
        Settings(home=Path("/srv/orch"), agent_env=names)


def test_every_secret_is_known_for_masking():
    settings = Settings(
        home=Path("/srv/orch"),
        agent_api_key=SecretStr("sk-of-a-model"),
        gitea_token=SecretStr("gitea-token-1"),
        notify_urls=SecretStr("tgram://one/two json://three"),
    )
    assert {"sk-of-a-model", "gitea-token-1", "tgram://one/two", "json://three"} <= set(settings.secrets())
    assert "" not in settings.secrets()


@pytest.mark.parametrize("address", ["https://user:secret@gateway", "gateway:8080", "ftp://gateway"])
def test_the_address_of_a_model_holds_no_password(address):
    with pytest.raises(ValidationError, match="agent_base_url"):
        Settings(home=Path("/srv/orch"), agent_base_url=address)
