"""What an agent finds in writing: its task, and the request that the analyst starts from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from orchestrator.delivery.governance import GOVERNED
from orchestrator.pipeline import rounds
from orchestrator.pipeline.artifacts import artifact_path
from orchestrator.pipeline.items import WorkItem
from orchestrator.pipeline.stages import Role, Stage, Track
from orchestrator.pipeline.untrusted import Provenance, fence, notice
from orchestrator.pipeline.wording import Language
from orchestrator.ports.producer import Assignment

_RULES: Final[Mapping[Language, Mapping[str, str]]] = {
    Language.EN: {
        "governed": "A change to {paths} waits for a person before the merge: leave them as they are unless "
        "the work item is about them.",
        "bug": "This work item is a bug: a regression test that fails without the repair and passes with it "
        "is part of the change.",
        "tests": "The tests of this repository are run with `{command}`; they decide, whatever is said.",
    },
    Language.RU: {
        "governed": "Изменение {paths} ждёт человека перед слиянием: не трогайте их, если задача не о них.",
        "bug": "Эта задача — дефект: тест, который без исправления падает, а с ним проходит, "
        "входит в изменение.",
        "tests": "Тесты этого репозитория запускает `{command}`; решают они, что бы ни говорилось.",
    },
}


_REQUEST: Final[Mapping[Language, Mapping[str, str]]] = {
    Language.EN: {
        "request": "Request for",
        "title": "title of the work item",
        "description": "description of the work item",
        "tracker": "the tracker, {ref}",
    },
    Language.RU: {
        "request": "Запрос на",
        "title": "название задачи",
        "description": "описание задачи",
        "tracker": "трекер, {ref}",
    },
}


@dataclass(frozen=True, slots=True)
class Paper:
    """What one run's papers are written with: the number of fences, the language, the remarks of people."""

    nonce: str
    language: Language = Language.EN
    remarks: tuple[rounds.Remark, ...] = ()


def papers(assignment: Assignment, paper: Paper) -> dict[str, bytes]:
    """What is written into the workspace before the run, by path from its root; the task is the last one."""
    texts: dict[str, str] = {}
    if assignment.stage is Stage.ANALYSIS:
        texts[artifact_path(assignment.item.id, "00")] = request_text(assignment.item, paper)
    texts[rounds.task_file_name(assignment.role)] = task_text(assignment, paper)
    return {path: text.encode("utf-8", "replace") for path, text in texts.items()}


def task_text(assignment: Assignment, paper: Paper) -> str:
    """The text of ``.task-<role>.md``: what is wanted, what was demanded before, and the contract's rules."""
    item = assignment.item
    order = rounds.Assignment(
        work_item=item.id,
        repo=item.project,
        branch=assignment.branch.name,
        stage=assignment.stage,
        title=item.title,
        description=item.description,
        author=item.author,
        ref=item.tracker_ref,
        filed_at=item.created_at,
        remarks=paper.remarks,
    )
    mine = [past for past in assignment.rounds if past.role is assignment.role]
    return rounds.compose_task(
        order,
        mine,
        nonce=paper.nonce,
        language=paper.language,
        governance=_rules(assignment, paper.language),
    )


def request_text(item: WorkItem, paper: Paper) -> str:
    """The text of ``00-business-request.md`` (inventory §5): no front matter, no judgement.

    Title and description are their author's words, and stand in fences.
    """
    words = _REQUEST[paper.language]
    origin = words["tracker"].format(ref=item.tracker_ref)

    def quoted(text: str, what: str) -> str:
        source = Provenance(words[what], item.author, origin, item.created_at)
        return fence(text.strip(), paper.nonce, source, paper.language)

    return (
        "\n\n".join(
            (
                f"# {words['request']} {item.id}",
                f"Work Item ID: {item.id}",
                notice(paper.nonce, paper.language),
                quoted(item.title, "title"),
                "## Description",
                quoted(item.description, "description") if item.description.strip() else "TBD",
            )
        )
        + "\n"
    )


def _rules(assignment: Assignment, language: Language) -> tuple[str, ...]:
    """The rules that stand above every demand; most of them bind whoever changes code."""
    texts, contract = _RULES[language], assignment.contract
    bug = [texts["bug"]] if assignment.item.track is Track.BUG else []
    if assignment.role is not Role.DEVELOPER:
        return tuple(bug)
    protected = contract.protected_paths if contract is not None else ()
    paths = ", ".join(f"`{path}`" for path in dict.fromkeys((*GOVERNED, *protected)))
    rules = [*bug, texts["governed"].format(paths=paths)]
    if contract is not None and contract.test is not None:
        rules.append(texts["tests"].format(command=contract.test.run))
    return tuple(rules)
