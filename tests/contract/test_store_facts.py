"""Facts about items: what is read is what was stored, each kind oldest first."""

import itertools
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.errors import Conflict
from orchestrator.pipeline.gates import GateName
from orchestrator.pipeline.ids import CodeId, Commit, Epoch
from orchestrator.pipeline.items import Approval, ApprovalKind, Hold
from orchestrator.pipeline.rounds import Round
from orchestrator.pipeline.stages import Role, Stage
from orchestrator.pipeline.verdicts import Evidence, Failed, FailureClass, Inconclusive, Passed, WaitsFor
from orchestrator.ports.store import TransitionRow, VerdictRow
from tests.unit.store import rigs

TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40)
ANY_TEXT = st.text(max_size=40)
IDS = st.text("0123456789abcdef", min_size=40, max_size=40)
EVIDENCE = st.builds(Evidence, source=ANY_TEXT, producer=ANY_TEXT, blob=ANY_TEXT, detail=ANY_TEXT)
CODES, COMMITS = IDS.map(CodeId), IDS.map(Commit)
VERDICTS = st.one_of(
    st.builds(Passed, code=CODES, commit=COMMITS, evidence=EVIDENCE),
    st.builds(
        Failed,
        code=CODES,
        commit=COMMITS,
        reason=TEXT,
        findings=st.lists(ANY_TEXT, max_size=4).map(tuple),
        evidence=EVIDENCE,
        failure=st.sampled_from(FailureClass),
    ),
    st.builds(
        Inconclusive,
        reason=TEXT,
        retry_after=st.none() | st.timedeltas(timedelta(days=-400), timedelta(days=40000)),
        waits_for=st.sampled_from(WaitsFor),
        failure=st.sampled_from(FailureClass),
    ),
)
ROWS = st.builds(
    VerdictRow,
    gate=st.sampled_from(GateName),
    verdict=VERDICTS,
    epoch=st.integers(1, 9).map(Epoch),
    stage=st.sampled_from(Stage),
    at=st.datetimes(timezones=st.just(UTC)),
)
NUMBERS = itertools.count(1)
CODE, COMMIT = CodeId("d" * 40), Commit("c" * 40)
HOLD = Hold("no progress", rigs.START, "an operator", FailureClass.CODE)


@pytest.fixture(params=rigs.DATABASES)
def rig(request, tmp_path):
    with rigs.opened(request.param, tmp_path) as rig:
        yield rig


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(rows=st.lists(ROWS, max_size=5))
async def test_verdicts_are_read_as_they_were_given(rig, rows):
    item = await rig.item(next(NUMBERS))

    def store(tx):
        for row in rows:
            tx.facts.add_verdict(item.task_id, row)
        return tx.facts.verdicts(item.task_id)

    assert await rig.store.transact(store) == rows


async def test_verdicts_of_one_epoch_can_be_asked_for(rig):
    item = await rig.item()
    answers = [_verdict(epoch) for epoch in (1, 2, 1)]

    def store(tx):
        for row in answers:
            tx.facts.add_verdict(item.task_id, row)
        return tx.facts.verdicts(item.task_id, Epoch(1)), tx.facts.verdicts(item.task_id)

    assert await rig.store.transact(store) == ([answers[0], answers[2]], answers)


async def test_instants_of_any_zone_are_the_same_instant_in_utc(rig):
    item = await rig.item()
    moscow = datetime(2026, 3, 1, 15, 0, 0, 7, tzinfo=timezone(timedelta(hours=3)))
    await rig.store.transact(lambda tx: tx.facts.add_verdict(item.task_id, _verdict(1, at=moscow)))
    (row,) = await rig.store.transact(lambda tx: tx.facts.verdicts(item.task_id))
    assert (row.at, row.at.utcoffset()) == (moscow, timedelta())


async def test_an_instant_without_a_zone_is_a_mistake(rig):
    item = await rig.item()
    with pytest.raises(Exception, match="has no time zone"):
        await rig.store.transact(
            lambda tx: tx.facts.add_verdict(item.task_id, _verdict(1, at=rigs.START.replace(tzinfo=None)))
        )


async def test_facts_about_nobody_conflict(rig):
    with pytest.raises(Conflict):
        await rig.store.transact(lambda tx: tx.facts.add_verdict(rigs.NOBODY, _verdict(1)))


