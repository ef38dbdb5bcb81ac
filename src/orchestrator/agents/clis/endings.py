"""What a run came to as far as that is the same for every kind of CLI."""

from orchestrator.agents.clis import Ended, EndedBy, Reader
from orchestrator.plumbing.processes import ExitRecord
from orchestrator.ports.agent import AgentFailed, AgentTask, BudgetReached


def cut_short(
    task: AgentTask, record: ExitRecord, read: Reader, ended: Ended | None
) -> BudgetReached | AgentFailed | None:
    """What a run came to that did not end of its own accord; ``None``: what it said decides.

    A run that gave its result and stayed until we ended it is judged by that result.
    """
    if ended is not None and ended.by is EndedBy.BUDGET:
        return BudgetReached(read.usage, ended.reason, record.exit_code)
    wall = task.ceiling.wall_s
    if record.timed_out and wall is not None:
        return BudgetReached(read.usage, f"{wall.budget} is used up", record.exit_code)
    lingered = ended is not None and ended.by is EndedBy.RESULT and read.result_seen
    if lingered or (ended is None and record.ran):
        return None
    return AgentFailed(read.usage, _why_not_over(task, record, ended), record.exit_code, record.timed_out)


def ending(record: ExitRecord) -> str:
    """How the process itself ended, in two or three words."""
    return f"signal {record.signal}" if record.signal else f"exit code {record.exit_code}"


def explained(how: str, said: str) -> str:
    """How a run ended, and what it said last that can explain it."""
    return f"{how}: {said}" if said else how


def _why_not_over(task: AgentTask, record: ExitRecord, ended: Ended | None) -> str:
    """Why a run did not come to an end of its own, in a few words."""
    if ended is not None:
        return ended.reason
    if record.timed_out:
        return f"it did not end within {task.limit.total_seconds():g} s"
    if record.stopped:
        return "it was stopped"
    return f"its end was not seen: {record.error}" if record.error else "its end was not seen"
