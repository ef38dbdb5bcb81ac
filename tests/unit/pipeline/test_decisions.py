"""The door opens on a full set of passes for the present code, and on nothing else: by enumeration."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import cast

import pytest

from orchestrator.pipeline.decisions import (
    Advance,
    Decision,
    Policy,
    PutOnHold,
    Rest,
    SendBack,
    StartWork,
    Wait,
    decide,
    is_work_current,
    mark_of,
    open_questions,
    rounds_since_grant,
)
from orchestrator.pipeline.demands import OPERATOR
from orchestrator.pipeline.gates import EXIT_GATES, GateName
from orchestrator.pipeline.ids import CodeId, Commit, Epoch, JobId, TaskId, WorkItemId
from orchestrator.pipeline.items import (
    Approval,
    ApprovalKind,
    Case,
    Hold,
    Queueing,
    Waiter,
    Work,
    WorkItem,
    WorkState,
)
from orchestrator.pipeline.rounds import Round
from orchestrator.pipeline.stages import TERMINAL, WORKING, Role, Stage, Track, next_stage, role_in
from orchestrator.pipeline.verdicts import (
    Evidence,
    Failed,
    FailureClass,
    Inconclusive,
    Passed,
    Verdict,
    WaitsFor,
)

NOW = datetime(2026, 1, 5, 9, tzinfo=UTC)
HEAD, MERGED = Commit("a" * 40), Commit("b" * 40)
HERE, ELSEWHERE = CodeId("code-here"), CodeId("code-elsewhere")
SEEN = Evidence(source="test")

PASSED = Passed(HERE, HEAD, SEEN)
FAILED = Failed(HERE, HEAD, "it is wrong", findings=("mend it",))
ANSWERS: tuple[Verdict | None, ...] = (
    PASSED,
    Passed(ELSEWHERE, HEAD, SEEN),
    FAILED,
    Failed(ELSEWHERE, HEAD, "it was wrong"),
    Inconclusive("the neighbour is away", timedelta(seconds=5)),
    None,
)
WORKS = (
    None,
    Work(JobId(1), WorkState.PENDING, "agent", code=HERE),
    Work(JobId(1), WorkState.FAILED, "agent", code=HERE),
    Work(JobId(1), WorkState.DONE, "agent", code=HERE),
    Work(JobId(1), WorkState.DONE, "agent", code=ELSEWHERE),
)
DONE_HERE = WORKS[3]
CONFIRMED = Approval(ApprovalKind.DEPLOY, MERGED, granted=True, by="ada", at=NOW)
HOLD = Hold("a person said so", NOW, "an operator")
KINDS = (StartWork, Wait, Advance, SendBack, PutOnHold, Rest)
ROADS = [(stage, track) for stage in WORKING for track in Track]
ORDER = list(Stage)


def item(stage: Stage, track: Track = Track.FULL) -> WorkItem:
    return WorkItem(
        task_id=TaskId(1),
        id=WorkItemId("SHOP-1"),
        project="shop",
        title="Count visits",
        description="",
        tracker_ref="SHOP-1",
        track=track,
        stage=stage,
        epoch=Epoch(1),
        branch="feature/SHOP-1-count-visits",
        base="main",
        created_at=NOW,
        entered_at=NOW,
        head=HEAD,
        code=HERE,
        merged=MERGED if stage is Stage.DEPLOY else None,
    )


def case(stage: Stage, track: Track = Track.FULL, **facts: object) -> Case:
    """A case whose work was delivered for the present code, and whose deploy a person confirmed."""
    usual: dict[str, object] = {"work": DONE_HERE, "approvals": (CONFIRMED,)}
    return Case(item(stage, track), **{**usual, **facts})  # type: ignore[arg-type]


def combinations(stage: Stage) -> Iterator[dict[GateName, Verdict]]:
    gates = EXIT_GATES[stage]
    for answers in product(ANSWERS, repeat=len(gates)):
        yield {gate: answer for gate, answer in zip(gates, answers, strict=True) if answer is not None}


def all_passed(stage: Stage) -> Mapping[GateName, Verdict]:
    return dict.fromkeys(EXIT_GATES[stage], PASSED)


def opened(decision: Decision, stage: Stage) -> bool:
    """Whether the item would get further than it is, by whichever decision."""
    match decision:
        case Advance():
            return True
        case SendBack(to=to):
            return ORDER.index(to) > ORDER.index(stage)
    return False


def rounds(count: int, **values: object) -> tuple[Round, ...]:
    """Spent developer rounds, each with other findings and for other code."""
    made = (
        Round(
            n,
            GateName.REVIEWER_VERDICT,
            Role.DEVELOPER,
            f"r{n}",
            code=CodeId(f"code-{n}"),
            fingerprint=f"f{n}",
        )
        for n in range(1, count + 1)
    )
    return tuple(replace(r, **values) for r in made)  # type: ignore[arg-type]


@pytest.mark.parametrize(("stage", "track"), ROADS)
def test_the_door_opens_on_a_full_set_of_current_passes_and_on_nothing_else(stage, track):
    for verdicts, work in product(combinations(stage), WORKS):
        decision = decide(case(stage, track, work=work, verdicts=verdicts))
        assert isinstance(decision, KINDS)
        complete = work is DONE_HERE and verdicts == all_passed(stage)
        assert isinstance(decision, Advance) == complete, (work, verdicts)
        if complete:
            assert decision == Advance(cast(Stage, next_stage(stage, track)), EXIT_GATES[stage])


@pytest.mark.parametrize("stage", WORKING)
def test_no_answer_but_a_full_set_of_passes_gets_an_item_any_further(stage):
    for verdicts, work in product(combinations(stage), WORKS):
        if verdicts != all_passed(stage):
            assert not opened(decide(case(stage, work=work, verdicts=verdicts)), stage), (work, verdicts)


@pytest.mark.parametrize("stage", WORKING)
def test_nothing_opens_while_a_person_holds_the_item(stage):
    for verdicts, work in product(combinations(stage), WORKS):
        decision = decide(case(stage, work=work, verdicts=verdicts, hold=HOLD))
        assert decision == Wait(HOLD.reason, Waiter.PERSON, who_can_unblock=HOLD.who_can_unblock)


@pytest.mark.parametrize("stage", WORKING)
def test_nothing_opens_for_an_item_whose_code_is_not_known(stage):
    nameless = cast(CodeId, None)
    works = (DONE_HERE, Work(JobId(1), WorkState.DONE, "agent"))
    verdicts_of_no_code = dict.fromkeys(EXIT_GATES[stage], Passed(nameless, HEAD, SEEN))
    for verdicts, work in product((*combinations(stage), verdicts_of_no_code), works):
        facts = case(stage, work=work, verdicts=verdicts)
        facts = replace(facts, item=replace(facts.item, code=None))
        decision = decide(facts)
        assert isinstance(decision, KINDS)
        assert not is_work_current(facts)
        assert open_questions(facts) == EXIT_GATES[stage]
        assert not opened(decision, stage), (work, verdicts)


@pytest.mark.parametrize("stage", WORKING)
def test_the_first_gate_that_did_not_pass_speaks(stage):
    for verdicts in combinations(stage):
        first = next((gate for gate in EXIT_GATES[stage] if verdicts.get(gate) != PASSED), None)
        decision = decide(case(stage, verdicts=verdicts))
        if isinstance(decision, Wait | SendBack | PutOnHold):
            assert decision.gate == first
        else:
            assert first is None


@pytest.mark.parametrize("stage", WORKING)
def test_open_questions_are_those_without_a_conclusive_answer_for_the_present_code(stage):
    for verdicts in combinations(stage):
        settled = {gate for gate, verdict in verdicts.items() if verdict in (PASSED, FAILED)}
        assert open_questions(case(stage, verdicts=verdicts)) == tuple(
            gate for gate in EXIT_GATES[stage] if gate not in settled
        )


def test_a_gate_that_has_not_answered_for_this_code_is_asked_again_after_a_pause():
    stale = (Passed(ELSEWHERE, HEAD, SEEN), Failed(ELSEWHERE, HEAD, "it was wrong"))
    for verdicts in ({}, *({GateName.CI_GREEN: answer} for answer in stale)):
        decision = decide(case(Stage.DEVELOPMENT, verdicts=verdicts))
        assert isinstance(decision, Wait)
        assert (decision.waiter, decision.retry_after) == (Waiter.TIME, timedelta(seconds=5))


@pytest.mark.parametrize("stage", TERMINAL)
def test_the_end_of_the_road_rests_whatever_is_known(stage):
    assert stage not in EXIT_GATES
    everything: dict[GateName, Verdict] = dict.fromkeys(GateName, PASSED)
    for work, hold in product(WORKS, (None, HOLD)):
        assert isinstance(decide(case(stage, work=work, verdicts=everything, hold=hold)), Rest)


@pytest.mark.parametrize(
    ("queueing", "waiter"),
    [
        (Queueing(frozen="release"), Waiter.PERSON),
        (Queueing(place_taken_by=WorkItemId("SHOP-0")), Waiter.ITEM),
        (Queueing(blocked_by=(WorkItemId("SHOP-0"),)), Waiter.ITEM),
    ],
)
def test_an_item_starts_only_when_nothing_keeps_it(queueing, waiter):
    everything: dict[GateName, Verdict] = dict.fromkeys(GateName, PASSED)
    decision = decide(case(Stage.CREATED, queueing=queueing, verdicts=everything))
    assert isinstance(decision, Wait)
    assert decision.waiter is waiter
    assert isinstance(decide(case(Stage.CREATED, hold=HOLD)), Wait)
    assert decide(case(Stage.CREATED, work=None)) == Advance(Stage.ANALYSIS)


@pytest.mark.parametrize("stage", [stage for stage in WORKING if stage is not Stage.DEPLOY])
def test_work_is_ordered_awaited_and_ordered_again_when_the_code_moved(stage):
    none, pending, failed, _, stale = (
        decide(case(stage, work=work, verdicts=all_passed(stage))) for work in WORKS
    )
    assert none == StartWork(cast(Role, role_in(stage)))
    assert isinstance(pending, Wait)
    assert pending.waiter is Waiter.WORK
    assert isinstance(failed, PutOnHold)
    assert isinstance(stale, StartWork)
    assert [is_work_current(case(stage, work=work)) for work in WORKS] == [False, False, False, True, False]


@pytest.mark.parametrize("failure", list(FailureClass))
def test_work_that_failed_calls_a_person_and_says_why(failure):
    work = Work(JobId(1), WorkState.FAILED, "agent", summary="the CLI is away", failure=failure)
    decision = decide(case(Stage.REVIEW, work=work))
    assert isinstance(decision, PutOnHold)
    assert (decision.reason, decision.failure) == ("the CLI is away", failure)


OTHER = Commit("c" * 40)


@pytest.mark.parametrize(
    "approvals",
    [
        (),
        (replace(CONFIRMED, subject=OTHER),),
        (replace(CONFIRMED, granted=False),),
        (replace(CONFIRMED, kind=ApprovalKind.ANALYSIS),),
        (CONFIRMED, replace(CONFIRMED, granted=False, at=NOW + timedelta(seconds=1))),
        (CONFIRMED, replace(CONFIRMED, granted=False)),
    ],
)
def test_production_changes_only_after_a_confirm_of_exactly_the_merged_commit(approvals):
    for work in WORKS:
        facts = case(Stage.DEPLOY, work=work, verdicts=all_passed(Stage.DEPLOY), approvals=approvals)
        decision = decide(facts)
        assert isinstance(decision, Wait)
        assert (decision.waiter, decision.gate) == (Waiter.PERSON, None)
        assert isinstance(decide(replace(facts, work=None), Policy(confirm_deploy=False)), StartWork)


def test_the_newest_decision_on_the_merged_commit_counts():
    refused = replace(CONFIRMED, granted=False, at=NOW - timedelta(hours=1))
    assert isinstance(decide(case(Stage.DEPLOY, work=None, approvals=(refused, CONFIRMED))), StartWork)
    facts = case(Stage.DEPLOY, approvals=(CONFIRMED, refused))
    assert facts.approval(ApprovalKind.DEPLOY, MERGED) == CONFIRMED


@pytest.mark.parametrize("policy", [Policy(), Policy(confirm_deploy=False)])
def test_an_item_in_deploy_without_a_merged_commit_is_held_as_a_bug(policy):
    facts = case(Stage.DEPLOY, verdicts=all_passed(Stage.DEPLOY))
    decision = decide(replace(facts, item=replace(facts.item, merged=None)), policy)
    assert isinstance(decision, PutOnHold)
    assert decision.failure is FailureClass.BUG


@pytest.mark.parametrize("stage", [stage for stage in WORKING if stage is not Stage.ANALYSIS])
@pytest.mark.parametrize("failure", [cause for cause in FailureClass if cause is not FailureClass.CODE])
def test_only_a_fault_of_the_code_spends_a_round(stage, failure):
    for gate in EXIT_GATES[stage]:
        passes = {**all_passed(stage), gate: replace(FAILED, failure=failure)}
        decision = decide(case(stage, verdicts=passes))
        assert isinstance(decision, PutOnHold)
        assert (decision.failure, decision.gate) == (failure, gate)


REFUSED: Mapping[GateName, Verdict] = {GateName.REVIEWER_VERDICT: FAILED}


def test_a_refusal_sends_back_until_the_cap_is_spent():
    for spent in range(3):
        decision = decide(case(Stage.REVIEW, verdicts=REFUSED, rounds=rounds(spent)))
        assert decision == SendBack(Stage.DEVELOPMENT, GateName.REVIEWER_VERDICT, FAILED)
    decision = decide(case(Stage.REVIEW, verdicts=REFUSED, rounds=rounds(3)))
    assert isinstance(decision, PutOnHold)
    assert decision.failure is FailureClass.CODE
    assert "3 of 3" in decision.reason


def test_the_cap_is_the_policys():
    facts = case(Stage.REVIEW, verdicts=REFUSED, rounds=rounds(1))
    assert isinstance(decide(facts, Policy(max_rounds=1)), PutOnHold)
    assert isinstance(decide(facts, Policy(max_rounds=2)), SendBack)


def test_rounds_that_were_not_spent_do_not_count():
    facts = case(Stage.REVIEW, verdicts=REFUSED, rounds=rounds(5, spent=False))
    assert isinstance(decide(facts), SendBack)
    assert rounds_since_grant(facts) == []


def test_a_persons_grant_gives_new_rounds():
    grant = Round(4, OPERATOR, Role.DEVELOPER, "granted", spent=False, code=HERE)
    spent = rounds(3)
    for extra in range(3):
        assert isinstance(
            decide(case(Stage.REVIEW, verdicts=REFUSED, rounds=(*spent, grant, *rounds(extra)))), SendBack
        )
    exhausted = case(Stage.REVIEW, verdicts=REFUSED, rounds=(*spent, grant, *spent))
    assert isinstance(decide(exhausted), PutOnHold)
    assert rounds_since_grant(exhausted) == list(spent)


@pytest.mark.parametrize("same", [{"code": HERE}, {"fingerprint": mark_of(FAILED)}])
def test_a_round_without_progress_is_not_repeated(same):
    decision = decide(case(Stage.REVIEW, verdicts=REFUSED, rounds=rounds(1, **same)))
    assert isinstance(decision, PutOnHold)
    assert (decision.failure, decision.gate) == (FailureClass.CODE, GateName.REVIEWER_VERDICT)
    assert "no progress" in decision.reason


def test_only_the_last_round_is_compared():
    repeated = (*rounds(1, fingerprint=mark_of(FAILED)), *rounds(1))
    assert isinstance(decide(case(Stage.REVIEW, verdicts=REFUSED, rounds=repeated)), SendBack)


def test_demands_without_findings_are_recognised_by_their_reason():
    bare = replace(FAILED, findings=())
    assert mark_of(bare) == mark_of(replace(FAILED, findings=(FAILED.reason,))) != mark_of(FAILED)


def test_a_rejected_analysis_is_written_again_and_costs_no_developer_round():
    verdicts = {GateName.ANALYSIS_COMPLETE: PASSED, GateName.ANALYSIS_APPROVED: FAILED}
    decision = decide(case(Stage.ANALYSIS, verdicts=verdicts, rounds=rounds(9)))
    assert decision == SendBack(Stage.ANALYSIS, GateName.ANALYSIS_APPROVED, FAILED, spent=False)


def doubt(unknown: Inconclusive, doubted_for: timedelta = timedelta()) -> Decision:
    return decide(case(Stage.REVIEW, verdicts={GateName.REVIEWER_VERDICT: unknown}, doubted_for=doubted_for))


def test_a_doubt_that_time_may_resolve_waits_and_says_how_long():
    decision = doubt(Inconclusive("no answer yet", timedelta(seconds=7)))
    assert isinstance(decision, Wait)
    assert (decision.waiter, decision.retry_after) == (Waiter.TIME, timedelta(seconds=7))
    assert "no answer yet" in decision.reason


def test_a_doubt_that_time_cannot_resolve_calls_a_person():
    decision = doubt(Inconclusive("the file is broken", None, failure=FailureClass.AGENT))
    assert isinstance(decision, PutOnHold)
    assert decision.failure is FailureClass.AGENT
    assert "the file is broken" in decision.reason


def test_patience_with_a_doubt_ends():
    unknown = Inconclusive("no answer yet", timedelta(seconds=7))
    assert isinstance(doubt(unknown, timedelta(hours=2)), Wait)
    decision = doubt(unknown, timedelta(hours=2, microseconds=1))
    assert isinstance(decision, PutOnHold)
    assert decision.failure is FailureClass.ENVIRONMENT


@pytest.mark.parametrize("retry_after", [None, timedelta(seconds=7)])
def test_a_doubt_that_a_person_resolves_waits_for_that_person_without_end(retry_after):
    unknown = Inconclusive("approval", retry_after, waits_for=WaitsFor.PERSON)
    decision = doubt(unknown, timedelta(days=9))
    assert isinstance(decision, Wait)
    assert (decision.waiter, decision.retry_after) == (Waiter.PERSON, None)