async def test_rounds_are_read_as_they_were_given(rig):
    item = await rig.item()
    given_rounds = [
        Round(1, GateName.CI_GREEN, Role.DEVELOPER, "red"),
        Round(
            2,
            GateName.REVIEWER_VERDICT,
            Role.DEVELOPER,
            "REQUEST_CHANGES",
            findings=("P1: `total` lies\n  by one", "P0: нет"),
            optional=("P3: a nit",),
            link="docs/work-items/ORCH-1/12-review.md",
            code=CODE,
            fingerprint="f" * 64,
            spent=False,
        ),
    ]

    def store(tx):
        for round_ in given_rounds:
            tx.facts.add_round(item.task_id, round_)
        return tx.facts.rounds(item.task_id)

    assert await rig.store.transact(store) == given_rounds


async def test_a_second_hold_for_the_same_reason_changes_nothing(rig):
    item = await rig.item()
    later = Hold(HOLD.reason, rigs.START + timedelta(hours=1), "nobody")

    def store(tx):
        tx.facts.put_on_hold(item.task_id, HOLD)
        tx.facts.put_on_hold(item.task_id, later)
        return tx.facts.hold(item.task_id)

    assert await rig.store.transact(store) == HOLD


async def test_a_hold_for_another_reason_takes_the_place_of_the_first(rig):
    item = await rig.item()
    other = Hold("a person stopped it", rigs.START, "that person")

    def store(tx):
        tx.facts.put_on_hold(item.task_id, HOLD)
        tx.facts.put_on_hold(item.task_id, other)
        return tx.facts.hold(item.task_id)

    assert await rig.store.transact(store) == other


async def test_a_hold_is_released_once_and_can_be_opened_again(rig):
    item = await rig.item()

    def store(tx):
        tx.facts.put_on_hold(item.task_id, HOLD)
        released = [tx.facts.release_hold(item.task_id, by="ann") for _ in range(2)]
        gone = tx.facts.hold(item.task_id)
        tx.facts.put_on_hold(item.task_id, HOLD)
        return released, gone, tx.facts.hold(item.task_id)

    assert await rig.store.transact(store) == ([True, False], None, HOLD)


async def test_approvals_are_read_as_they_were_given(rig):
    item = await rig.item()
    decisions = [
        Approval(ApprovalKind.ANALYSIS, "digest", False, "ann", rigs.START, "which total?"),
        Approval(ApprovalKind.DEPLOY, COMMIT, True, "ann", rigs.START),
    ]

    def store(tx):
        for decision in decisions:
            tx.facts.add_approval(item.task_id, decision)
        return tx.facts.approvals(item.task_id)

    assert await rig.store.transact(store) == decisions


async def test_transitions_are_read_as_they_were_given(rig):
    item = await rig.item()
    rows = [
        TransitionRow(rigs.START, Stage.CREATED, Stage.ANALYSIS, Epoch(1), "advance", "", "job 1", None),
        TransitionRow(
            rigs.START,
            Stage.ANALYSIS,
            Stage.DEVELOPMENT,
            Epoch(1),
            "advance",
            "ok",
            "job 2",
            COMMIT,
            {"gate": "x"},
        ),
    ]

    def store(tx):
        for row in rows:
            tx.facts.add_transition(item.task_id, row)
        return tx.facts.transitions(item.task_id)

    assert await rig.store.transact(store) == rows


async def test_lessons_are_listed_newest_first_with_their_item(rig):
    item = await rig.item()

    def store(tx):
        tx.facts.add_lesson(item.task_id, type="transient_retry", status="open", text="the first")
        tx.facts.add_lesson(None, type="other", status="open", text="the second")
        tx.facts.add_lesson(None, type="other", status="open", text="the third")
        return tx.facts.lessons(2), tx.facts.lessons()[-1]

    newest, oldest = await rig.store.transact(store)
    assert [lesson["text"] for lesson in newest] == ["the third", "the second"]
    assert (oldest["work_item"], oldest["type"], oldest["at"]) == ("ORCH-1", "transient_retry", rigs.START)


def _verdict(epoch, at=rigs.START):
    return VerdictRow(
        GateName.CI_GREEN,
        Passed(CODE, COMMIT, Evidence("commit status")),
        Epoch(epoch),
        Stage.DEVELOPMENT,
        at,
    )
