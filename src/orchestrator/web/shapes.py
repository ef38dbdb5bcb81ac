"""The shapes of the API's answers; the pages are made from the same ones, so both tell the same."""

from datetime import date, datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from orchestrator.pipeline.stages import Stage, Track
from orchestrator.ports.agent import LogKind


class Shape(BaseModel):
    """An answer; read from the plain objects that the engine computes."""

    model_config = ConfigDict(frozen=True, populate_by_name=True)


class Problem(Shape):
    """Why a request was not carried out, in one line for a person."""

    error: str


class Health(Shape):
    """The service is up."""

    status: Literal["ok"] = "ok"
    service: Literal["orchestrator"] = "orchestrator"
    version: str


class Hold(Shape):
    """The item waits for a person and moves only by that person's hand."""

    reason: str
    since: datetime
    who_can_unblock: str
    failure: str | None = None


class GateLine(Shape):
    """One exit gate of the present stage and what it last said about the present code."""

    gate: str
    answer: str
    detail: str


class Explanation(Shape):
    """Why the item is where it is, since when, what happens next, and who can unblock it."""

    work_item: str
    stage: Stage
    why: str
    since: datetime
    next: str
    waits_for: str
    who_can_unblock: str
    round: int
    rounds_left: int
    gates: list[GateLine]


class ItemSummary(Shape):
    """What a card on the board shows."""

    work_item: str
    title: str
    project: str
    track: Track
    stage: Stage
    entered_at: datetime
    hold: Hold | None
    round: int
    branch: str
    head: str | None
    pull_request: int | None
    merged: str | None
    labels: list[str]
    explanation: Explanation


class Evidence(Shape):
    """What a verdict rests on."""

    source: str = ""
    producer: str = ""
    blob: str = ""
    detail: str = ""


class GateVerdict(Shape):
    """One answer of a gate; ``code`` and ``commit`` say what it is bound to."""

    gate: str
    answer: str
    stage: Stage
    epoch: int
    at: datetime
    code: str | None = None
    commit: str | None = None
    reason: str = ""
    findings: list[str] = Field(default_factory=list)
    failure: str | None = None
    evidence: Evidence = Evidence()


class Moment(Shape):
    """One entry of an item's timeline; which fields are set depends on ``kind``.

    Kinds are ``created``, ``work``, ``verdict``, and those of transitions (``advance``, ``stop``, …).
    """

    kind: str
    at: datetime
    text: str = ""
    stage: Stage | None = None
    from_stage: Stage | None = Field(default=None, alias="from")
    to_stage: Stage | None = Field(default=None, alias="to")
    epoch: int | None = None
    gate: str = ""
    answer: str = ""
    reason: str = ""
    findings: list[str] = Field(default_factory=list)
    failure: str | None = None
    trigger: str = ""
    producer: str = ""
    status: str = ""
    verdict: str = ""
    artifact: str = ""
    commit: str | None = None
    code: str | None = None
    seconds: float | None = None
    evidence: dict[str, str] = Field(default_factory=dict)


class RoundDetails(Shape):
    """One trip back: which gate refused and what exactly is demanded."""

    number: int
    gate: str
    reason: str
    findings: list[str]
    optional: list[str]
    link: str
    spent: bool


class RunDetails(Shape):
    """One attempt of an agent: with what, how it ended, and what it cost (US dollars).

    While it is going on, tokens and cost are those so far. ``input_tokens`` are those that were neither read
    from the provider's cache nor written to it.
    """

    id: int
    role: str
    stage: str
    started_at: datetime
    finished_at: datetime | None
    exit_code: int | None
    outcome: str
    model: str | None
    effort: str | None
    cli: str
    cli_version: str
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    cost_usd: float

    @property
    def tokens(self) -> int:
        """All tokens, in whatever way they were read or written."""
        return self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens


class RunEvent(Shape):
    """One readable event of a run's log, secrets masked.

    ``index`` grows along the log, with gaps. ``text`` is one line, ``detail`` whatever more there is to see;
    ``more`` is how many characters of the two were left out.
    """

    index: int
    kind: LogKind
    text: str
    detail: str = ""
    more: int = 0


class RunEvents(Shape):
    """Events of a run: ``after=next`` asks for those that follow; ``over`` says that none will."""

    run: int
    events: list[RunEvent]
    next: int
    over: bool


class RunEnd(Shape):
    """How a run ended, and what it consumed; the last message of its stream."""

    run: int
    outcome: str
    exit_code: int | None
    tokens: int
    cost_usd: float
    seconds: float


class JobDetails(Shape):
    """One job of the queue."""

    id: int
    kind: str
    agent: str
    project: str
    stage: Stage | None
    epoch: int | None
    status: str
    attempts: int
    available_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    seconds: float | None
    error: str
    is_active: bool
    result: dict[str, object]


class ItemDetails(ItemSummary):
    """Everything about one item."""

    description: str
    base: str
    code: str | None
    epoch: int
    tracker_ref: str
    created_at: datetime
    verdicts: list[GateVerdict]
    timeline: list[Moment]
    rounds: list[RoundDetails]
    runs: list[RunDetails]
    jobs: list[JobDetails]
    cost: float


class ItemList(Shape):
    """Items, newest first."""

    items: list[ItemSummary]


class RunList(Shape):
    """Runs of an item, oldest first."""

    runs: list[RunDetails]


class JobList(Shape):
    """Jobs, newest first."""

    jobs: list[JobDetails]


class Outcome(Shape):
    """What became of a request; ``fresh`` is false when it had been told before and nothing changed."""

    work_item: str
    stage: Stage
    outcome: str
    fresh: bool


class ArtifactEntry(Shape):
    """A document of an item, by its path below the item's directory."""

    path: str
    commit: str
    stage: Stage | None
    writer: str


class ArtifactList(Shape):
    """The documents that are committed for an item."""

    artifacts: list[ArtifactEntry]


class ProjectDetails(Shape):
    """A registered project and its state; ``frozen`` says why no new item of it starts."""

    name: str
    prefix: str
    repository: str
    base_branch: str
    tracker: str
    forge: str
    self_hosting: bool
    frozen: str | None
    coverage_baseline: float | None


class ProjectList(Shape):
    """All projects, by name."""

    projects: list[ProjectDetails]


class GateDetails(Shape):
    """A registered gate; without stage it is asked only where a project's policy names it."""

    name: str
    stage: Stage | None
    order: int | None


class GateList(Shape):
    """All gates, in the order in which they are asked."""

    gates: list[GateDetails]


class CostDetails(Shape):
    """What the runs with one value of the key consumed; ``seconds`` are those of runs that have ended."""

    key: str
    runs: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    cost_usd: float
    seconds: float


class BudgetStanding(Shape):
    """How much of a budget is used; ``of`` names the item, or the item and the role, that it is for."""

    project: str
    scope: str
    of: str
    measure: str
    limit: float
    spent: float
    reserved: float
    left: float


class CostReport(Shape):
    """What agents consumed, all together, and where the budgets in force stand."""

    by: str
    project: str | None
    since: date | None
    rows: list[CostDetails]
    total: CostDetails
    budgets: list[BudgetStanding]


class EventDetails(Shape):
    """A fact that arrived from outside, and what became of it."""

    id: int
    source: str
    kind: str
    received_at: datetime
    payload: dict[str, object]
    outcome: str


class EventList(Shape):
    """Events, newest first."""

    events: list[EventDetails]
