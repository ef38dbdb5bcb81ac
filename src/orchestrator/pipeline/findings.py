"""What a report demands: the items of a review and the failing part of a test report, word for word.

Every function takes any text, never raises and takes time in proportion to its length: a report that cannot
be understood yields nothing, and the round then carries the link alone (ORCH-046 AC-4).
"""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from orchestrator.pipeline.markdown import Line, lines_of, section, text_of, without_fences
from orchestrator.pipeline.wording import Section, titles


class Severity(StrEnum):
    """How much a finding weighs; P0 and P1 send the work back (inventory §11)."""

    P0 = "P0"
    P1 = "P1"
    P2 = "P2"
    P3 = "P3"


@dataclass(frozen=True, slots=True)
class Finding:
    """One demand of a reviewer; ``text`` is verbatim but for the list mark before it."""

    severity: Severity
    text: str


BLOCKING: Final = frozenset({Severity.P0, Severity.P1})

# The second P is Cyrillic: a Russian keyboard writes it, and nobody sees the difference.
_SEVERITY: Final = re.compile(
    r"[\W_]{0,12}(?<![^\W_])[PР]([0-3])(?![^\W_])(?P<number>(?:[-.]| ?#)\d{1,4}\b)?", re.IGNORECASE
)
_ITEM: Final = re.compile(r"(?P<indent>[ \t]*)(?P<mark>[-*+]|\d{1,9}[.)])(?:[ \t]+|$)")
_CATEGORY: Final = re.compile(
    r"[pр]|block\w*|must|should|could|fix\w*|nice|to|have|critical|major|minor|important|optional|issues?|findings?|"
    r"suggestions?|required|priority|high|medium|low|trivial|nits?|before|merge|be|fixed|defects?|problems?|"
    r"блок\w*|критич\w*|обязательн\w*|исправ\w*|важн\w*|желательн\w*|следует|необязательн\w*|мелк\w*|"
    r"замечани\w*|серь[её]зн\w*|незначительн\w*|можно|нужно|стоит|улучш\w*|приоритет\w*|высок\w*|средн\w*|низк\w*"
)
_NOTHING: Final = frozenset(
    {
        "", "n/a", "na", "nil", "no", "no findings", "no issues", "none", "none found", "nothing",
        "nothing found",
        "нет", "нет замечаний", "замечаний нет", "не найдено", "не обнаружено", "ничего",
        "отсутствует", "отсутствуют", "пусто",
    }
)  # fmt: skip
_AROUND: Final = " \t\n*_`()[]{}<>.,;:!—–-−~|/\\"
_FAIL_LINE: Final = re.compile(
    r"(?<!\w)(?:FAIL(?:ED|URES?|S)?|ERRORS?|BLOCKED|RED)(?!\w)|[❌✗✘]", re.IGNORECASE
)
_CUT: Final = "…"


def extract_review_findings(body: str) -> tuple[Finding, ...]:
    """The items of ``## Findings`` in the order of the review, placeholders such as *None* dropped."""
    sink = _Sink()
    for line in section(lines_of(body), titles(Section.FINDINGS)):
        sink.take(line)
    sink.close()
    return tuple(sink.found)


