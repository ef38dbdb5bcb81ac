"""The edge gates between staging and production, the deployment, and the watch after it."""

from pydantic import BaseModel, Field

from orchestrator.config.groups.runners import SCOPE
from orchestrator.config.kinds import (
    Interval,
    Positive,
    Seconds,
    Share,
    TolerantCount,
    TolerantDelay,
    TolerantSeconds,
)


class Delivery(BaseModel):
    """Security, merge, coverage and freshness gates; deployment; post-deploy monitor."""

    security_gate_enabled: bool = Field(True, description="Scan the change before it is merged. †")
    security_gate_repos: str = Field("", description=SCOPE)
    security_run_timeout_s: Seconds = Field(300, description="Time limit of each scanner, in seconds. †")
    merge_gate_enabled: bool = Field(
        True, description="Catch up with the base branch and test again before merging. †"
    )
    merge_gate_repos: str = Field("", description=SCOPE)
    merge_retest_target: str = Field(
        "tests/", min_length=1, description="What pytest is given when the contract names no test command."
    )
    merge_retest_timeout_s: TolerantSeconds = Field(900, description="Time limit of the re-test, in seconds.")
    merge_retest_infra_max_retries: TolerantCount = Field(
        2,
        description="How often a re-test that could not run is tried again before it fails. †",
    )
    merge_retest_infra_retry_delay_s: TolerantDelay = Field(
        30, description="Seconds before the re-test is tried again. †"
    )
    merge_lock_timeout_s: Seconds = Field(
        3600, description="Seconds after which the merge lease may be taken from its holder. †"
    )
    coverage_gate_enabled: bool = Field(True, description="Refuse a drop of test coverage. †")
    coverage_gate_repos: str = Field("", description=SCOPE)
    coverage_epsilon: float = Field(
        0.5, ge=0, le=100, allow_inf_nan=False, description="Tolerated drop, in percentage points."
    )
    coverage_tool_fail_closed: bool = Field(
        False,
        description="Call a person at once when coverage cannot be measured; off: ask again first.",
    )
    coverage_run_timeout_s: Seconds = Field(900, description="Time limit of the coverage run, in seconds.")
    image_freshness_enabled: bool = Field(
        True, description="Rebuild staging from the validated commit and check its revision. †"
    )
    image_freshness_repos: str = Field("", description=SCOPE)
    deploy_require_manual_approve: bool = Field(
        True, description="Ask a person to confirm each deployment; off: deploy at once."
    )
    self_deploy_enabled: bool = Field(
        True,
        description="Deploy by code with the contract's commands; off: the deployer agent does it. †",
    )
    self_deploy_repos: str = Field("", description=SCOPE)
    self_deploy_health_timeout_s: Seconds = Field(
        60, description="Seconds in which the deployed service must become healthy. †"
    )
    self_deploy_result_timeout_s: Seconds = Field(
        900, description="Seconds in which a started deployment must leave its result. †"
    )
    self_deploy_poll_s: Interval = Field(5, description="Seconds between looks at that result. †")
    post_deploy_monitor_enabled: bool = Field(True, description="Watch production after a deployment. †")
    post_deploy_repos: str = Field("", description=SCOPE)
    post_deploy_window_s: Seconds = Field(900, description="How long production is watched, in seconds.")
    post_deploy_interval_s: Interval = Field(30, description="Seconds between probes.")
    post_deploy_fail_threshold: Positive = Field(
        3, description="Failed probes in a row that count as degraded. †"
    )
    post_deploy_5xx_threshold: Share = Field(
        0.1,
        description="Share of 5xx answers, 0 to 1, above which production counts as degraded. †",
    )
    post_deploy_auto_rollback: bool = Field(
        False, description="Roll a degraded deployment back; never the orchestrator's own. Off: alert only."
    )
