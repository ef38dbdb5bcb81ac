"""A repository's contract `.orchestrator.yml`: what it can do, and with which commands (product §4)."""

from datetime import timedelta
from pathlib import PurePosixPath
from typing import Annotated, Final, Literal, Self, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from orchestrator.config.command import Command as Command
from orchestrator.config.faults import first_fault
from orchestrator.config.placeholders import check_placeholders
from orchestrator.config.positions import NotRead, read
from orchestrator.errors import BadInput

CONTRACT_FILE: Final = ".orchestrator.yml"


class ContractError(BadInput):
    """The contract cannot be used; the message begins with file, line and column and says what to do."""


def _address(value: str) -> str:
    check_placeholders(value)
    if not value.startswith(("http://", "https://", "${")):
        raise ValueError(f"{value!r} is no address; begin it with http:// or https://")
    return value


def _inner_path(value: str) -> str:
    path = PurePosixPath(value)
    if not value.strip() or "\0" in value or path.is_absolute() or ".." in path.parts:
        raise ValueError(f"{value!r} must be a path inside the repository; write it relative to its root")
    return value


def _below_root(value: str) -> str:
    if not value.startswith("/"):
        raise ValueError(f"{value!r} is no path of a request; begin it with /")
    return value


def _program(value: Command) -> Command:
    if value.words[0].startswith(("http://", "https://")):
        raise ValueError(
            "this is a command that prints the revision; for an address write curl -fsS before it"
        )
    return value


Address = Annotated[str, AfterValidator(_address)]
InnerPath = Annotated[str, AfterValidator(_inner_path)]
Run = Annotated[Command, BeforeValidator(Command.read)]
Revision = Annotated[Command, AfterValidator(_program), BeforeValidator(Command.read)]
Seconds = Annotated[int, Field(strict=True, gt=0, le=86_400)]
Switch = Annotated[bool, Field(strict=True)]
Scanner = Literal["detect-secrets", "bandit", "pip-audit"]


def _filled(value: tuple["SmokeCheck", ...]) -> tuple["SmokeCheck", ...]:
    if not value:
        raise ValueError("it is empty; add an entry")
    return value


class Section(BaseModel):
    """What all sections share: unchangeable, no unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class _Timed(Section):
    timeout_s: Seconds

    @property
    def timeout(self) -> timedelta:
        """How long the section's command may run."""
        return timedelta(seconds=self.timeout_s)


class Suite(_Timed):
    """Section ``test``: how the tests run, and where they leave a JUnit report."""

    run: Run
    timeout_s: Seconds = 900
    junit: InnerPath | None = None


class SmokeCheck(Section):
    """One read-only request, and what must be true of the answer."""

    path: Annotated[str, AfterValidator(_below_root)]
    status: Annotated[int, Field(strict=True, ge=100, le=599)] = 200
    contains: str | None = None
    json_key: str | None = None


class Smoke(Section):
    """Section ``smoke``: requests to a running service."""

    base_url: Address
    checks: Annotated[tuple[SmokeCheck, ...], AfterValidator(_filled)]


class Coverage(Section):
    """Section ``coverage``: the command that measures, and the report it leaves (Cobertura XML)."""

    run: Run
    report: InnerPath = "coverage.xml"


class Security(Section):
    """Section ``security``: which scanners look at a change, and from which severity a finding counts."""

    scanners: tuple[Scanner, ...] = get_args(Scanner)
    severity: Literal["low", "medium", "high", "critical"] = "medium"
    run: tuple[Run, ...] = ()


class Staging(_Timed):
    """Section ``staging``: how the change is built, started, checked and stopped; ``start`` keeps running."""

    build: Run | None = None
    start: Run | None = None
    check: Run
    stop: Run | None = None
    revision: Revision | None = None
    timeout_s: Seconds = 600


class Deploy(_Timed):
    """Section ``deploy``: how production is changed, and how that is undone (exit codes: product §4)."""

    run: Run
    rollback: Run | None = None
    health: Address | None = None
    revision: Revision | None = None
    timeout_s: Seconds = 600


class PostDeploy(Section):
    """Section ``post_deploy``: how production is watched. Without ``health``, that of ``deploy`` counts."""

    window_s: Seconds = 900
    interval_s: Seconds = 30
    health: Address | None = None
    error_rate: Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)] | None = None
    fail_threshold: Annotated[int, Field(strict=True, ge=1, le=1000)] = 3

    @model_validator(mode="after")
    def _probes_fit(self) -> Self:
        if self.interval_s > self.window_s:
            raise ValueError("interval_s is longer than window_s; probe at least once in the window")
        return self


class Merge(Section):
    """Section ``merge``: how a change gets into the base branch."""

    method: Literal["merge", "squash", "rebase"] = "merge"
    train: Switch = False


class Contract(Section):
    """What a repository declares; a section that is absent is a capability it does not have."""

    test: Suite | None = None
    smoke: Smoke | None = None
    coverage: Coverage | None = None
    security: Security | None = None
    staging: Staging | None = None
    deploy: Deploy | None = None
    post_deploy: PostDeploy | None = None
    merge: Merge | None = None
    protected_paths: tuple[InnerPath, ...] = ()
    ports: tuple[Annotated[int, Field(strict=True, ge=1, le=65_535)], ...] = ()

    @classmethod
    def empty(cls) -> Self:
        """The contract of a repository without one."""
        return cls()

    def declares(self, capability: str) -> bool:
        """Whether the section of that name is there and says something."""
        return bool(getattr(self, capability))

    @model_validator(mode="before")
    @classmethod
    def _sections_without_keys_count(cls, value: object) -> object:
        """``security:`` with nothing below it is written by somebody who wants the defaults."""
        if not isinstance(value, dict):
            return value
        return {key: _empty_for(key) if given is None else given for key, given in value.items()}


def _empty_for(key: str) -> object:
    return [] if key in {"protected_paths", "ports"} else {}


def parse_contract(text: str, source: str = CONTRACT_FILE) -> Contract:
    """Read and check a contract; an empty text declares nothing.

    Raises:
        ContractError: ``<source>:<line>:<column>: <what is wrong>; <what to do>``, the first fault only.
    """
    try:
        document = read(text)
    except NotRead as error:
        raise ContractError(f"{source}:{error.place}: {error.problem}") from error
    if document.data is None:
        return Contract.empty()
    try:
        return Contract.model_validate(document.data)
    except ValidationError as error:
        place, text = first_fault(error, document, Contract)
        raise ContractError(f"{source}:{place}: {text}") from None