def blocking(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings that send the work back: P0 and P1."""
    return tuple(finding for finding in findings if finding.severity in BLOCKING)


@dataclass(slots=True)
class _Sink:
    """Collects the lines of a findings section into findings, one line at a time."""

    found: list[Finding] = field(default_factory=list)
    heading: Severity | None = None
    heading_level: int = 0
    whole: bool = False
    indent: int | None = None
    severity: Severity | None = None
    lines: list[str] = field(default_factory=list)

    def take(self, line: Line) -> None:
        if line.level and (line.level <= self.heading_level or self.heading is None or _severity(line.title)):
            self._open_heading(line)
        elif self.whole or line.code or line.level:
            self.lines.append(line.text)
        else:
            self._take_text(line.text)

    def close(self) -> None:
        text = "\n".join(self.lines).strip("\n").rstrip()
        if self.severity is not None and not _says_nothing(text):
            self.found.append(Finding(self.severity, text))
        self.lines = []

    def _open_heading(self, line: Line) -> None:
        self.close()
        match = _SEVERITY.match(line.title)
        self.heading = self.severity = _severity(line.title)
        self.heading_level = line.level
        self.indent = None
        label = line.title[match.end() :].strip(_AROUND) if match else ""
        self.whole = match is not None and (match["number"] is not None or _names_a_finding(label))
        if self.whole:
            self.lines.append(label)

    def _take_text(self, text: str) -> None:
        item = _ITEM.match(text)
        if _is_rule(text):
            self.close()
            self.indent = None
        elif item is not None and (self.indent is None or len(item["indent"]) <= self.indent):
            self.close()
            self.indent = len(item["indent"])
            self._start(text[item.end() :])
        elif self.indent is None and not text.strip():
            self.close()
        elif self.lines or self.heading is not None:
            self.lines.append(text)
        else:
            self._start(text)

    def _start(self, text: str) -> None:
        """Begins an item; outside a P-heading it has to say its severity itself."""
        self.severity = self.heading or _severity(text)
        self.lines.append(text)


def _is_rule(text: str) -> bool:
    """Whether the line is a thematic break, which belongs to no item."""
    signs = text.replace(" ", "")
    return len(signs) >= 3 and signs[0] in "-*_" and signs == signs[0] * len(signs)


def _severity(text: str) -> Severity | None:
    match = _SEVERITY.match(text)
    return Severity(f"P{match.group(1)}") if match else None


def _names_a_finding(label: str) -> bool:
    """Whether what follows ``P1`` in a heading is a finding of its own, not the name of the category."""
    words = re.findall(r"[^\W\d_]+", label.split("(", 1)[0].casefold())
    named = [word for word in words if not _CATEGORY.fullmatch(word)]
    return bool(named) and " ".join(named) not in _NOTHING


def _says_nothing(text: str) -> bool:
    return len(text) <= 60 and text.casefold().strip(_AROUND) in _NOTHING


def extract_test_failures(body: str, limit: int) -> str:
    """What failed, in ``limit`` characters: the end of pytest's output, else FAIL lines, else the summary.

    The order is that of inventory §11; headings are found in English and Russian.
    """
    lines = lines_of(body)
    output = text_of(without_fences(section(lines, titles(Section.PYTEST_OUTPUT))))
    if output:
        return _last(output, limit)
    results = section(lines, titles(Section.RESULTS))
    failing = "\n".join(line.text for line in results if _FAIL_LINE.search(line.text)).strip("\n")
    return _first(failing or text_of(section(lines, titles(Section.SUMMARY))), limit)


def _last(text: str, limit: int) -> str:
    """The end of ``text``, beginning with a whole line where one fits: pytest sums up last."""
    if len(text) <= limit:
        return text
    if limit <= len(_CUT) + 1:
        return text[-limit:] if limit > 0 else ""
    tail = text[-(limit - len(_CUT) - 1) :]
    start = tail.find("\n") + 1
    return f"{_CUT}\n{tail[start:] if start < len(tail) else tail}"


def _first(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return text[: limit - len(_CUT)] + _CUT if limit > len(_CUT) else text[: max(limit, 0)]


_ROUND_WORDS: Final = r"round|attempt|iteration|try|раунд\w{0,3}|попытк\w{0,3}|итераци\w{0,3}"
_VOLATILE: Final = (
    (re.compile(r"0x[0-9a-f]+"), "0xn"),
    (re.compile(r"(\.[^\W\d]\w{0,9}):\d+(?:[:–—-]\d+)?"), r"\1:n"),
    (re.compile(r"#l\d+(?:-l?\d+)?"), "#ln"),
    (re.compile(r"\b(lines?|ln|строк\w{0,3}|стр)\.? ?:? ?#?\d+(?: ?[–—-] ?\d+)?"), r"\1 n"),
    (re.compile(rf"\b({_ROUND_WORDS}) ?[#№]?\d+(?: ?(?:/|of|из) ?\d+)?"), r"\1 n"),
    (re.compile(rf"\b\d+(?:st|nd|rd|th|-?[йя])? ({_ROUND_WORDS})\b"), r"n \1"),
    (re.compile(r"\b\d+(?:\.\d+)? ?(?:s|ms|sec|seconds|сек)\b"), "n s"),
)
"""What changes from round to round although the demand is the same: addresses, lines, rounds, durations."""


def normalise(text: str) -> str:
    """``text`` without what may differ between two rounds that say the same thing."""
    plain = " ".join(text.casefold().replace("`", "").replace("*", "").split())
    for pattern, replacement in _VOLATILE:
        plain = pattern.sub(replacement, plain)
    return plain.strip(_AROUND)


def fingerprint(findings: Iterable[Finding | str]) -> str:
    """One word for a set of demands, whatever their order and line numbers; empty when there are none."""
    texts = {normalise(item.text if isinstance(item, Finding) else item) for item in findings} - {""}
    if not texts:
        return ""
    joined = "\n".join(sorted(texts))
    return hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()
