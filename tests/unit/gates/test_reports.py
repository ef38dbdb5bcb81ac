"""The gates that read a machine key: absent, stale, forged and unclear reports never count."""

from dataclasses import replace

import pytest

from orchestrator.gates import bind
from orchestrator.pipeline.gates import GateName
from orchestrator.pipeline.stages import Stage
from orchestrator.pipeline.verdicts import Failed, FailureClass, Inconclusive, Passed
from tests.unit.gates.fakes import DOCS, document, make_bench

REVIEW, TESTS, STAGING, DEPLOY = (
    GateName.REVIEWER_VERDICT,
    GateName.TESTS_PASSED,
    GateName.STAGING_STATUS,
    GateName.DEPLOY_STATUS,
)
STAGED = "staging:\n  check: 'true'\n"
GOOD = {
    REVIEW: ("12-review.md", {"verdict": "APPROVED"}, "reviewer"),
    TESTS: ("13-test-report.md", {"result": "PASS"}, "tester"),
    STAGING: ("15-staging-log.md", {"staging_status": "SUCCESS"}, "deployer"),
    DEPLOY: ("14-deploy-log.md", {"deploy_status": "SUCCESS"}, "deployer"),
}
BAD = {
    REVIEW: {"verdict": "REQUEST_CHANGES"},
    TESTS: {"result": "FAIL"},
    STAGING: {"staging_status": "FAILED"},
    DEPLOY: {"deploy_status": "FAILED"},
}
RUNNERS = {TESTS: "test-runner", STAGING: "staging-runner", DEPLOY: "deploy-finalizer"}


def prepare(bench, gate, *, values=None, body="Text\n", producer=None, **meta):
    """The stage's work delivers the gate's report."""
    name, good, agent = GOOD[gate]
    bench.declare(STAGED)
    bench.producer = producer or agent
    text = document(body, author_agent=bench.producer, **{**(good if values is None else values), **meta})
    bench.deliver({name: text})
    return f"{DOCS}/{name}"


def held(verdict) -> str:
    assert isinstance(verdict, Inconclusive)
    assert verdict.retry_after is None
    return verdict.reason


@pytest.mark.parametrize("gate", GOOD)
async def test_a_good_report_of_this_visit_passes_with_its_blob_as_evidence(bench, gate):
    path = prepare(bench, gate)
    question = await bench.question()
    verdict = await bench.ask(gate)
    assert isinstance(verdict, Passed)
    blob = await bench.workspace.read("tally", question.head.commit, path)
    assert (verdict.evidence.source, verdict.evidence.blob) == (path, blob.id)
    assert (verdict.commit, verdict.code) == (question.head.commit, question.head.code)


@pytest.mark.parametrize("gate", GOOD)
async def test_a_bad_report_fails_by_the_code(bench, gate):
    path = prepare(bench, gate, values=BAD[gate])
    verdict = await bench.ask(gate)
    assert isinstance(verdict, Failed)
    assert verdict.failure is FailureClass.CODE
    assert verdict.evidence.source == path


@pytest.mark.parametrize("gate", GOOD)
async def test_an_absent_report_never_counts(bench, gate):
    bench.declare(STAGED)
    bench.producer = GOOD[gate][2]
    bench.deliver({"notes.md": "done, all fine"})
    assert GOOD[gate][0] in held(await bench.ask(gate))


@pytest.mark.parametrize("gate", GOOD)
async def test_a_report_of_an_earlier_visit_never_counts(bench, gate):
    prepare(bench, gate)
    bench.deliver({"notes.md": "nothing to add"})
    assert "was not written by this visit" in held(await bench.ask(gate))


@pytest.mark.parametrize("gate", GOOD)
async def test_a_report_that_was_changed_after_delivery_never_counts(bench, gate):
    _, good, agent = GOOD[gate]
    path = prepare(bench, gate, values=BAD[gate])
    bench.workspace.push({path: document(author_agent=agent, **good)})
    assert f"is not what {agent} left" in held(await bench.ask(gate))


@pytest.mark.parametrize("gate", GOOD)
async def test_a_report_about_another_item_never_counts(bench, gate):
    prepare(bench, gate, work_item="ORCH-8")
    assert "is about 'ORCH-8'" in held(await bench.ask(gate))


@pytest.mark.parametrize("gate", GOOD)
async def test_prose_without_a_front_matter_never_counts(bench, gate):
    path = prepare(bench, gate)
    bench.deliver({path.removeprefix(f"{DOCS}/"): "APPROVED, PASS, SUCCESS\n"})
    assert "no frontmatter" in held(await bench.ask(gate))


@pytest.mark.parametrize("gate", GOOD)
async def test_two_values_for_one_key_never_count(bench, gate):
    key = next(iter(GOOD[gate][1]))
    prepare(bench, gate, values={**GOOD[gate][1], "other": f"x\n{key}: {BAD[gate][key]}"})
    assert "two values for one key" in held(await bench.ask(gate))


@pytest.mark.parametrize("gate", GOOD)
async def test_an_unknown_word_never_counts(bench, gate):
    key = next(iter(GOOD[gate][1]))
    prepare(bench, gate, values={key: "perhaps"})
    assert "perhaps" in held(await bench.ask(gate)).lower()


@pytest.mark.parametrize("gate", RUNNERS)
async def test_the_report_of_a_deterministic_producer_passes(bench, gate):
    prepare(bench, gate, producer=RUNNERS[gate])
    verdict = await bench.ask(gate)
    assert isinstance(verdict, Passed)
    assert verdict.evidence.producer == RUNNERS[gate]


