"""Second edge gate: the branch stands on its base, and its tests are green there (ORCH-043, ORCH-110)."""

from datetime import timedelta

from orchestrator.config.contract import Suite
from orchestrator.delivery.governance import governed_paths
from orchestrator.delivery.retest import Order, Purpose, SuiteAnswer, SuiteResult
from orchestrator.errors import Conflict
from orchestrator.gates.answers import SOON, call_a_person, failed, passed, quoted_tail, wait_for_a_person
from orchestrator.gates.tools import GateTools, Scope
from orchestrator.pipeline.gates import GateName
from orchestrator.pipeline.ids import Commit
from orchestrator.pipeline.verdicts import Evidence, FailureClass, Inconclusive, Passed, Verdict
from orchestrator.ports.forge import PullRequest, PullState
from orchestrator.ports.gate import Question
from orchestrator.ports.workspace import RebaseConflict


async def check(question: Question, tools: GateTools) -> Verdict:
    """Catch up with the base under the merge lease, and pass when the result is tested.

    The lease is kept on a pass and on a rebase, for the merge that follows; whoever else waits longer than
    that, a person above all, waits without it (product §4 'Merge').
    """
    number = question.item.pull_request
    if number is None:
        return Inconclusive("the pull request is not there yet", SOON)
    try:
        await tools.merging.take(question.item)
    except Conflict as error:
        return Inconclusive(f"the merge lease is held: {error}", SOON)
    keeps_lease = False
    try:
        verdict = await _under_lease(question, tools, number)
        keeps_lease = isinstance(verdict, Passed) or _asks_at_once(verdict)
        return verdict
    finally:
        if not keeps_lease:
            await tools.merging.let_go(question.item)


def _asks_at_once(verdict: Verdict) -> bool:
    return isinstance(verdict, Inconclusive) and verdict.retry_after == timedelta()


async def _under_lease(question: Question, tools: GateTools, number: int) -> Verdict:
    await tools.workspace.refresh(question.item.project)
    pull = await tools.forge.pull_request(question.item.project, number)
    merged = await tools.merging.merged_as(pull, question.branch, question.head)
    if merged is not None:
        return await _merged_already(question, tools, merged)
    doubt = _doubt(question, pull)
    if doubt is not None:
        return doubt
    base = await tools.workspace.base_head(question.branch)
    if not await tools.workspace.contains(question.item.project, base, question.head.commit):
        return await _catch_up(question, tools, base)
    governed = await _governed(question, tools, base)
    if governed:
        return wait_for_a_person(
            f"governance change: {', '.join(governed)}; a person reviews and merges pull request {number}"
        )
    return await _tested(question, tools, base)


async def _merged_already(question: Question, tools: GateTools, merged: Commit) -> Verdict:
    fault = await tools.merging.fault(question.branch, question.head, merged)
    if fault is not None:
        return call_a_person(fault, FailureClass.ENVIRONMENT)
    return passed(question, _evidence(f"merged already as {merged}"))


def _doubt(question: Question, pull: PullRequest) -> Inconclusive | None:
    """Why this pull request is not one to be merged now."""
    name = f"pull request {pull.number}"
    if pull.state is PullState.CLOSED:
        return call_a_person(f"{name} is closed: open it again", FailureClass.ENVIRONMENT)
    if pull.state is PullState.MERGED:
        return call_a_person(f"{name} was merged with another head, {pull.head}", FailureClass.ENVIRONMENT)
    if pull.base != question.branch.base:
        return call_a_person(f"{name} goes into {pull.base}, not {question.branch.base}")
    if pull.head != question.head.commit:
        return Inconclusive(f"{name} has head {pull.head[:12]}, not {question.head.commit[:12]}", SOON)
    return None


async def _catch_up(question: Question, tools: GateTools, base: Commit) -> Verdict:
    """Rebase the branch; the base is never moved, and every gate of the edge answers again."""
    result = await tools.workspace.rebase(question.branch, expected=question.head.commit)
    onto = f"{question.branch.base} ({base[:12]})"
    if isinstance(result, RebaseConflict):
        paths = ", ".join(result.paths)
        finding = f"Merge `origin/{question.branch.base}` or rebase onto it, and resolve: {paths}"
        reason = f"the branch conflicts with {question.branch.base} in {paths}"
        return failed(question, reason, findings=(finding,), evidence=_evidence(f"rebase onto {onto}"))
    return Inconclusive(f"rebased onto {onto}; every gate of this edge answers again", timedelta())


async def _governed(question: Question, tools: GateTools, base: Commit) -> tuple[str, ...]:
    if question.item.project in tools.limits.governance_allowed:
        return ()
    changed = await tools.workspace.changed(question.item.project, base, question.head.commit)
    return governed_paths(changed, question.contract)


async def _tested(question: Question, tools: GateTools, base: Commit) -> Verdict:
    """The tests of the stage before count when they were for this very code; else they are run again."""
    tested = question.earlier.get(GateName.TESTS_PASSED)
    if isinstance(tested, Passed) and tested.code == question.head.code:
        return passed(question, _evidence(f"on top of {base[:12]}; tested as {tested.evidence.source}"))
    if not tools.limits.scopes.get(GateName.BRANCH_MERGEABLE, Scope()).enabled:
        return passed(question, _evidence(f"on top of {base[:12]}; the re-test is switched off"))
    suite = question.contract.test if question.contract is not None else None
    if suite is None:
        return call_a_person(
            "this code was not tested, and the contract has no section test to do it",
            FailureClass.ENVIRONMENT,
        )
    order = _order(question, suite, question.head.commit, Purpose.MERGE)
    result = await tools.suite.run(order)
    match result.answer:
        case SuiteAnswer.GREEN:
            return passed(question, _evidence(f"on top of {base[:12]}; re-test {result.reason}"))
        case SuiteAnswer.NOT_RUN:
            return Inconclusive(f"the re-test did not run: {result.reason}", tools.limits.infra_delay)
        case SuiteAnswer.RED:
            return await _red(question, tools, order, result, base=base)


async def _red(
    question: Question, tools: GateTools, order: Order, result: SuiteResult, *, base: Commit
) -> Verdict:
    """Before the branch is blamed the suite runs on the base: a red base is not the branch's fault."""
    on_base = _order(question, order.suite, base, Purpose.BASE)
    known = await tools.suite.run(on_base)
    match known.answer:
        case SuiteAnswer.GREEN:
            reason = f"the re-test on top of {base[:12]} is {result.reason}"
            return failed(question, reason, findings=(quoted_tail(result.tail),), evidence=_evidence(reason))
        case SuiteAnswer.NOT_RUN:
            return Inconclusive(
                f"the re-test of the base did not run: {known.reason}", tools.limits.infra_delay
            )
        case SuiteAnswer.RED:
            # Neither answer says anything about the branch, so both are asked again.
            tools.suite.forget(order)
            tools.suite.forget(on_base)
            return Inconclusive(
                f"the base {base[:12]} is red itself: {known.reason}",
                tools.limits.base_red_delay,
                failure=FailureClass.BASE_RED,
            )


def _order(question: Question, suite: Suite, commit: Commit, purpose: Purpose) -> Order:
    return Order(
        project=question.item.project,
        work_item=question.item.id,
        commit=commit,
        suite=suite,
        purpose=purpose,
    )


def _evidence(detail: str) -> Evidence:
    return Evidence(source="merge gate", producer="merge gate", detail=detail)
