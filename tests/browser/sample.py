"""A day in an installation, told to the store: what the browser tests and the screenshots look at."""

from datetime import timedelta

from orchestrator.pipeline.gates import GateName
from orchestrator.pipeline.stages import Stage
from orchestrator.pipeline.verdicts import FailureClass, WaitsFor
from orchestrator.ports.agent import Usage
from tests.unit.web.house import House
from tests.unit.web.stories import Story
from tests.unit.web.transcripts import DEVELOPING

MIN = timedelta(minutes=1)

BRD = """---
work_item: {id}
stage: analysis
author_agent: analyst
status: ready
created_at: 2026-03-02
model_used: claude-opus-4
---
# Business requirements

Customers ask for **refunds by line**: today a refund is always for the whole order.

## Goals

- Support can refund one or more lines of an order.
- The customer sees which lines were refunded, and when.

## Out of scope

| Topic | Why |
|---|---|
| Partial quantities | rare: 0.3 % of the requests of last quarter |
| Currency conversion | handled by the payment provider |
"""
TRZ = """---
work_item: {id}
stage: analysis
author_agent: analyst
status: ready
created_at: 2026-03-02
model_used: claude-opus-4
---
# Technical specification

1. `POST /orders/<id>/refunds` takes `lines: [line_id]`.
2. The sum is computed from the stored prices, never from the request.
3. Repeating a request with the same `Idempotency-Key` answers the same refund.

```python
refund = orders.refund(order_id, lines=["l-1", "l-3"], key="7f2e")
assert refund.amount == Decimal("41.90")
```
"""
CRITERIA = """---
work_item: {id}
stage: analysis
author_agent: analyst
status: ready
created_at: 2026-03-02
model_used: claude-opus-4
---
# Acceptance criteria

- **AC-1** A refund of two lines of an order of five credits exactly their prices.
- **AC-2** A line is refunded at most once; the second request is answered with 409.
- **AC-3** The order's page lists each refunded line with date and amount.
"""
PLAN = """cases:
  - id: TC-1
    covers: [AC-1]
    kind: unit
  - id: TC-2
    covers: [AC-2]
    kind: api
"""
REVIEW = """---
work_item: {id}
stage: review
author_agent: reviewer
status: ready
created_at: 2026-03-02
model_used: claude-opus-4
verdict: {verdict}
---
# Review

{text}
"""
ADR = """---
work_item: {id}
stage: architecture
author_agent: architect
status: accepted
created_at: 2026-03-02
model_used: claude-opus-4
---
# One retry budget for all clients

A shared budget keeps a failing provider from being asked by every client at once.
"""


def analysis(item_id: str) -> dict[str, str]:
    """The four documents of an analysis."""
    texts = {"01-brd.md": BRD, "02-trz.md": TRZ, "03-acceptance-criteria.md": CRITERIA}
    return {name: text.replace("{id}", item_id) for name, text in texts.items()} | {"04-test-plan.yaml": PLAN}


async def through_analysis(story: Story) -> None:
    """From created into architecture."""
    await story.pass_time(0.1 * MIN)
    await story.advance(Stage.ANALYSIS)
    await story.work(
        3 * MIN, files=analysis(story.id), summary="four documents", usage=Usage(41_200, 6_300, 0.42)
    )
    await story.passed(GateName.ANALYSIS_COMPLETE, "01 to 04 are there and complete", "01-brd.md")
    await story.unclear(GateName.ANALYSIS_APPROVED, "approve or reject the analysis", WaitsFor.PERSON)
    await story.pass_time(4 * MIN)
    await story.passed(GateName.ANALYSIS_APPROVED, "approved by anna")
    await story.advance(Stage.ARCHITECTURE, by="anna")


async def through_architecture(story: Story) -> None:
    """Into development."""
    files = {
        "06-adr/ADR-001.md": ADR.replace("{id}", story.id),
        "10-tech-risks.md": "# Risks\n\nNone above P3.\n",
    }
    await story.work(
        2 * MIN, files=files, summary="one decision, no risk above P3", usage=Usage(28_000, 3_100, 0.27)
    )
    await story.passed(
        GateName.ARCHITECTURE_DONE, "ADR-001 and 10-tech-risks.md are there", "06-adr/ADR-001.md"
    )
    await story.advance(Stage.DEVELOPMENT)


async def through_development(story: Story, change: str) -> None:
    """Into review."""
    usage = Usage(182_000, 21_400, 1.86)
    await story.work(
        6 * MIN, files={f"/src/{change}.py": f"# {change}\n"}, summary="pushed 3 commits", usage=usage
    )
    await story.unclear(GateName.CI_GREEN, "2 of 3 checks are pending", times=4)
    await story.passed(GateName.CI_GREEN, "3 checks are green", "ci/test, ci/lint, ci/types")
    await story.advance(Stage.REVIEW, evidence={"check_ci_green": "passed: 3 checks are green"})


FINDING = (
    "P1 src/budget.py:48 The budget is shared between threads without a lock: two clients may both take the "
    "last retry.\nUse the lock of the pool, or count atomically."
)


