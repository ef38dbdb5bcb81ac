"""What a run of ``codex`` came to."""

import re
from datetime import datetime
from typing import Final

from orchestrator.agents.clis import Ended
from orchestrator.agents.clis.codex.stream import CodexReader
from orchestrator.agents.clis.endings import cut_short, ending, explained
from orchestrator.agents.clis.lines import reason
from orchestrator.agents.clis.refusals import kind_of_status, kind_of_text
from orchestrator.agents.reset_times import reset_time
from orchestrator.plumbing.processes import ExitRecord
from orchestrator.ports.agent import (
    AgentFailed,
    AgentOutcome,
    AgentTask,
    Finished,
    LimitKind,
    LimitReached,
)

_STATUS: Final = re.compile(r"\b(?:last|unexpected) status:? (\d{3})\b", re.ASCII)


def verdict(
    task: AgentTask, record: ExitRecord, read: CodexReader, *, ended: Ended | None, now: datetime
) -> AgentOutcome:
    """Success is exit code 0 and a completed turn; ``now`` is when the run ended."""
    if (cut := cut_short(task, record, read, ended)) is not None:
        return cut
    if read.completed and (ended is not None or record.exit_code == 0):
        return Finished(read.usage, record.started or now, record.ended or now)
    kind = _refusal(read.failure)
    if kind is not None:
        return LimitReached(read.usage, reason(read.failure), reset_time(read.failure, now), kind)
    how = "it ended without a result" if record.exit_code == 0 and not read.failure else ending(record)
    return AgentFailed(read.usage, explained(how, read.last_words), record.exit_code)


def _refusal(failure: str) -> LimitKind | None:
    """Why the provider does not serve us; ``None`` when it is the run's own fault."""
    status = _STATUS.search(failure)
    return kind_of_status(int(status[1])) if status is not None else kind_of_text(failure)
