"""Exit of architecture: at least one decision record was written for this item."""

from orchestrator.gates.answers import call_a_person, counted, passed
from orchestrator.gates.tools import GateTools
from orchestrator.pipeline.artifacts import artifact, artifact_dir
from orchestrator.pipeline.verdicts import Evidence, Verdict
from orchestrator.plumbing.documents import parse_document
from orchestrator.ports.gate import Question


async def check(question: Question, tools: GateTools) -> Verdict:
    """Pass when ``06-adr/`` holds a readable record of this item; 07 and 08 are the architect's choice."""
    project, commit, item = question.item.project, question.head.commit, question.item.id
    prefix = f"{artifact_dir(item)}/"
    paths = [
        path
        for path in await tools.workspace.paths(project, commit, f"{prefix}06-adr")
        if artifact("06").matches(path.removeprefix(prefix))
    ]
    problems: list[str] = []
    for path in paths:
        blob = await tools.workspace.read(project, commit, path)
        document = parse_document(blob.text() if blob is not None else "")
        if document.problems:
            problems.append(f"{path}: {'; '.join(document.problems)}")
        elif document.meta.get("work_item") != item or not document.body.strip():
            problems.append(f"{path} is not a decision about {item}")
        elif blob is not None:
            return passed(
                question,
                Evidence(
                    source=path,
                    producer=question.work.producer,
                    blob=blob.id,
                    detail=counted(len(paths), "decision record"),
                ),
            )
    return call_a_person("; ".join(problems) or f"{prefix}{artifact('06').name}: there is none")
