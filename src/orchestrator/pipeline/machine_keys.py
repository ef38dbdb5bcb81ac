"""The machine keys: how the front matter of an artifact answers a gate.

Prose is never read. A key that is missing, doubled, a list or a mapping answers nothing: the caller hands in
what the document parser complained about, and any complaint makes the answer unclear (product §4).
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Final, TypeAlias

from orchestrator.pipeline.gates import GateName

TEST_POSITIVE_TOKENS: Final = frozenset({"PASS", "PASSED", "GREEN", "OK", "APPROVED"})
"""Whole words that say the tests passed (product §4); ``SUCCESS`` is neutral on purpose (ORCH-116 D6.1)."""

TEST_NEGATIVE_TOKENS: Final = frozenset(
    {
        "BLOCKED",
        "ERROR",
        "ERRORS",
        "FAIL",
        "FAILED",
        "FAILING",
        "FAILS",
        "FAILURE",
        "FAILURES",
        "RED",
        "REJECT",
        "REJECTED",
        "REJECTION",
        "REJECTS",
        "CHANGES_REQUESTED",
        "REQUEST_CHANGES",
    }
)
"""Whole words that say they did not; one of these outweighs any number of positive ones (inventory §4.2)."""

TEST_KEYS: Final = ("verdict", "status", "result")
"""The three peers of the test report, in the order in which they are joined (ORCH-047)."""

_NEGATIONS: Final = frozenset({"NO", "NON", "NOT"})
_TWO_WORDS: Final = re.compile(r"\b(REQUEST|CHANGES)[\s-]+(CHANGES|REQUESTED)\b", re.IGNORECASE | re.ASCII)
_WORD: Final = re.compile(r"\w+")
_LONGEST_NUMBER: Final = 128
"""Bits of a number that is still written out: beyond some length Python refuses to."""


@dataclass(frozen=True, slots=True)
class KeyPassed:
    """The key says yes; ``value`` is what it holds, in capitals."""

    value: str


@dataclass(frozen=True, slots=True)
class KeyFailed:
    """The key says no; ``value`` is what it holds, in capitals."""

    value: str


@dataclass(frozen=True, slots=True)
class KeyUnclear:
    """The key cannot be read as yes or no; ``reason`` is one line for people."""

    reason: str


KeyAnswer: TypeAlias = KeyPassed | KeyFailed | KeyUnclear
Problems: TypeAlias = tuple[str, ...]
Reader: TypeAlias = Callable[[Mapping[str, object], Problems], KeyAnswer]


def read_tests_verdict(meta: Mapping[str, object], problems: Problems = ()) -> KeyAnswer:
    """What ``13-test-report.md`` says: the three peers joined, negative words first (ORCH-047)."""
    if problems:
        return _complaint(problems)
    values: list[str] = []
    for key in TEST_KEYS:
        value = _scalar(meta, key)
        if isinstance(value, KeyUnclear):
            return value
        if value is not None:
            values.append(value)
    if not values:
        return KeyUnclear(f"none of the keys {', '.join(TEST_KEYS)} has a value")
    return _weigh(" ".join(values))


def _weigh(text: str) -> KeyAnswer:
    words = _words(_TWO_WORDS.sub(r"\1_\2", text))
    value = text.upper()
    if any(word in TEST_NEGATIVE_TOKENS for word in words):
        return KeyFailed(value)
    if not any(word in TEST_POSITIVE_TOKENS for word in words):
        return KeyUnclear(f"{_shown(text)} holds no word that says passed or failed")
    doubt = _doubt(words)
    if doubt is not None:
        return KeyUnclear(f"{_shown(text)} contradicts itself: {doubt}")
    return KeyPassed(value)


def _doubt(words: list[str]) -> str | None:
    """A word that forbids a plain yes: ``NOT PASSED``, or ``TESTS_FAILED`` beside ``PASS``."""
    for before, word in zip(["", *words], words, strict=False):
        if before in _NEGATIONS and word in TEST_POSITIVE_TOKENS:
            return f"{before} {word}"
        if "_" in word and not TEST_NEGATIVE_TOKENS.isdisjoint(word.split("_")):
            return word
    return None


def _words(text: str) -> list[str]:
    """Whole words in capitals; only ASCII is raised, so that no foreign letter turns into a token."""
    return [word.upper() if word.isascii() else word for word in _WORD.findall(text)]


def _one_of(key: str, good: tuple[str, ...], bad: tuple[str, ...]) -> Reader:
    """A reader of one key that must hold exactly one of the words, in any case."""

    def read(meta: Mapping[str, object], problems: Problems = ()) -> KeyAnswer:
        if problems:
            return _complaint(problems)
        text = _scalar(meta, key)
        if isinstance(text, KeyUnclear):
            return text
        if text is None:
            return KeyUnclear(f"the key {key} is missing or empty")
        value = text.upper() if text.isascii() else text
        if value in good:
            return KeyPassed(value)
        if value in bad:
            return KeyFailed(value)
        return KeyUnclear(f"{key}: {_shown(text)} is none of {', '.join((*good, *bad))}")

    return read


_reviewer: Final = _one_of("verdict", ("APPROVED",), ("REQUEST_CHANGES",))
_staging: Final = _one_of("staging_status", ("SUCCESS",), ("FAILED",))
_deploy: Final = _one_of("deploy_status", ("SUCCESS",), ("FAILED",))
_security: Final = _one_of("security_status", ("PASS", "PASSED", "SUCCESS"), ("FAIL", "FAILED"))
_coverage: Final = _one_of("coverage_status", ("PASS", "PASSED", "SUCCESS"), ("FAIL", "FAILED"))


def read_reviewer_verdict(meta: Mapping[str, object], problems: Problems = ()) -> KeyAnswer:
    """What ``12-review.md`` says: ``verdict:`` alone, ``APPROVED`` or ``REQUEST_CHANGES``."""
    return _reviewer(meta, problems)


def read_staging_status(meta: Mapping[str, object], problems: Problems = ()) -> KeyAnswer:
    """What ``15-staging-log.md`` says: ``staging_status:`` alone, never the schema's ``status:``."""
    return _staging(meta, problems)


