"""Which agent CLI does the work, with which model, effort, time and money."""

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, Field, SecretStr, TypeAdapter, ValidationError, field_validator

from orchestrator.config.budgets import Amounts, parse_budgets
from orchestrator.config.kinds import Count, Positive, Seconds, Tolerant, TolerantSeconds

_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
ROLES: Final = ("analyst", "architect", "developer", "reviewer", "tester", "deployer")

_MODEL = "Model of the {0}; empty: `agent_model_default`."
_EFFORT = "Effort of the {0}. Left unset, `agent_effort_default` comes first and this default last."


class Agents(BaseModel):
    """The agent CLI, the ladders of model, effort and time, budgets and the circuit breaker."""

    agent_cli: Literal["claude", "codex", "script"] = Field(
        "claude", description="Which agent CLI does the work."
    )
    agent_command: str = Field(
        "",
        description="Path of the agent CLI, or the executable of `script`. Empty: looked up on PATH. "
        "CLAUDE_BIN is read too, for `claude`.",
    )
    agent_home_dir: Path | None = Field(
        None,
        description="HOME of the agents, where the CLI is logged in. Empty: that of the service. †",
    )
    agent_base_url: str = Field(
        "",
        description="Address of the model's API, such as a gateway of your own. Empty: the provider's own.",
    )
    agent_api_key: SecretStr = Field(
        SecretStr(""),
        description="Key for the model's API, given to the agents alone. Empty: the CLI is logged in.",
    )
    agent_env: str = Field(
        "",
        description="Names of further variables of the service that agents get, separated by commas. The "
        "rest of its environment, and every secret of its own, is kept from them.",
    )
    agent_max_turns: Count = Field(
        200, description="Answers of the model in one run; reaching it is a hold. 0: not limited."
    )
    agent_max_retries: Count = Field(
        3, description="How often the CLI itself repeats a request to the model before it gives up."
    )
    agent_api_timeout_s: Seconds = Field(
        600, description="Time limit in seconds of one request to the model, kept by the CLI."
    )
    agent_stall_s: Seconds = Field(
        900,
        description="Seconds after which a run is ended in which nothing at all moves: no output, no "
        "processor time, no changed file, no new process.",
    )
    agent_result_grace_s: Seconds = Field(
        10, description="Seconds that a CLI may take to end after it has given its result."
    )
    agent_memory_mb: Count = Field(
        0, description="Megabytes that all processes of a run may occupy together. 0: not limited."
    )
    agent_sandbox: Literal["none", "bubblewrap"] = Field(
        "none", description="How agents are locked in; a project may say otherwise."
    )
    agent_sandbox_network: bool = Field(
        True,
        description="Whether agents that are locked in reach the network; without it, the model's API alone.",
    )
    git_email_domain: str = Field(
        "orchestrator.invalid",
        min_length=1,
        description="Domain of the e-mail addresses in commits. †",
    )
    subprocess_tree_kill_enabled: bool = Field(
        True, description="End the whole process tree of a run or a test suite, not only its first process."
    )
    agent_kill_grace_seconds: Annotated[int, Field(gt=0, le=600), Tolerant(fallback=5)] = Field(
        20,
        description="Seconds between asking a process tree to end and killing it. A bad value counts as 5.",
    )
    agent_timeout_seconds: TolerantSeconds = Field(1800, description="Time limit of a run, in seconds.")
    agent_timeout_developer_s: TolerantSeconds = Field(
        3600, description="Time limit of the developer, in seconds."
    )
    agent_timeout_reviewer_s: TolerantSeconds = Field(
        3000, description="Time limit of the reviewer, in seconds."
    )
    agent_timeout_overrides_json: str = Field(
        "",
        description='Time limits by role, which come first: {"tester": 2400}. Bad entries are ignored. †',
    )
    agent_model_default: str = Field("claude-opus-4-8", description="Model of every role without its own.")
    agent_model_analyst: str = Field("", description=_MODEL.format("analyst"))
    agent_model_architect: str = Field("", description=_MODEL.format("architect"))
    agent_model_developer: str = Field("", description=_MODEL.format("developer"))
    agent_model_reviewer: str = Field("", description=_MODEL.format("reviewer"))
    agent_model_tester: str = Field("", description=_MODEL.format("tester"))
    agent_model_deployer: str = Field("", description=_MODEL.format("deployer"))
    agent_fallback_model: str = Field(
        "", description="Model the CLI may switch to when the first is overloaded. Empty: none."
    )
    agent_effort_default: str = Field("", description="Effort of every role without its own.")
    agent_effort_analyst: str = Field("high", description=_EFFORT.format("analyst"))
    agent_effort_architect: str = Field("high", description=_EFFORT.format("architect"))
    agent_effort_developer: str = Field("xhigh", description=_EFFORT.format("developer"))
    agent_effort_reviewer: str = Field("high", description=_EFFORT.format("reviewer"))
    agent_effort_tester: str = Field("medium", description=_EFFORT.format("tester"))
    agent_effort_deployer: str = Field("medium", description=_EFFORT.format("deployer"))
    budgets_json: str = Field(
        "",
        description="Budgets by run, role (its runs for an item), item, project and day (of a project), such "
        'as {"item": {"cost_usd": 20}}; the limits are tokens, cost_usd, runs and wall_s. Empty: none. †',
    )
    breaker_enabled: bool = Field(True, description="Pause agent jobs while the agent's provider refuses. †")
    breaker_failures: Positive = Field(3, description="Refusals in a row after which agent jobs pause.")
    breaker_delay_s: Seconds = Field(
        60,
        description="First pause in seconds, doubled each time; a time the provider states comes first.",
    )
    breaker_max_delay_s: Seconds = Field(900, description="Longest pause in seconds.")

    @field_validator("agent_base_url")
    @classmethod
    def _address_has_no_secret(cls, value: str) -> str:
        if value and not re.match(r"https?://[^/@\s]+(/|$)", value):
            raise ValueError("must be an address such as https://host:port, without user and password")
        return value

    @field_validator("agent_env")
    @classmethod
    def _ours_stays_ours(cls, value: str) -> str:
        """A setting of ours is no agent's business: many of them are secrets."""
        for name in (part.strip() for part in value.split(",")):
            if name.upper().startswith("ORCH_"):
                raise ValueError(f"must not hand {name} to agents: it belongs to the orchestrator")
            if name and not _VARIABLE.fullmatch(name):
                raise ValueError(f"must be names of variables, separated by commas; {name!r} is none")
        return value

    @field_validator("budgets_json")
    @classmethod
    def _budgets_are_known(cls, value: str) -> str:
        parse_budgets(value)
        return value

    @property
    def budgets(self) -> Amounts:
        """The budgets of the installation, which hold for each project: amounts by scope and measure."""
        return parse_budgets(self.budgets_json)

    def agent_timeout(self, role: str) -> timedelta:
        """The time limit of a run of ``role``: override, the role's own, the general one (ORCH-109)."""
        own = getattr(self, f"agent_timeout_{role}_s", self.agent_timeout_seconds)
        overrides, _ = timeout_overrides(self.agent_timeout_overrides_json)
        return timedelta(seconds=overrides.get(role, own))


_SECONDS: Final[TypeAdapter[int]] = TypeAdapter(Seconds)


def timeout_overrides(text: str) -> tuple[dict[str, int], tuple[str, ...]]:
    """Read ``agent_timeout_overrides_json``: the usable seconds by role, and what is wrong with the rest."""
    if not text.strip():
        return {}, ()
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError):
        return {}, ("it is not JSON",)
    if not isinstance(entries, dict):
        return {}, ("it is not an object of seconds by role",)
    usable: dict[str, int] = {}
    faults: list[str] = []
    for role, seconds in entries.items():
        if role not in ROLES:
            faults.append(f"{role!r} is no role; the roles are {', '.join(ROLES)}")
            continue
        try:
            usable[role] = _SECONDS.validate_python(seconds)
        except ValidationError:
            faults.append(f"{seconds!r} for {role} is no number of seconds from 1 to a week")
    return usable, tuple(faults)
