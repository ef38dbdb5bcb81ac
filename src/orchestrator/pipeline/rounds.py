"""Rounds: what was demanded of a role before, and the text of its next assignment (ORCH-046 A, B and C)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.pipeline.demands import Demand, Merged, Source, merge, source_of
from orchestrator.pipeline.gates import GateName
from orchestrator.pipeline.ids import CodeId, WorkItemId
from orchestrator.pipeline.markdown import closes_its_fences, fenced, fits_in_list
from orchestrator.pipeline.stages import Role, Stage
from orchestrator.pipeline.wording import Language

MAX_DEVELOPER_RETRIES: Final = 3
"""Rounds that the code may cost before a person is asked (inventory §3.2)."""


@dataclass(frozen=True, slots=True)
class Round:
    """One trip back: which gate refused (or ``operator``), who has to work again, what exactly is demanded.

    ``findings`` are the blocking demands word for word, ``optional`` the others, ``link`` the path of the
    full report, ``code`` the code that was refused, ``fingerprint`` what recognises the same demands next
    time; ``spent`` says whether the round counts against the developer's cap.
    """

    number: int
    source_gate: GateName | str
    role: Role
    reason: str
    findings: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    link: str = ""
    code: CodeId | None = None
    fingerprint: str = ""
    spent: bool = True


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a role is asked to do, and where."""

    work_item: WorkItemId
    repo: str
    branch: str
    stage: Stage
    title: str
    description: str = ""


def no_progress(previous: Round, fingerprint: str, code: CodeId | None) -> str | None:
    """Why another round would repeat ``previous``: the same demands, or the same code; ``None`` if neither.

    A round that was not spent proves nothing: nobody was asked to change the code.
    """
    if not previous.spent:
        return None
    if code is not None and code == previous.code:
        return f"the code has not changed since round {previous.number}"
    if fingerprint and fingerprint == previous.fingerprint:
        return f"the findings are the same as in round {previous.number}"
    return None


def task_file_name(role: Role) -> str:
    """The file in the workspace that carries the assignment of ``role`` (product §3)."""
    return ".task-dev.md" if role is Role.DEVELOPER else f".task-{role.value}.md"


_TEXTS: Final[Mapping[Language, Mapping[str, str]]] = {
    Language.EN: {
        "round": "Round {number} of {cap}",
        "refused": "Sent back by `{gate}` ({source}): {reason}",
        "rules": "Rules that stand above every demand",
        "must": "Must fix",
        "merged": "Contradictory demands, merged into one instruction",
        "lead": "About {subjects}: this demand of {source} holds:",
        "yield": "Meet this demand of {source} only as far as the one above allows, or write down why not:",
        "optional": "Optional (P2, P3)",
        "full": "Full context: `{link}`",
        "history": "Earlier rounds: already tried, do not repeat",
        "past": "Round {number}, `{gate}` ({source}): {reason}",
        "governance": "the rules of the project",
        "person": "a person",
        "reviewer": "the reviewer",
        "tester": "the tests",
        "pipeline": "the pipeline",
    },
    Language.RU: {
        "round": "Раунд {number} из {cap}",
        "refused": "Вернул `{gate}` ({source}): {reason}",
        "rules": "Правила, которые выше любых требований",
        "must": "Обязательно исправить",
        "merged": "Противоречивые требования, сведённые в одно указание",
        "lead": "О {subjects}: действует это требование ({source}):",
        "yield": "Требование ниже ({source}) выполнить, насколько позволяет верхнее, иначе объяснить:",
        "optional": "По желанию (P2, P3)",
        "full": "Полный контекст: `{link}`",
        "history": "Прошлые раунды: это уже пробовали, не повторять",
        "past": "Раунд {number}, `{gate}` ({source}): {reason}",
        "governance": "правила проекта",
        "person": "человек",
        "reviewer": "рецензент",
        "tester": "тесты",
        "pipeline": "конвейер",
    },
}

_BRIEF: Final = 200
"""Characters of an old demand that are repeated in the history."""


