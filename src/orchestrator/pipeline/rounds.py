"""Rounds: what was demanded of a role before, and the text of its next assignment (ORCH-046 A, B and C)."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from orchestrator.pipeline.demands import Demand, Merged, Source, merge, source_of
from orchestrator.pipeline.gates import GateName
from orchestrator.pipeline.ids import CodeId, WorkItemId
from orchestrator.pipeline.markdown import fenced, fits_in_list
from orchestrator.pipeline.stages import Role, Stage
from orchestrator.pipeline.untrusted import Provenance, fence, notice
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
class Remark:
    """What a person said with a decision."""

    by: str
    text: str
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a role is asked to do, and where; ``author`` filed it at ``filed_at``, as ``ref`` in the tracker.

    ``remarks`` are what people said with the decisions that let the item come this far.
    """

    work_item: WorkItemId
    repo: str
    branch: str
    stage: Stage
    title: str
    description: str = ""
    author: str = ""
    ref: str = ""
    filed_at: datetime | None = None
    remarks: tuple[Remark, ...] = ()


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
        "language": "Write your documents in English; machine keys and their values stay as they are.",
        "wanted": "What is wanted",
        "title": "title of the work item",
        "description": "description of the work item",
        "tracker": "the tracker, {ref}",
        "remarks": "What people said with their decisions",
        "remark": "comment with an approval",
        "round": "Round {number} of {cap}",
        "refused": "Sent back by `{gate}` ({source}).",
        "reason": "why it was sent back, round {number}",
        "rules": "Rules that stand above every demand",
        "must": "Must fix",
        "demands": "demands in their order, round {number}",
        "merged": "Contradictory demands, merged into one instruction",
        "demand": "one demand, round {number}",
        "lead": "About {subjects}: this demand of {source} holds:",
        "yield": "Meet this demand of {source} only as far as the one above allows, or write down why not:",
        "optional": "Optional (P2, P3)",
        "advice": "advice, round {number}",
        "full": "Full context: `{link}`",
        "history": "Earlier rounds: already tried, do not repeat",
        "past": "Round {number}, `{gate}` ({source}):",
        "tried": "what was demanded in round {number}, shortened",
        "governance": "the rules of the project",
        "person": "a person",
        "reviewer": "the reviewer",
        "tester": "the tests",
        "pipeline": "the pipeline",
    },
    Language.RU: {
        "language": "Документы пишите по-русски; машинные ключи и их значения остаются как есть.",
        "wanted": "Что нужно",
        "title": "название задачи",
        "description": "описание задачи",
        "tracker": "трекер, {ref}",
        "remarks": "Что люди сказали вместе с решениями",
        "remark": "комментарий к одобрению",
        "round": "Раунд {number} из {cap}",
        "refused": "Вернул `{gate}` ({source}).",
        "reason": "почему вернули, раунд {number}",
        "rules": "Правила, которые выше любых требований",
        "must": "Обязательно исправить",
        "demands": "требования по порядку, раунд {number}",
        "merged": "Противоречивые требования, сведённые в одно указание",
        "demand": "одно требование, раунд {number}",
        "lead": "О {subjects}: действует это требование ({source}):",
        "yield": "Требование ниже ({source}) выполнить, насколько позволяет верхнее, иначе объяснить:",
        "optional": "По желанию (P2, P3)",
        "advice": "советы, раунд {number}",
        "full": "Полный контекст: `{link}`",
        "history": "Прошлые раунды: это уже пробовали, не повторять",
        "past": "Раунд {number}, `{gate}` ({source}):",
        "tried": "что требовалось в раунде {number}, кратко",
        "governance": "правила проекта",
        "person": "человек",
        "reviewer": "рецензент",
        "tester": "тесты",
        "pipeline": "конвейер",
    },
}

_BRIEF: Final = 200
"""Characters of an old demand that are repeated in the history."""

_SUBJECT: Final = re.compile(r"[\w./-]{1,80}")
"""What may be named outside a fence: one word that looks like a path or an identifier."""


@dataclass(frozen=True, slots=True)
class _Voice:
    """How a task is told: the words of its language, and fences with the number of this run."""

    language: Language
    nonce: str

    def say(self, key: str, **values: object) -> str:
        return _TEXTS[self.language][key].format(**values)

    def quote(self, text: str, source: Provenance) -> str:
        return fence(text, self.nonce, source, self.language)

    def source(self, round_: Round) -> str:
        return self.say(source_of(round_.source_gate))

    def told(self, round_: Round, key: str) -> Provenance:
        """The source of what a round says: whoever refused, in the report that it links to."""
        what = self.say(key, number=round_.number)
        return Provenance(what, author=self.source(round_), origin=round_.link or str(round_.source_gate))


