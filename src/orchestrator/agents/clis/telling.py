"""Telling people what an agent does: one masked line, and whatever more there is to see."""

from collections.abc import Sequence
from typing import Final

from orchestrator.agents.clis.lines import storable
from orchestrator.plumbing.redaction import redact
from orchestrator.ports.agent import LogEvent, LogKind, Usage

LINE: Final = 200
"""Characters of a line that is shown."""
DETAIL: Final = 4000
"""Characters of what is shown below it."""


def told(kind: LogKind, said: str, detail: str | None = None) -> Sequence[LogEvent]:
    """An event with the first line of a text, and the whole text below when there is more of it."""
    whole = redact(storable(said)).strip()
    if not whole:
        return ()
    first, _, rest = whole.partition("\n")
    line = first.strip() if len(first.strip()) <= LINE else f"{first.strip()[: LINE - 1]}…"
    if detail is not None:
        return (LogEvent(kind, line, shortened(redact(storable(detail)))),)
    return (LogEvent(kind, line, shortened(whole) if rest.strip() or line.endswith("…") else ""),)


def shortened(said: str) -> str:
    """The beginning and the end of a text that is too long."""
    if len(said) <= DETAIL:
        return said
    head, tail = said[: DETAIL * 3 // 4], said[-(DETAIL // 4) :]
    return f"{head}\n… {len(said) - DETAIL} characters left out …\n{tail}"


def cost(usage: Usage, turns: int) -> Sequence[LogEvent]:
    """What a run consumed."""
    answers = f", {turns} turns" if turns else ""
    return told(LogKind.COST, f"{usage.tokens} tokens, ${usage.cost_usd:.4f}{answers}")


def edit(path: str, old: str, new: str) -> Sequence[LogEvent]:
    """A change of a file: how many lines it adds and removes, and which."""
    before, after = old.splitlines(), new.splitlines()
    same = _shared(before, after)
    before, after = before[same:], after[same:]
    ends = _shared(before[::-1], after[::-1])
    before, after = before[: len(before) - ends], after[: len(after) - ends]
    lines = [*(f"-{line}" for line in before), *(f"+{line}" for line in after)]
    return told(LogKind.EDIT, f"{path or 'a file'} +{len(after)} -{len(before)}", "\n".join(lines))


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines two texts begin with in common."""
    pairs = zip(one, other, strict=False)
    return next((number for number, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
