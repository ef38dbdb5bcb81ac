"""The deterministic runners of the stages testing and deploy-staging (ORCH-115, ORCH-116)."""

from pydantic import BaseModel, Field

from orchestrator.config.kinds import TolerantCount, TolerantDelay, TolerantSeconds

SCOPE = (
    "Repositories it applies to, separated by commas. Empty: the orchestrator's own and each whose contract "
    "declares it."
)


class Runners(BaseModel):
    """Switch, scope, limit and defer budget of each runner."""

    staging_runner_enabled: bool = Field(
        True, description="Run the staging suite by code; off: the deployer agent does it."
    )
    staging_runner_repos: str = Field("", description=SCOPE)
    staging_runner_timeout_s: TolerantSeconds = Field(
        600, description="Time limit of the staging suite, in seconds."
    )
    staging_runner_infra_max_retries: TolerantCount = Field(
        2, description="How often a suite that could not run is tried again before it fails."
    )
    staging_runner_infra_retry_delay_s: TolerantDelay = Field(
        30, description="Seconds before it is tried again."
    )
    staging_infra_tolerance_enabled: bool = Field(
        True,
        description="Waive the sandbox-only checks C9a and C9b when every real check is green (ORCH-061).",
    )
    test_runner_enabled: bool = Field(
        True, description="Run the tests by code; off: the tester agent does it."
    )
    test_runner_repos: str = Field("", description=SCOPE)
    test_runner_target: str = Field(
        "tests/", min_length=1, description="What pytest is given when the contract names no test command."
    )
    test_runner_timeout_s: TolerantSeconds = Field(900, description="Time limit of the tests, in seconds.")
    test_runner_smoke_enabled: bool = Field(True, description="Also do the read-only smoke checks.")
    test_runner_infra_max_retries: TolerantCount = Field(
        2, description="How often tests that could not run are tried again before they fail."
    )
    test_runner_infra_retry_delay_s: TolerantDelay = Field(
        30, description="Seconds before they are tried again."
    )