@pytest.mark.parametrize("gate", RUNNERS)
async def test_a_forged_report_in_place_of_a_producers_never_counts(bench, gate):
    name, good, agent = GOOD[gate]
    prepare(bench, gate, producer=RUNNERS[gate])
    bench.deliver({name: document("I ran it.\n", author_agent=agent, **good)})
    assert f"not by {RUNNERS[gate]}" in held(await bench.ask(gate))


@pytest.mark.parametrize("gate", RUNNERS)
async def test_a_forged_report_that_calls_itself_the_producer_never_counts(bench, gate):
    path = prepare(bench, gate, producer=RUNNERS[gate], values=BAD[gate])
    bench.workspace.push({path: document(author_agent=RUNNERS[gate], **GOOD[gate][1])})
    assert f"is not what {RUNNERS[gate]} left" in held(await bench.ask(gate))


@pytest.mark.parametrize("gate", RUNNERS)
async def test_a_producer_that_could_not_judge_fails_closed_and_blames_no_code(bench, gate):
    prepare(bench, gate, producer=RUNNERS[gate])
    bench.tool_error = "pytest could not be started, 2 of 2 retries spent"
    verdict = await bench.ask(gate)
    assert isinstance(verdict, Failed)
    assert (verdict.failure, verdict.reason) == (FailureClass.ENVIRONMENT, bench.tool_error)


async def test_work_that_does_not_say_what_it_delivered_never_counts(bench):
    prepare(bench, REVIEW)
    question = await bench.question()
    question = replace(question, work=replace(question.work, delivered=None))
    assert "does not say what it delivered" in held(await bind(bench.tools)[REVIEW](question))


FINDINGS = """## Findings
### P0 — Blocker
- The key is logged.
### P1 — Must fix
- None
### P2 — Should fix
- A shorter name.
"""


@pytest.mark.parametrize(
    ("word", "said"),
    [("REQUEST_CHANGES", "requests changes: 1 P0/P1"), ("APPROVED", "APPROVED, yet 1 P0/P1")],
)
async def test_blocking_findings_go_back_verbatim_whatever_the_verdict_says(bench, word, said):
    prepare(bench, REVIEW, values={"verdict": word}, body=FINDINGS)
    verdict = await bench.ask(REVIEW)
    assert isinstance(verdict, Failed)
    assert said in verdict.reason
    assert (verdict.findings, verdict.optional) == (("The key is logged.",), ("A shorter name.",))


async def test_an_approval_with_advice_only_passes(bench):
    prepare(bench, REVIEW, body="## Findings\n### P2 — Should fix\n- A shorter name.\n")
    assert isinstance(await bench.ask(REVIEW), Passed)


async def test_failing_tests_go_back_with_the_end_of_their_output(bench):
    body = "## Вывод pytest\n```\nFAILED tests/test_count.py::test_two\n```\n"
    prepare(bench, TESTS, values={"result": "FAIL"}, body=body)
    verdict = await bench.ask(TESTS)
    assert isinstance(verdict, Failed)
    assert verdict.findings == ("FAILED tests/test_count.py::test_two",)


@pytest.mark.parametrize("gate", [STAGING, DEPLOY])
async def test_a_failed_log_goes_back_as_the_finding(bench, gate):
    prepare(bench, gate, values=BAD[gate], body="health answered 500\n")
    verdict = await bench.ask(gate)
    assert isinstance(verdict, Failed)
    assert verdict.findings == ("```\nhealth answered 500\n```",)


@pytest.mark.parametrize("text", [None, "test:\n  run: 'true'\n"])
async def test_a_repository_without_staging_has_no_staging_to_answer_for(bench, text):
    if text is not None:
        bench.declare(text)
    verdict = await bench.ask(STAGING)
    assert isinstance(verdict, Passed)
    assert verdict.evidence.detail == "Staging gate N/A"


async def test_the_orchestrators_own_repository_always_answers_for_staging(tmp_path):
    bench = make_bench(tmp_path, self_hosting=True)
    assert "15-staging-log.md" in held(await bench.ask(STAGING))


@pytest.mark.parametrize(
    ("merged_first", "written_after", "passes"),
    [(True, True, True), (True, False, False), (False, True, False)],
)
async def test_a_log_merged_to_the_base_counts_only_when_it_is_newer_than_the_merge(
    bench, merged_first, written_after, passes
):
    bench.producer = "deployer"
    log = {f"{DOCS}/14-deploy-log.md": document(deploy_status="SUCCESS")}
    if not written_after:
        bench.workspace.push(log, "main")
    merged = bench.workspace.heads["main"] if merged_first else None
    bench.store.item = replace(bench.store.item, stage=Stage.DEPLOY, merged=merged)
    if written_after:
        bench.workspace.push(log, "main")
    assert isinstance(await bench.ask(DEPLOY), Passed if passes else Inconclusive)


async def test_a_log_on_the_base_is_no_log_of_a_deterministic_producer(bench):
    bench.producer = "deploy-finalizer"
    bench.store.item = replace(bench.store.item, stage=Stage.DEPLOY, merged=bench.workspace.heads["main"])
    log = document(deploy_status="SUCCESS", author_agent="deploy-finalizer")
    bench.workspace.push({f"{DOCS}/14-deploy-log.md": log}, "main")
    assert "is not in" in held(await bench.ask(DEPLOY))
