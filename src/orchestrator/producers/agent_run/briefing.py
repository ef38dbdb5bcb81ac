"""What an agent finds in writing: its task, and the request that the analyst starts from."""

from collections.abc import Mapping
from typing import Final

from orchestrator.config.contract import Contract
from orchestrator.delivery.governance import GOVERNED
from orchestrator.pipeline import rounds
from orchestrator.pipeline.artifacts import artifact_path
from orchestrator.pipeline.items import WorkItem
from orchestrator.pipeline.stages import Role, Stage
from orchestrator.pipeline.wording import Language
from orchestrator.ports.producer import Assignment

_RULES: Final[Mapping[Language, Mapping[str, str]]] = {
    Language.EN: {
        "governed": "A change to {paths} waits for a person before the merge: leave them as they are unless "
        "the work item is about them.",
        "tests": "The tests of this repository are run with `{command}`; they decide, whatever is said.",
    },
    Language.RU: {
        "governed": "Изменение {paths} ждёт человека перед слиянием: не трогайте их, если задача не о них.",
        "tests": "Тесты этого репозитория запускает `{command}`; решают они, что бы ни говорилось.",
    },
}


def papers(assignment: Assignment, language: Language) -> dict[str, bytes]:
    """What is written into the workspace before the run, by path from its root; the task is the last one."""
    texts: dict[str, str] = {}
    if assignment.stage is Stage.ANALYSIS:
        texts[artifact_path(assignment.item.id, "00")] = request_text(assignment.item)
    texts[rounds.task_file_name(assignment.role)] = task_text(assignment, language=language)
    return {path: text.encode("utf-8", "replace") for path, text in texts.items()}


def task_text(assignment: Assignment, *, language: Language) -> str:
    """The text of ``.task-<role>.md``: what is wanted, what was demanded before, and the contract's rules."""
    item = assignment.item
    order = rounds.Assignment(
        work_item=item.id,
        repo=item.project,
        branch=assignment.branch.name,
        stage=assignment.stage,
        title=item.title,
        description=item.description,
    )
    mine = [past for past in assignment.rounds if past.role is assignment.role]
    return rounds.compose_task(
        order, mine, language=language, governance=_rules(assignment.role, assignment.contract, language)
    )


def request_text(item: WorkItem) -> str:
    """The text of ``00-business-request.md`` (inventory §5): no front matter, no judgement."""
    title = " ".join(item.title.split())
    description = item.description.strip() or "TBD"
    return f"# {title}\n\nWork Item ID: {item.id}\n\n## Description\n\n{description}\n"


def _rules(role: Role, contract: Contract | None, language: Language) -> tuple[str, ...]:
    """The rules that stand above every demand; they bind whoever changes code."""
    if role is not Role.DEVELOPER:
        return ()
    texts = _RULES[language]
    protected = contract.protected_paths if contract is not None else ()
    paths = ", ".join(f"`{path}`" for path in dict.fromkeys((*GOVERNED, *protected)))
    rules = [texts["governed"].format(paths=paths)]
    if contract is not None and contract.test is not None:
        rules.append(texts["tests"].format(command=contract.test.run))
    return tuple(rules)
