"""What a demonstration came to, read from the item as everybody can read it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias

from orchestrator.pipeline.stages import Stage

Json: TypeAlias = dict[str, object]

HEALTHY: Final = "HEALTHY"
WATCH: Final = "watch"
POST_DEPLOY: Final = "post-deploy"
_ENDED: Final = frozenset({"done", "failed"})


@dataclass(frozen=True, slots=True)
class Step:
    """One piece of finished work: in which stage, by whom, what came of it, and how long it took."""

    job: int
    stage: str
    producer: str
    verdict: str
    seconds: float | None
    summary: str = ""

    def as_json(self) -> Json:
        """The step as scripts read it."""
        return {
            "stage": self.stage,
            "producer": self.producer,
            "verdict": self.verdict,
            "seconds": self.seconds,
        }


@dataclass(frozen=True, slots=True)
class Result:
    """How a demonstration ended; ``problem`` says why it is not as promised, empty when it is."""

    work_item: str
    steps: tuple[Step, ...]
    rounds: int
    merged_commit: str | None
    production_revision: str | None
    events: int
    dashboard: str
    seconds: float
    problem: str = ""
    hold: Json | None = None
    stage: str = ""
    cost_usd: float = 0.0

    @property
    def ok(self) -> bool:
        """The item is done, and production runs exactly the merged commit and is well."""
        return not self.problem

    def as_json(self) -> Json:
        """The one object of `orch demo --json`."""
        answer: Json = {
            "ok": self.ok,
            "work_item": self.work_item,
            "stages": [step.as_json() for step in self.steps],
            "rounds": self.rounds,
            "merged_commit": self.merged_commit,
            "production_revision": self.production_revision,
            "events": self.events,
            "dashboard": self.dashboard,
            "cost_usd": self.cost_usd,
        }
        if self.problem:
            answer["error"] = self.problem
        if self.hold is not None:
            answer["hold"] = {**self.hold, "stage": self.stage}
        return answer


def steps_of(view: Mapping[str, object]) -> tuple[Step, ...]:
    """The finished work of an item, in the order in which it was ordered."""
    ended = [job for job in rows(view["jobs"]) if job["status"] in _ENDED]
    steps = [_watch(job, view) for job in ended if job["kind"] == WATCH]
    steps += [_step(job, view) for job in ended if job["kind"] != WATCH and _result(job).get("producer")]
    return tuple(sorted(steps, key=lambda step: step.job))


def is_over(view: Mapping[str, object]) -> bool:
    """Done and watched to the end, or cancelled."""
    if view["stage"] != Stage.DONE:
        return view["stage"] == Stage.CANCELLED
    return any(
        job["kind"] == WATCH and job["status"] in _ENDED and job["epoch"] == view["epoch"]
        for job in rows(view["jobs"])
    )


def _step(job: Json, view: Mapping[str, object]) -> Step:
    result = _result(job)
    verdict = str(result.get("verdict") or "") or _gates(job, view)
    return Step(
        job=int(str(job["id"])),
        stage=str(job["stage"]),
        producer=str(result["producer"]),
        verdict=verdict.upper(),
        seconds=_seconds(job["seconds"]),
        summary=str(result.get("summary") or job["error"] or ""),
    )


def _watch(job: Json, view: Mapping[str, object]) -> Step:
    """The watch over production, from the moment the item was done to the monitor's last look."""
    result = _result(job)
    return Step(
        job=int(str(job["id"])),
        stage=POST_DEPLOY,
        producer=str(job["agent"]),
        verdict=str(result.get("post_deploy_status") or job["status"]).upper(),
        seconds=_between(view["entered_at"], job["finished_at"]),
        summary=str(result.get("reason") or ""),
    )


def _gates(job: Json, view: Mapping[str, object]) -> str:
    """What the gates of that visit said about work that says nothing of its own."""
    answers = {
        row["gate"]: str(row["answer"])
        for row in rows(view["verdicts"])
        if (row["stage"], row["epoch"]) == (job["stage"], job["epoch"])
    }
    if job["status"] == "failed" or "failed" in answers.values():
        return "failed"
    return "passed" if answers and set(answers.values()) == {"passed"} else "delivered"


def problem_of(view: Mapping[str, object], steps: Sequence[Step], revision: str | None) -> str:
    """Why this is not the promised end; empty when it is."""
    hold = view["hold"]
    if isinstance(hold, dict):
        return f"{view['work_item']} is on hold in {view['stage']}: {hold['reason']}"
    if view["stage"] != Stage.DONE:
        return f"{view['work_item']} is in {view['stage']}, not done"
    if revision is None:
        return "production does not answer"
    if revision != view["merged"]:
        return f"production runs {revision}, not the merged commit {view['merged']}"
    watched = [step.verdict for step in steps if step.stage == POST_DEPLOY]
    if not watched or watched[-1] != HEALTHY:
        return f"the watch over production says {watched[-1] if watched else 'nothing'}, not {HEALTHY}"
    return ""


def waits(view: Mapping[str, object]) -> str:
    """What an item that is not at its end was waiting for, for whoever has to find out why."""
    explanation = view["explanation"]
    why = str(explanation["why"]) if isinstance(explanation, dict) else ""
    active = [
        f"job {job['id']} ({job['kind']} {job['agent']}) {job['status']} {job['error']}".rstrip()
        for job in rows(view["jobs"])
        if job["is_active"]
    ]
    return f": {'; '.join([why, *active])}"


def rows(value: object) -> list[Json]:
    """A list of objects of a JSON answer."""
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _result(job: Json) -> Json:
    result = job["result"]
    return result if isinstance(result, dict) else {}


def _seconds(value: object) -> float | None:
    return round(float(value), 2) if isinstance(value, int | float) else None


def _between(start: object, end: object) -> float | None:
    if not (isinstance(start, str) and isinstance(end, str)):
        return None
    return round((datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds(), 2)
