"""What a run of ``claude`` came to, out of how its process ended and what it said last."""

import re
from datetime import datetime

from orchestrator.agents.clis import Ended
from orchestrator.agents.clis.claude.results import Result
from orchestrator.agents.clis.claude.stream import ClaudeReader
from orchestrator.agents.clis.claude.tools import rights_of
from orchestrator.agents.clis.endings import cut_short, ending, explained
from orchestrator.agents.clis.lines import reason
from orchestrator.agents.clis.refusals import kind_of_status, kind_of_text
from orchestrator.agents.reset_times import from_epoch, reset_time
from orchestrator.plumbing.processes import ExitRecord
from orchestrator.ports.agent import (
    AgentFailed,
    AgentOutcome,
    AgentTask,
    BudgetReached,
    Finished,
    LimitKind,
    LimitReached,
)

_CREDIT = re.compile(r"credit balance", re.IGNORECASE)


def verdict(
    task: AgentTask, record: ExitRecord, read: ClaudeReader, *, ended: Ended | None, now: datetime
) -> AgentOutcome:
    """Neither the exit code nor the result is believed alone; ``now`` is when the run ended."""
    if (cut := cut_short(task, record, read, ended)) is not None:
        return cut
    if read.result is None:
        return _without_result(record, read)
    if read.result.subtype in {"error_max_turns", "error_max_budget_usd"}:
        return BudgetReached(read.usage, _ceiling(task, read.result, read), record.exit_code)
    if not read.result.is_error and (ended is not None or record.exit_code == 0):
        denied = _denied(task, read.result)
        return Finished(read.usage, record.started or now, record.ended or now, denied)
    return _in_error(record, read.result, read, now)


def _without_result(record: ExitRecord, read: ClaudeReader) -> AgentOutcome:
    """A CLI that is interrupted while it waits ends with 0 and says nothing."""
    how = "it ended without a result" if record.exit_code == 0 else ending(record)
    why = explained(how, read.last_words)
    if kind_of_text(read.stray) is LimitKind.AUTH:
        return LimitReached(read.usage, why, None, LimitKind.AUTH, read.session)
    return AgentFailed(read.usage, why, record.exit_code)


def _in_error(record: ExitRecord, result: Result, read: ClaudeReader, now: datetime) -> AgentOutcome:
    kind = _refusal(result) if result.is_error else None
    if kind is None:
        how = f"{result.subtype}, {ending(record)}" if result.subtype != "success" else ending(record)
        return AgentFailed(read.usage, explained(how, read.last_words), record.exit_code)
    until = from_epoch(read.limit_ends, now) if kind is LimitKind.RATE else None
    return LimitReached(
        read.usage,
        reason(result.said) or str(kind),
        until or reset_time(result.said, now),
        kind,
        read.session,
    )


def _ceiling(task: AgentTask, result: Result, read: ClaudeReader) -> str:
    """Which ceiling the CLI itself kept, in the words of the budget where it is one."""
    bound = task.ceiling.cost_usd
    if result.subtype == "error_max_budget_usd" and bound is not None:
        return f"{bound.budget} is used up: ${read.usage.cost_usd:.4f}"
    return read.last_words or "it reached a ceiling"


def _refusal(result: Result) -> LimitKind | None:
    """Why the provider does not serve us; ``None`` when it is the run's own fault."""
    if result.stopped == "refusal" or result.subtype != "success":
        return None
    if result.status is not None:
        return LimitKind.AUTH if _CREDIT.search(result.said) else kind_of_status(result.status)
    if result.cause == "connection_failed":
        return LimitKind.UNAVAILABLE
    return kind_of_text(result.said)


def _denied(task: AgentTask, result: Result) -> tuple[str, ...]:
    """The tools that the role has, but was refused; each once."""
    rights = rights_of(task.role, task.workspace, task.artifact_dir)
    return tuple(dict.fromkeys(one.tool for one in result.denials if rights.has(one.tool, one.given)))
