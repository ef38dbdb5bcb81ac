"""Reading an artifact for a gate: committed, of this item and this visit, untouched since (product §4)."""

from dataclasses import dataclass
from typing import Final

from orchestrator.gates.answers import call_a_person, failed
from orchestrator.gates.tools import GateTools
from orchestrator.pipeline.artifacts import Producer, artifact_path
from orchestrator.pipeline.machine_keys import KeyFailed, KeyPassed, KeyUnclear, Reader
from orchestrator.pipeline.verdicts import Evidence, Failed, FailureClass, Inconclusive
from orchestrator.plumbing.documents import Document, parse_document
from orchestrator.ports.gate import Question
from orchestrator.ports.workspace import Blob

DETERMINISTIC: Final = frozenset({Producer.TEST_RUNNER, Producer.STAGING_RUNNER, Producer.DEPLOY_FINALIZER})
"""Producers whose own artifact alone counts (product §4 'Forged verdicts')."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """An artifact that this visit's work delivered."""

    path: str
    blob: Blob
    document: Document
    producer: str

    def evidence(self, detail: str = "") -> Evidence:
        """What a verdict that rests on this artifact points to."""
        return Evidence(source=self.path, producer=self.producer, blob=self.blob.id, detail=detail)


@dataclass(frozen=True, slots=True)
class Answered:
    """A delivered artifact whose machine key says yes or no."""

    artifact: Delivered
    key: KeyPassed | KeyFailed


async def read_key(
    question: Question, tools: GateTools, number: str, reader: Reader
) -> Answered | Failed | Inconclusive:
    """What the machine key of the item's artifact ``number`` says.

    Inconclusive when the file does not count; failed, but not by the code, when the producer could not judge
    and its defer budget is spent (ORCH-110).
    """
    if question.work.tool_error:
        source = Evidence(source=artifact_path(question.item.id, number), producer=question.work.producer)
        reason = question.work.tool_error
        return failed(question, reason, evidence=source, failure=FailureClass.ENVIRONMENT)
    found = await read_delivered(question, tools, number)
    if isinstance(found, Inconclusive):
        return found
    key = reader(found.document.meta, found.document.problems)
    if isinstance(key, KeyUnclear):
        return call_a_person(f"{found.path}: {key.reason}")
    return Answered(found, key)


async def read_delivered(question: Question, tools: GateTools, number: str) -> Delivered | Inconclusive:
    """The item's artifact ``number`` at its head, if this visit's work is what wrote it."""
    path = artifact_path(question.item.id, number)
    project = question.item.project
    at_head = await tools.workspace.read(project, question.head.commit, path)
    blob = at_head or await _merged_by_itself(question, tools, path)
    if isinstance(blob, Inconclusive):
        return blob
    document = parse_document(blob.text())
    doubt = await _doubt(question, tools, path, at_head) or _content_doubt(question, document)
    if doubt is not None:
        return call_a_person(f"{path} {doubt}")
    return Delivered(path, blob, document, question.work.producer)


async def _doubt(question: Question, tools: GateTools, path: str, blob: Blob | None) -> str | None:
    """Why a file that is there does not come from this visit's work.

    A deterministic producer writes its file in every visit, so the blob it left is proof enough; an agent
    that wrote nothing leaves an old file behind, and an old review must never count for new code.
    """
    work = question.work
    if blob is None:
        return None
    if work.ordered_at is None or work.delivered is None:
        return "cannot be matched with work: the job does not say what it delivered"
    left = await tools.workspace.read(question.item.project, work.delivered, path)
    if left is None or left.id != blob.id:
        return f"is not what {work.producer} left at {work.delivered[:12]}"
    if work.producer in DETERMINISTIC:
        return None
    before = await tools.workspace.read(question.item.project, work.ordered_at, path)
    if before is None or before.id != left.id:
        return None
    if path not in await tools.workspace.changed(question.item.project, work.ordered_at, work.delivered):
        return f"was not written by this visit's work of {work.producer}"
    return None


async def _merged_by_itself(question: Question, tools: GateTools, path: str) -> Blob | Inconclusive:
    """A log that an agent merged to the base branch instead (inventory §4.3).

    It counts only when it is newer than the merge of the item: that is the one commit of the base of which
    it is known that it was there before this visit.
    """
    absent = call_a_person(f"{path} is not in {question.head.commit[:12]}")
    if question.work.producer in DETERMINISTIC:
        return absent
    project, merged = question.item.project, question.item.merged
    base = await tools.workspace.base_head(question.branch)
    blob = await tools.workspace.read(project, base, path)
    if blob is None:
        return absent
    if merged is None:
        return call_a_person(
            f"{path} is on {question.branch.base} only, and nothing shows that this visit wrote it"
        )
    before = await tools.workspace.read(project, merged, path)
    if before is not None and before.id == blob.id:
        return call_a_person(f"{path} on {question.branch.base} is older than this visit")
    return blob


def _content_doubt(question: Question, document: Document) -> str | None:
    if document.problems:
        return f"cannot be relied on: {'; '.join(document.problems)}"
    named = document.meta.get("work_item")
    if named is not None and named != question.item.id:
        return f"is about {str(named)[:60]!r}, not {question.item.id}"
    producer, author = question.work.producer, document.meta.get("author_agent")
    if producer in DETERMINISTIC and author != producer:
        return f"says it was written by {str(author)[:60]!r}, not by {producer}"
    return None
