"""The two languages of reports and tasks, and the headings that parsers know in both (product §4)."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class Language(StrEnum):
    """What people are spoken to in; the values are those of ``ORCH_LANGUAGE``."""

    EN = "en"
    RU = "ru"


class Section(StrEnum):
    """A section that somebody reads by machine."""

    FINDINGS = "findings"
    PYTEST_OUTPUT = "pytest_output"
    RESULTS = "results"
    SUMMARY = "summary"


_TITLES: Final[Mapping[Section, Mapping[Language, str]]] = {
    Section.FINDINGS: {Language.EN: "Findings", Language.RU: "Замечания"},
    Section.PYTEST_OUTPUT: {Language.EN: "Pytest output", Language.RU: "Вывод pytest"},
    Section.RESULTS: {Language.EN: "Results", Language.RU: "Результаты"},
    Section.SUMMARY: {Language.EN: "Summary", Language.RU: "Итог"},
}


def title_of(section: Section, language: Language) -> str:
    """The heading under which ``section`` is written."""
    return _TITLES[section][language]


def titles(section: Section) -> frozenset[str]:
    """Every heading under which ``section`` is found, in lower case."""
    return frozenset(title.casefold() for title in _TITLES[section].values())
