"""The contract's tests on the head, as a verdict: shared by the gates that run them."""

from orchestrator.config.contract import Suite
from orchestrator.delivery.retest import Order, Purpose, SuiteAnswer
from orchestrator.gates.answers import failed, passed, quoted_tail
from orchestrator.gates.tools import GateTools
from orchestrator.pipeline.verdicts import Evidence, Inconclusive, Verdict
from orchestrator.ports.gate import Question


async def judge(question: Question, tools: GateTools, suite: Suite) -> Verdict:
    """Run ``suite`` in a clean checkout of the head; green passes, red fails, else it is asked again."""
    order = Order(
        project=question.item.project,
        work_item=question.item.id,
        commit=question.head.commit,
        suite=suite,
        purpose=Purpose.LOCAL,
    )
    result = await tools.suite.run(order)
    evidence = Evidence(source="contract test", producer="local suite", detail=result.reason)
    match result.answer:
        case SuiteAnswer.GREEN:
            return passed(question, evidence)
        case SuiteAnswer.RED:
            reason = f"the tests are {result.reason}"
            return failed(question, reason, findings=(quoted_tail(result.tail),), evidence=evidence)
        case SuiteAnswer.NOT_RUN:
            return Inconclusive(f"the tests did not run: {result.reason}", tools.limits.infra_delay)