async def reviewed_twice(house: House) -> Story:
    """An item that came back from review once and is being tested now."""
    story = await Story.begin(
        house,
        "Give all payment clients one retry budget",
        started=45 * MIN,
        description="Last Tuesday three clients retried at once and took the provider down.",
        labels=["payments"],
    )
    await through_analysis(story)
    await through_architecture(story)
    await through_development(story, "budget")
    text = f"## P1\n\n- {FINDING}\n\n## P3\n\n- name the fixture after what it holds"
    report = REVIEW.replace("{id}", story.id)
    asked = {"12-review.md": report.replace("{verdict}", "REQUEST_CHANGES").replace("{text}", text)}
    usage = Usage(96_000, 5_200, 0.71)
    await story.work(4 * MIN, files=asked, summary="one P1, one P3", usage=usage, verdict="REQUEST_CHANGES")
    reason = "verdict REQUEST_CHANGES: 1 blocking finding"
    await story.failed(GateName.REVIEWER_VERDICT, reason, [FINDING], "12-review.md")
    await story.send_back(
        GateName.REVIEWER_VERDICT, reason, [FINDING], f"docs/work-items/{story.id}/12-review.md"
    )
    await through_development(story, "budget_lock")
    granted = {
        "12-review.md": report.replace("{verdict}", "APPROVED").replace("{text}", "The lock is there.")
    }
    await story.work(
        3 * MIN, files=granted, summary="no findings", usage=Usage(88_000, 2_900, 0.58), verdict="APPROVED"
    )
    await story.passed(GateName.REVIEWER_VERDICT, "verdict APPROVED", "12-review.md")
    await story.tell(lambda tx: tx.items.note_pull_request(story.item.task_id, 31))
    await story.advance(Stage.TESTING, evidence={"check_reviewer_verdict": "passed: verdict APPROVED"})
    return story


async def in_testing(house: House) -> Story:
    """The same, with the tests running."""
    story = await reviewed_twice(house)
    job = await story.order("test-runner")
    log = "$ pytest -q\n" + "".join(f"tests/test_budget.py::test_case_{n} PASSED\n" for n in range(1, 9))
    await story.start_run(job, log, model="")
    return story


async def awaiting_approval(house: House) -> Story:
    """An analysis that a person has to look at."""
    story = await Story.begin(house, "Refund single lines of an order", project="shop", started=26 * MIN)
    await story.advance(Stage.ANALYSIS)
    usage = Usage(52_000, 7_900, 0.55)
    await story.work(4 * MIN, files=analysis(story.id), summary="four documents", usage=usage)
    await story.passed(GateName.ANALYSIS_COMPLETE, "01 to 04 are there and complete", "01-brd.md")
    await story.unclear(GateName.ANALYSIS_APPROVED, "approve or reject the analysis", WaitsFor.PERSON)
    return story


async def awaiting_confirm(house: House) -> Story:
    """A merged item whose deploy has to be confirmed."""
    story = await Story.begin(
        house, "Show the delivery window at checkout", project="shop", started=190 * MIN
    )
    await through_analysis(story)
    await through_architecture(story)
    await through_development(story, "window")
    await story.advance(Stage.TESTING)
    await story.advance(Stage.DEPLOY_STAGING)
    await story.merge()
    await story.pass_time(140 * MIN)
    await story.advance(Stage.DEPLOY)
    return story


async def on_hold(house: House) -> Story:
    """A bug whose rounds are spent."""
    story = await Story.begin(
        house, "Totals differ by one cent after a discount", labels=["Bug"], started=300 * MIN
    )
    await story.advance(Stage.ANALYSIS)
    await story.work(3 * MIN, files=analysis(story.id), summary="four documents")
    await story.advance(Stage.DEVELOPMENT)
    await through_development(story, "cents")
    await story.hold(
        "no progress: the findings are the same as in round 2; check_reviewer_verdict: rounding is by line",
        FailureClass.CODE,
    )
    return story


async def finished(house: House, title: str, started: timedelta, project: str = "sample") -> Story:
    """An item that is done."""
    story = await Story.begin(house, title, started=started, project=project)
    await through_analysis(story)
    await through_architecture(story)
    await through_development(story, "done")
    for stage in (Stage.TESTING, Stage.DEPLOY_STAGING, Stage.DEPLOY):
        await story.pass_time(2 * MIN)
        await story.advance(stage)
    await story.merge()
    await story.pass_time(3 * MIN)
    await story.advance(Stage.DONE)
    return story


async def developing_on(house: House, project: str) -> Story:
    """An item whose agent is writing code right now."""
    story = await Story.begin(
        house, "Export invoices as CSV for the tax office", project=project, started=14 * MIN
    )
    await through_analysis(story)
    await through_architecture(story)
    job = await story.order()
    await story.start_run(job, DEVELOPING)
    return story


async def fill(house: House) -> dict[str, Story]:
    """The whole day, by name."""
    day = {"done": await finished(house, "Log in with a passkey", 600 * MIN)}
    day["done too"] = await finished(
        house, "Retry failed webhooks with a growing pause", 400 * MIN, "billing"
    )
    day["stopped"] = await Story.begin(house, "Move the blog to another host", started=380 * MIN)
    await house.services.desk.stop(day["stopped"].id, by="anna", reason="nobody reads it")
    day["hold"] = await on_hold(house)
    day["confirm"] = await awaiting_confirm(house)
    day["testing"] = await in_testing(house)
    day["approval"] = await awaiting_approval(house)
    day["developing"] = await developing_on(house, "billing")
    day["queued"] = await Story.begin(
        house, "Write amounts in words on printed receipts", project="billing", started=9 * MIN
    )
    day["blocked"] = await Story.begin(
        house,
        "Alert when the retry budget is spent",
        started=3 * MIN,
        blocked_by=[day["testing"].id],
    )
    return day
