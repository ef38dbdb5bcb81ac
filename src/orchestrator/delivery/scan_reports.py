"""What scanners report, as findings that can be compared between two commits."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

LEVELS: Final = ("low", "medium", "high", "critical")
"""Severities in rising order, as the contract spells them."""

_SARIF_LEVELS: Final = {"note": "low", "none": "low", "warning": "medium", "error": "high"}


@dataclass(frozen=True, slots=True)
class Discovery:
    """One finding; ``key`` holds what stays the same when lines move, ``text`` is one line for people."""

    level: str
    key: str
    text: str

    def counts_from(self, level: str) -> bool:
        """Whether its severity is at least ``level``."""
        return LEVELS.index(self.level) >= LEVELS.index(level)


class UnreadableReport(ValueError):
    """The scanner left something that is not its report."""


def new_among(head: Iterable[Discovery], base: Iterable[Discovery]) -> tuple[Discovery, ...]:
    """The findings of ``head`` that ``base`` does not have (as often)."""
    left = Counter(found.key for found in base)
    new: list[Discovery] = []
    for found in head:
        if left[found.key] > 0:
            left[found.key] -= 1
        else:
            new.append(found)
    return tuple(new)


def read_report(scanner: str, report: bytes) -> tuple[Discovery, ...]:
    """The findings in the JSON report of a known scanner, or in a SARIF report.

    Raises:
        UnreadableReport: it is no such report.
    """
    try:
        data = json.loads(report)
        return tuple(_READERS[scanner](data))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UnreadableReport(f"the report of {scanner} cannot be read: {error}") from error


def _bandit(data: Mapping[str, list[dict[str, object]]]) -> Iterator[Discovery]:
    for unread in data["errors"]:
        # What bandit cannot read it cannot clear: new files of that kind count, those of the base are known.
        said = f"{str(unread['filename']).removeprefix('./')}: not scanned, {unread['reason']}"
        yield Discovery("high", said, said)
    for row in data["results"]:
        path = str(row["filename"]).removeprefix("./")
        said = f"{row['test_id']} {row['issue_text']}"
        key = f"{path} {said} {_statement(row)}"
        yield Discovery(_level(row["issue_severity"]), key, f"{path}:{row['line_number']}: {said}")


def _statement(row: Mapping[str, object]) -> str:
    """The lines of the finding itself, without their numbers and the lines around them.

    Bandit quotes neighbours too; a finding whose neighbours changed is the same finding.
    """
    span = row.get("line_range")
    numbers = {str(number) for number in (span if isinstance(span, list) else [row["line_number"]])}
    quoted = (line.strip().partition(" ") for line in str(row["code"]).splitlines())
    return " ".join(text.strip() for number, _, text in quoted if number in numbers)


def _detect_secrets(data: Mapping[str, Mapping[str, list[dict[str, object]]]]) -> Iterator[Discovery]:
    for path, rows in data["results"].items():
        for row in rows:
            said = f"possible secret ({row['type']})"
            yield Discovery(
                "high", f"{path} {row['type']} {row['hashed_secret']}", f"{path}:{row['line_number']}: {said}"
            )


def _pip_audit(data: Mapping[str, list[dict[str, object]]]) -> Iterator[Discovery]:
    rows = data["dependencies"]
    if rows and all("skip_reason" in row for row in rows):
        raise UnreadableReport(f"no dependency could be audited: {rows[0]['skip_reason']}")
    for row in rows:
        vulnerabilities = row.get("vulns", [])
        if not isinstance(vulnerabilities, list):
            raise TypeError("vulns is no list")
        for found in vulnerabilities:
            said = f"{row['name']} {row['version']}: {found['id']}"
            fixed = ", ".join(found.get("fix_versions", ()))
            yield Discovery("high", said, f"{said}, fixed in {fixed}" if fixed else said)


def _sarif(data: Mapping[str, list[dict[str, object]]]) -> Iterator[Discovery]:
    for run in data["runs"]:
        results = run.get("results", [])
        if not isinstance(results, list):
            raise TypeError("results is no list")
        for row in results:
            said = f"{row.get('ruleId', 'finding')}: {row['message']['text']}"
            path, line = _place(row)
            level = _SARIF_LEVELS.get(str(row.get("level", "warning")), "medium")
            yield Discovery(level, f"{path} {said}", f"{path}:{line}: {' '.join(said.split())}")


def _place(row: Mapping[str, list[dict[str, dict[str, dict[str, object]]]]]) -> tuple[str, object]:
    places = row.get("locations") or []
    if not places:
        return "(repository)", 0
    physical = places[0]["physicalLocation"]
    return str(physical["artifactLocation"]["uri"]), physical.get("region", {}).get("startLine", 0)


def _level(value: object) -> str:
    level = str(value).lower()
    return level if level in LEVELS else "medium"


_READERS: Final[Mapping[str, Callable[..., Iterator[Discovery]]]] = {
    "bandit": _bandit,
    "detect-secrets": _detect_secrets,
    "pip-audit": _pip_audit,
    "sarif": _sarif,
}