def compose_task(
    assignment: Assignment,
    rounds: Sequence[Round] = (),
    *,
    language: Language = Language.EN,
    governance: Sequence[str] = (),
) -> str:
    """The text of ``.task-<role>.md``; the last of ``rounds`` is the present one, the others are its history.

    The first four lines are a contract: ``Work item:``, ``Repo:``, ``Branch:``, ``Stage:`` (inventory §2.1).
    """
    texts = _TEXTS[language]
    parts = [_header(assignment), f"# {_line(assignment.title)}"]
    if assignment.description.strip():
        description = assignment.description.strip()
        parts.append(description if closes_its_fences(description) else fenced(description))
    if governance:
        parts.append(_items(f"## {texts['rules']}", governance))
    if rounds:
        current, earlier = rounds[-1], rounds[:-1]
        standing = [Demand(Source.GOVERNANCE, text) for text in governance]
        standing += [demand for past in earlier for demand in _demands(past)]
        merged = merge(_demands(current), standing)
        parts += _present(current, merged, texts)
        parts += _past(earlier, texts)
    return "\n\n".join(parts) + "\n"


def _header(assignment: Assignment) -> str:
    return "\n".join(
        (
            f"Work item: {_line(assignment.work_item)}",
            f"Repo: {_line(assignment.repo)}",
            f"Branch: {_line(assignment.branch)}",
            f"Stage: {assignment.stage.value}",
        )
    )


def _demands(round_: Round) -> list[Demand]:
    source = source_of(round_.source_gate)
    return [Demand(source, text, round_.number) for text in round_.findings]


def _present(round_: Round, merged: Sequence[Merged], texts: Mapping[str, str]) -> list[str]:
    yielding = {
        demand.text for one in merged for demand in one.yielding if demand.round_number == round_.number
    }
    must = [text for text in round_.findings if text not in yielding]
    parts = [
        "## " + texts["round"].format(number=round_.number, cap=MAX_DEVELOPER_RETRIES),
        _told("refused", round_, texts),
    ]
    if must:
        parts.append(_items(f"### {texts['must']}", must))
    if merged:
        parts.append(f"### {texts['merged']}")
        parts += [_instruction(one, texts) for one in merged]
    if round_.optional:
        parts.append(_items(f"### {texts['optional']}", round_.optional))
    if round_.link:
        parts.append(texts["full"].format(link=_line(round_.link)))
    return parts


def _instruction(merged: Merged, texts: Mapping[str, str]) -> str:
    subjects = ", ".join(f"`{subject}`" for subject in merged.subjects)
    blocks = [texts["lead"].format(subjects=subjects, source=texts[merged.leading.source])]
    blocks.append(_item(merged.leading.text))
    for demand in merged.yielding:
        blocks.append(texts["yield"].format(source=texts[demand.source]))
        blocks.append(_item(demand.text))
    return "\n\n".join(blocks)


def _past(rounds: Sequence[Round], texts: Mapping[str, str]) -> list[str]:
    if not rounds:
        return []
    blocks = [f"## {texts['history']}"]
    for round_ in rounds:
        lines = [_told("past", round_, texts)]
        lines += [f"- {_brief(text)}" for text in round_.findings if text.strip()]
        if round_.link:
            lines.append("- " + texts["full"].format(link=_line(round_.link)))
        blocks.append("\n".join(lines))
    return blocks


def _told(key: str, round_: Round, texts: Mapping[str, str]) -> str:
    source = texts[source_of(round_.source_gate)]
    return texts[key].format(
        number=round_.number, gate=str(round_.source_gate), source=source, reason=_line(round_.reason)
    )


def _items(heading: str, texts: Iterable[str]) -> str:
    return "\n".join([heading, "", *(_item(text) for text in texts)])


def _item(text: str) -> str:
    """A demand word for word: as an item of a list where it fits in, else as a block of its own."""
    return f"- {text}" if fits_in_list(text) else fenced(text)


def _brief(text: str) -> str:
    """The first line of a demand, enough to recognise it."""
    line = _line(text.strip().split("\n", 1)[0])
    return line if len(line) <= _BRIEF else line[: _BRIEF - 1] + "…"


def _line(text: str) -> str:
    return " ".join(text.split())
