"""Exit of analysis, first half: the four documents are there and carry what every document carries."""

from orchestrator.gates.answers import call_a_person, passed
from orchestrator.gates.tools import GateTools
from orchestrator.pipeline.artifacts import Frontmatter, artifact, artifact_path, check_schema
from orchestrator.pipeline.stages import Stage
from orchestrator.pipeline.verdicts import Evidence, Verdict
from orchestrator.plumbing.documents import parse_document, parse_yaml_mapping
from orchestrator.ports.gate import Question
from orchestrator.ports.subjects import ANALYSIS_DOCUMENTS


async def check(question: Question, tools: GateTools) -> Verdict:
    """Pass when 01 to 04 are present, not empty, and without a fault in their 52c front matter."""
    problems: list[str] = []
    for number in ANALYSIS_DOCUMENTS:
        problems += await _problems(question, tools, number)
    if problems:
        return call_a_person("; ".join(problems))
    return passed(
        question,
        Evidence(
            source=artifact_path(question.item.id, "01"),
            producer=question.work.producer,
            detail="documents 01 to 04 are there",
        ),
    )


async def _problems(question: Question, tools: GateTools, number: str) -> list[str]:
    path = artifact_path(question.item.id, number)
    blob = await tools.workspace.read(question.item.project, question.head.commit, path)
    if blob is None:
        return [f"{path} is missing"]
    text = blob.text()
    if not text.strip():
        return [f"{path} is empty"]
    is_yaml = artifact(number).frontmatter is Frontmatter.WHOLE_FILE
    document = parse_yaml_mapping(text) if is_yaml else parse_document(text)
    if not is_yaml and not document.problems and not document.body.strip():
        return [f"{path} has no text"]
    faults = document.problems or check_schema(
        document.meta, work_item=question.item.id, stage=Stage.ANALYSIS
    )
    return [f"{path}: {fault}" for fault in faults]