def read_deploy_status(meta: Mapping[str, object], problems: Problems = ()) -> KeyAnswer:
    """What ``14-deploy-log.md`` says: ``deploy_status:`` alone, ``SUCCESS`` or ``FAILED``."""
    return _deploy(meta, problems)


def read_security_status(meta: Mapping[str, object], problems: Problems = ()) -> KeyAnswer:
    """What ``09-security-report.md`` says: ``security_status:`` alone, ``PASS`` or ``FAIL``."""
    return _security(meta, problems)


def read_coverage_status(meta: Mapping[str, object], problems: Problems = ()) -> KeyAnswer:
    """What ``11-coverage-report.md`` says: ``coverage_status:`` alone, ``PASS`` or ``FAIL``."""
    return _coverage(meta, problems)


MACHINE_KEYS: Final[Mapping[GateName, Reader]] = {
    GateName.REVIEWER_VERDICT: read_reviewer_verdict,
    GateName.TESTS_PASSED: read_tests_verdict,
    GateName.STAGING_STATUS: read_staging_status,
    GateName.DEPLOY_STATUS: read_deploy_status,
    GateName.SECURITY: read_security_status,
    GateName.COVERAGE: read_coverage_status,
}
"""The gates that read an artifact, and how."""


def _scalar(meta: Mapping[str, object], key: str) -> str | KeyUnclear | None:
    """The text of one key; ``None`` when it is missing or empty, unclear when it is not one plain value."""
    value = meta.get(key)
    if value is None:
        return None
    if isinstance(value, int) and value.bit_length() > _LONGEST_NUMBER:
        return KeyUnclear(f"the key {key} holds an endless number")
    if not isinstance(value, (str, int, float, date)):
        return KeyUnclear(f"the key {key} holds {_kind(value)}, not one plain value")
    return str(value).strip() or None


def _kind(value: object) -> str:
    match value:
        case Mapping():
            return "a mapping"
        case list() | tuple() | set() | frozenset():
            return "a list"
        case _:
            return f"a value of type {type(value).__name__}"


def _complaint(problems: Problems) -> KeyUnclear:
    told = "; ".join(" ".join(problem.split()) for problem in problems)
    return KeyUnclear(f"the front matter cannot be relied on: {told}")


def _shown(text: str) -> str:
    """One short line for a reason; what people wrote may be of any length."""
    line = " ".join(text.split())
    return repr(line if len(line) <= 80 else line[:79] + "…")
