"""The projects the orchestrator works for, and to which of them a mechanism applies."""

import re
from collections.abc import Mapping
from datetime import tzinfo
from typing import Annotated, Final, Literal, Self
from zoneinfo import ZoneInfoNotFoundError

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_serializer,
    field_validator,
    model_validator,
)

from orchestrator.config.budgets import Amounts, Budgets, amounts
from orchestrator.config.kinds import zone_of
from orchestrator.errors import BadInput

SELF_HOSTING_REPO: Final = "orchestrator"
"""Name of the repository that contains the orchestrator itself."""

_CREDENTIALS: Final = re.compile(r"^https?://[^/]*@")
_REF_TROUBLE: Final = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|^[-/.]|/\.|[/.]$|\.lock$")

Role = Literal["analyst", "architect", "developer", "reviewer", "tester", "deployer"]


class Project(BaseModel):
    """One repository and its place in tracker and forge; what is not set here falls back to the settings."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,62}$")]
    prefix: Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9]{1,9}$")]
    repo_url: Annotated[str, Field(min_length=1)]
    base_branch: str = "main"
    tracker: Literal["board", "plane"] = "board"
    tracker_project: str | None = None
    """Id of the project in Plane."""
    forge: Literal["local", "gitea"] = "local"
    agent_cli: Literal["claude", "codex", "script"] | None = None
    agent_command: str | None = None
    agent_models: Mapping[Role, str] = Field(default_factory=dict)
    agent_efforts: Mapping[Role, str] = Field(default_factory=dict)
    sandbox: Literal["none", "bubblewrap"] | None = None
    """How the project's agents are locked in."""
    sandbox_network: bool | None = None
    """Whether they reach the network; without it, the model's API alone."""
    budgets: Budgets = Field(default_factory=dict)
    """Limits of this project; each takes the place of the installation's own."""
    time_zone: str | None = None
    self_hosting: bool = False
    authors: tuple[str, ...] = ()
    """Whose words may reach agents unread, by their names in the tracker; empty: the project's members."""

    @model_validator(mode="before")
    @classmethod
    def _know_ourselves(cls, value: object) -> object:
        """The repository called ``orchestrator`` is the orchestrator's own unless it is said otherwise."""
        if isinstance(value, dict) and "self_hosting" not in value:
            return {**value, "self_hosting": value.get("name") == SELF_HOSTING_REPO}
        return value

    @field_validator("repo_url")
    @classmethod
    def _address_has_no_secret(cls, value: str) -> str:
        if _CREDENTIALS.match(value):
            raise ValueError("must not contain a user or token; set ORCH_GITEA_TOKEN instead")
        if value.startswith("-") or "\0" in value:
            raise ValueError("must be an address or a path")
        return value

    @field_validator("base_branch")
    @classmethod
    def _branch_is_possible(cls, value: str) -> str:
        if not value or _REF_TROUBLE.search(value):
            raise ValueError("must be the name of a branch")
        return value

    @field_validator("authors")
    @classmethod
    def _authors_have_names(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        names = tuple(dict.fromkeys(name.strip() for name in value))
        if "" in names:
            raise ValueError("must be names of people, as the tracker gives them")
        return names

    @field_validator("time_zone")
    @classmethod
    def _zone_is_known(cls, value: str | None) -> str | None:
        try:
            if value is not None:
                zone_of(value)
            return value
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError("must be a time zone such as Europe/Berlin") from None

    @model_validator(mode="after")
    def _plane_project_is_named(self) -> Self:
        if self.tracker == "plane" and not self.tracker_project:
            raise ValueError("tracker_project: must be the id of the project in Plane")
        return self

    @field_serializer("budgets")
    def _only_what_is_given(self, value: Budgets) -> Amounts:
        return amounts(value)

    @property
    def zone(self) -> tzinfo | None:
        """The project's own time zone."""
        return None if self.time_zone is None else zone_of(self.time_zone)

    @property
    def limits(self) -> Amounts:
        """The project's own budgets: amounts by scope and measure."""
        return amounts(self.budgets)

    @property
    def repository(self) -> str:
        """The repository's own name: the last part of its address, without ``.git``."""
        return re.split(r"[/:]", self.repo_url.rstrip("/"))[-1].removesuffix(".git")


def make_project(values: Mapping[str, object]) -> Project:
    """Build a project from what a person gave.

    Raises:
        BadInput: a value cannot be used; the message names it.
    """
    try:
        return Project.model_validate(dict(values))
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)[0]
        raise BadInput(_described(details["loc"], details["msg"])) from None


def _described(path: tuple[int | str, ...], message: str) -> str:
    place = ".".join(str(part) for part in path if part != "[key]")
    text = message.removeprefix("Value error, ")
    if place.endswith("prefix"):
        text = "must be 2 to 10 capital letters and digits, beginning with a letter, such as ORCH"
    elif place.endswith("name"):
        text = "must be small letters, digits, dots, dashes and underscores, such as my-service"
    return f"{place}: {text}" if place else text


def scope_applies(csv: str, project: Project, declared: bool) -> bool:
    """Whether a mechanism with the scope ``csv`` applies to ``project``.

    It applies to the orchestrator's own repository and to each whose contract declares the capability;
    names in ``csv``, in any case, narrow that. A listed repository without the contract is left to the
    agent (product §4).
    """
    if not (project.self_hosting or declared):
        return False
    listed = {name.strip().casefold() for name in csv.split(",")} - {""}
    return not listed or not listed.isdisjoint({project.name.casefold(), project.repository.casefold()})