def compose_task(
    assignment: Assignment,
    rounds: Sequence[Round] = (),
    *,
    nonce: str,
    language: Language = Language.EN,
    governance: Sequence[str] = (),
) -> str:
    """The text of ``.task-<role>.md``; the last of ``rounds`` is the present one, the others are its history.

    The first four lines are a contract: ``Work item:``, ``Repo:``, ``Branch:``, ``Stage:`` (inventory §2.1).
    Whatever people, models or tools wrote stands in fences that carry ``nonce`` (`untrusted.fence`).
    """
    voice = _Voice(language, nonce)
    parts = [_header(assignment), notice(nonce, language), voice.say("language")]
    parts += _wanted(assignment, voice)
    if governance:
        parts.append(_items(f"## {voice.say('rules')}", governance))
    if rounds:
        current, earlier = rounds[-1], rounds[:-1]
        standing = [Demand(Source.GOVERNANCE, text) for text in governance]
        standing += [demand for past in earlier for demand in _demands(past)]
        merged = merge(_demands(current), standing)
        parts += _present(current, merged, voice)
        parts += _past(earlier, voice)
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


def _wanted(assignment: Assignment, voice: _Voice) -> list[str]:
    """Title and description in their author's words, and what people said since."""
    parts = [f"## {voice.say('wanted')}"]
    for key, text in (("title", assignment.title), ("description", assignment.description)):
        if text.strip():
            origin = voice.say("tracker", ref=assignment.ref) if assignment.ref else ""
            source = Provenance(voice.say(key), assignment.author, origin, assignment.filed_at)
            parts.append(voice.quote(text.strip(), source))
    if assignment.remarks:
        parts.append(f"## {voice.say('remarks')}")
    for remark in assignment.remarks:
        parts.append(voice.quote(remark.text, Provenance(voice.say("remark"), remark.by, at=remark.at)))
    return parts


def _demands(round_: Round) -> list[Demand]:
    source = source_of(round_.source_gate)
    return [Demand(source, text, round_.number) for text in round_.findings]


def _present(round_: Round, merged: Sequence[Merged], voice: _Voice) -> list[str]:
    yielding = {
        demand.text for one in merged for demand in one.yielding if demand.round_number == round_.number
    }
    must = [text for text in round_.findings if text not in yielding]
    parts = [
        "## " + voice.say("round", number=round_.number, cap=MAX_DEVELOPER_RETRIES),
        voice.say("refused", gate=_line(str(round_.source_gate)), source=voice.source(round_)),
    ]
    if round_.reason.strip() and round_.reason not in round_.findings:
        parts.append(voice.quote(round_.reason, voice.told(round_, "reason")))
    if must:
        parts += [f"### {voice.say('must')}", voice.quote(_list(must), voice.told(round_, "demands"))]
    if merged:
        parts.append(f"### {voice.say('merged')}")
        parts += [_instruction(one, voice) for one in merged]
    if round_.optional:
        advice = voice.quote(_list(round_.optional), voice.told(round_, "advice"))
        parts += [f"### {voice.say('optional')}", advice]
    if round_.link:
        parts.append(voice.say("full", link=_line(round_.link)))
    return parts


def _instruction(merged: Merged, voice: _Voice) -> str:
    subjects = ", ".join(f"`{subject}`" for subject in merged.subjects if _SUBJECT.fullmatch(subject)) or "…"
    blocks = [voice.say("lead", subjects=subjects, source=voice.say(merged.leading.source))]
    blocks.append(_quoted(merged.leading, voice))
    for demand in merged.yielding:
        blocks.append(voice.say("yield", source=voice.say(demand.source)))
        blocks.append(_quoted(demand, voice))
    return "\n\n".join(blocks)


def _quoted(demand: Demand, voice: _Voice) -> str:
    """A rule of the project as it is; what anybody else demands in a fence."""
    if demand.source is Source.GOVERNANCE:
        return _item(demand.text)
    what = voice.say("demand", number=demand.round_number)
    return voice.quote(_item(demand.text), Provenance(what, author=voice.say(demand.source)))


def _past(rounds: Sequence[Round], voice: _Voice) -> list[str]:
    if not rounds:
        return []
    blocks = [f"## {voice.say('history')}"]
    for round_ in rounds:
        gate, source = _line(str(round_.source_gate)), voice.source(round_)
        blocks.append(voice.say("past", number=round_.number, gate=gate, source=source))
        said = [_line(round_.reason), *(f"- {_brief(text)}" for text in round_.findings if text.strip())]
        blocks.append(voice.quote("\n".join(said), voice.told(round_, "tried")))
        if round_.link:
            blocks.append(voice.say("full", link=_line(round_.link)))
    return blocks


def _items(heading: str, texts: Iterable[str]) -> str:
    return f"{heading}\n\n{_list(texts)}"


def _list(texts: Iterable[str]) -> str:
    return "\n".join(_item(text) for text in texts)


def _item(text: str) -> str:
    """A demand word for word: as an item of a list where it fits in, else as a block of its own."""
    return f"- {text}" if fits_in_list(text) else fenced(text)


def _brief(text: str) -> str:
    """The first line of a demand, enough to recognise it."""
    line = _line(text.strip().split("\n", 1)[0])
    return line if len(line) <= _BRIEF else line[: _BRIEF - 1] + "…"


def _line(text: str) -> str:
    return " ".join(text.split())
