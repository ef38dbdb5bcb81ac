"""Demands that contradict each other, merged into one instruction (ORCH-046 variant C).

The heuristic is small and says so: two demands contradict when they name the same file or identifier and one
of them forbids a change while the other asks for one. Whoever stands higher in the priority leads.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from orchestrator.pipeline.gates import GateName


class Source(StrEnum):
    """Who makes a demand."""

    GOVERNANCE = "governance"
    PERSON = "person"
    REVIEWER = "reviewer"
    TESTER = "tester"
    PIPELINE = "pipeline"


PRIORITY: Final = (Source.GOVERNANCE, Source.PERSON, Source.REVIEWER, Source.TESTER)
"""Governance > reviewer > tester (product §4); a person stands above both of these, all others come last."""


@dataclass(frozen=True, slots=True)
class Demand:
    """One thing that somebody wants done or left alone; ``round_number`` is 0 for standing rules."""

    source: Source
    text: str
    round_number: int = 0


@dataclass(frozen=True, slots=True)
class Merged:
    """One instruction out of several: ``leading`` holds, ``yielding`` are met only as far as it allows."""

    subjects: tuple[str, ...]
    leading: Demand
    yielding: tuple[Demand, ...]


_SOURCES: Final = {
    GateName.ANALYSIS_APPROVED: Source.PERSON,
    GateName.REVIEWER_VERDICT: Source.REVIEWER,
    GateName.REVIEW_APPROVED: Source.REVIEWER,
    GateName.TESTS_PASSED: Source.TESTER,
    GateName.TESTS_LOCAL: Source.TESTER,
    GateName.CI_GREEN: Source.TESTER,
}

_FORBIDS: Final = re.compile(
    r"\b(?:do not|don['’]t|must not|mustn['’]t|should not|shouldn['’]t|may not|never|without) "
    r"(?:touch|chang|modif|edit|alter|remov|delet|renam|weaken|skip|disabl|mov|add|introduc|rewrit|refactor)"
    r"|\b(?:не|нельзя|запрещено|запрещается|без) "
    r"(?:трога|тронь|меня|измен|правь|править|правк|удал|переимен|ослабл|отключ|добавл|перенос|переписыв)"
    r"|\bleave\b.{0,80}\b(?:alone|as is|unchanged|untouched)\b|\bоставь\w{0,4}\b.{0,80}\bкак (?:есть|было)\b"
    r"|\b(?:revert|undo|roll back|откатит\w{0,3})\b"
)
_PLACE: Final = re.compile(r"[:#]l?\d+(?:[:–—-]l?\d+)?$")
_EXTENSION: Final = re.compile(r"\w\.[a-z]\w{0,5}$")
OPERATOR: Final = "operator"
"""``source_gate`` of the round by which a person grants new developer rounds."""

_EDGES: Final = "`*_'\"“”«»()[]{}<>,;:!?."


def source_of(gate: GateName | str) -> Source:
    """Whose demand a round that came from ``gate`` is; ``operator`` stands for a person's grant."""
    if gate == OPERATOR:
        return Source.PERSON
    return _SOURCES[GateName(gate)] if gate in _SOURCES else Source.PIPELINE


def forbids(text: str) -> bool:
    """Whether ``text`` asks for something to be left as it is."""
    return _FORBIDS.search(" ".join(text.casefold().split())) is not None


def subjects_of(text: str) -> frozenset[str]:
    """The files and identifiers that ``text`` names, in lower case; a path also stands for its file name."""
    found: set[str] = set()
    for raw in text.casefold().split():
        word = _PLACE.sub("", raw.strip(_EDGES))
        if len(word) < 3 or "://" in word:
            continue
        if "`" in raw or "_" in word or "/" in word or _EXTENSION.search(word):
            found.update((word, word.rstrip("/").rsplit("/", 1)[-1]))
    return frozenset(subject for subject in found if len(subject) >= 3)


def merge(current: Sequence[Demand], standing: Iterable[Demand]) -> tuple[Merged, ...]:
    """The contradictions that touch a current demand; ``standing`` are rules and demands of earlier rounds.

    Among equals the newer demand leads.
    """
    order = {source: place for place, source in enumerate(PRIORITY)}
    named: dict[str, list[tuple[Demand, bool]]] = {}
    for demand in dict.fromkeys((*current, *standing)):
        polarity = forbids(demand.text)
        for subject in sorted(subjects_of(demand.text)):
            named.setdefault(subject, []).append((demand, polarity))
    fresh = set(current)
    groups: dict[Demand, tuple[dict[str, None], dict[Demand, None]]] = {}
    for subject, entries in named.items():
        leading, kept = min(
            entries, key=lambda e: (order.get(e[0].source, len(order)), -e[0].round_number, not e[1])
        )
        yielding = [demand for demand, polarity in entries if polarity is not kept]
        if yielding and (leading in fresh or not fresh.isdisjoint(yielding)):
            subjects, losers = groups.setdefault(leading, ({}, {}))
            subjects[subject] = None
            losers.update(dict.fromkeys(yielding))
    return tuple(
        Merged(tuple(subjects), leading, tuple(losers)) for leading, (subjects, losers) in groups.items()
    )
