"""What people say on the board is carried out once, also when no message told of it (F-2, ORCH-053)."""

from datetime import timedelta

import pytest

from orchestrator.engine.tracker_poll import TrackerPoll
from orchestrator.errors import Unavailable
from orchestrator.pipeline.gates import GateName
from orchestrator.pipeline.items import ApprovalKind
from orchestrator.pipeline.stages import Role, Stage, Track
from orchestrator.ports.producer import Produced
from orchestrator.ports.queue import JobKind, JobStatus
from orchestrator.ports.tracker import TrackerState
from orchestrator.ports.workspace import Author
from orchestrator.testing import failing, passing
from tests.unit.engine.bench import PROJECT, approval_gate, waits_at

REF = "SHOP-1"
CURSOR = f"tracker-cursor:{PROJECT}"
SECOND = timedelta(seconds=1)


@pytest.fixture
def poll(engine):
    return polling(engine)


def polling(engine):
    return TrackerPoll(
        tracker=engine.tracker, store=engine.store, intake=engine.intake, desk=engine.desk,
        projects=engine.projects,
    )  # fmt: skip


async def file(engine, title="Count visits", **form):
    return await engine.tracker.file(PROJECT, title, author="ada", **form)


def moved(engine, state, ref=REF):
    """A person puts the ticket into another state, a little after what was before."""
    engine.clock.advance(SECOND)
    engine.tracker.move(ref, state)


async def edited(engine, *, title="Count visits", description="", ref=REF):
    engine.clock.advance(SECOND)
    await engine.tracker.edit(ref, title=title, description=description, by="ada")


async def shown(engine, ref=REF):
    return (await engine.tracker.ticket(ref)).state


async def events(engine):
    """What was asked for through the tracker, oldest first."""
    stored = await engine.store.transact(lambda tx: tx.events.recent())
    return [event.kind for event in reversed(stored) if event.source == "tracker"]


async def known(engine):
    return [item.id for item in await engine.store.transact(lambda tx: tx.items.open(PROJECT))]


async def settled(engine, poll):
    """What the board says is read, what it means is done, and what we wrote is read again."""
    new = await poll.poll()
    await engine.settle()
    assert await poll.poll() == 0
    return new


@pytest.fixture
async def analysed(engine, poll):
    """An item whose analysis waits for a person, and the board says so."""
    engine.gates.always(GateName.ANALYSIS_APPROVED, approval_gate(engine.workspace))
    waits_at(engine, GateName.ARCHITECTURE_DONE)
    await file(engine)
    assert await settled(engine, poll) == 1
    assert await shown(engine) is TrackerState.NEEDS_APPROVAL
    return await engine.item()


def says_how_many(engine):
    """The analyst's next work is another document."""

    async def work(assignment):
        tree = await engine.workspace.check_out(assignment.branch, assignment.started_at)
        document = tree / "docs" / "work-items" / REF / "01-brd.md"
        document.parent.mkdir(parents=True, exist_ok=True)
        document.write_text("three times\n")
        delivered = await engine.workspace.save(
            assignment.branch, author=Author("analyst", "analyst@localhost"), message="Say how many",
            started_at=assignment.started_at, epoch=assignment.item.epoch,
        )  # fmt: skip
        return Produced(delivered)

    engine.producer.then(work)


async def awaiting(engine, poll):
    """An item whose deployment waits for a person, and the board says so."""
    waits_at(engine, GateName.DEPLOY_STATUS)
    item = await engine.placed(Stage.DEPLOY_STAGING)
    await engine.door.look(item.task_id, "test")
    await engine.settle()
    assert await poll.poll() == 0
    assert await shown(engine) is TrackerState.AWAITING_CONFIRM
    return await engine.item()


# Starting.


async def test_a_ticket_in_todo_is_started_once(engine, poll):
    await file(engine, description="Twice", labels=["Bug"])
    assert await poll.poll() == 1
    item = await engine.item()
    assert (item.title, item.description, item.labels) == ("Count visits", "Twice", ("Bug",))
    assert (item.stage, item.tracker_ref) == (Stage.CREATED, REF)
    assert await poll.poll() == 0
    assert await events(engine) == ["StartItem"]


async def test_a_ticket_is_started_when_it_comes_to_todo_and_not_before(engine, poll):
    await file(engine, state=TrackerState.BACKLOG)
    for state in TrackerState:
        if state is not TrackerState.TODO:
            moved(engine, state)
            assert await poll.poll() == 0
    assert await known(engine) == []
    moved(engine, TrackerState.TODO)
    assert await poll.poll() == 1
    assert await known(engine) == [REF]


async def test_an_item_that_was_filed_at_the_desk_is_not_started_again(engine, poll):
    await engine.start()
    assert await poll.poll() == 0
    assert await events(engine) == []


async def test_tickets_of_every_project_are_looked_at(engine, poll):
    await file(engine)
    await file(engine, "Count sales")
    assert await poll.poll() == 2
    assert await known(engine) == ["SHOP-1", "SHOP-2"]


# Gestures.


async def test_an_approval_on_the_board_lets_the_analysis_go_on(engine, poll, analysed):
    moved(engine, TrackerState.APPROVED)
    assert await settled(engine, poll) == 1
    case = await engine.case()
    assert case.item.stage is Stage.ARCHITECTURE
    subject = await engine.desk.analysis_subject(analysed)
    approval = case.approval(ApprovalKind.ANALYSIS, subject)
    assert (approval.granted, approval.by) == (True, "tracker user")
    assert await shown(engine) is TrackerState.IN_PROGRESS
    assert await events(engine) == ["StartItem", "DecideAnalysis"]


async def test_a_rejection_on_the_board_sends_the_analysis_back(engine, poll, analysed):
    says_how_many(engine)
    moved(engine, TrackerState.REJECTED)
    assert await settled(engine, poll) == 1
    case = await engine.case()
    assert (case.item.stage, case.item.epoch) == (Stage.ANALYSIS, 2)
    assert [round_.role for round_ in case.rounds] == [Role.ANALYST]
    assert await shown(engine) is TrackerState.NEEDS_APPROVAL


async def test_an_approval_after_a_rejection_is_a_gesture_of_its_own(engine, poll, analysed):
    says_how_many(engine)
    moved(engine, TrackerState.REJECTED)
    assert await settled(engine, poll) == 1
    moved(engine, TrackerState.APPROVED)
    assert await settled(engine, poll) == 1
    assert (await engine.item()).stage is Stage.ARCHITECTURE
    assert await events(engine) == ["StartItem", "DecideAnalysis", "DecideAnalysis"]


async def test_a_confirm_on_the_board_lets_the_deployment_begin(engine, poll):
    item = await awaiting(engine, poll)
    moved(engine, TrackerState.CONFIRM_DEPLOY)
    assert await settled(engine, poll) == 1
    approval = (await engine.case()).approval(ApprovalKind.DEPLOY, item.merged)
    assert (approval.granted, approval.by) == (True, "tracker user")
    assert [assignment.stage for assignment in engine.producer.assignments] == [Stage.DEPLOY]


async def test_cancelling_on_the_board_stops_the_item(engine, poll, analysed):
    moved(engine, TrackerState.CANCELLED)
    assert await settled(engine, poll) == 1
    assert (await engine.item()).stage is Stage.CANCELLED
    assert engine.runs_stopped == [REF]
    assert await shown(engine) is TrackerState.CANCELLED
    assert [move.kind for move in await engine.moves()].count("stop") == 1


@pytest.mark.parametrize("state", [TrackerState.BLOCKED, TrackerState.NEEDS_INPUT])
async def test_a_person_holds_the_item_on_the_board_and_lets_it_go_on(engine, poll, analysed, state):
    moved(engine, state)
    assert await settled(engine, poll) == 1
    hold = (await engine.case()).hold
    assert hold.reason == f"set to {state} in the tracker"
    assert await shown(engine) is TrackerState.BLOCKED
    moved(engine, TrackerState.TODO)
    assert await settled(engine, poll) == 1
    case = await engine.case()
    assert (case.hold, case.item.stage, case.item.epoch) == (None, Stage.ANALYSIS, 2)
    assert await shown(engine) is TrackerState.NEEDS_APPROVAL
    assert await events(engine) == ["StartItem", "HoldItem", "RetryItem"]


async def test_the_desks_hold_is_taken_back_on_the_board(engine, poll):
    await file(engine, "x" * 81)
    assert await settled(engine, poll) == 1
    assert await shown(engine) is TrackerState.BLOCKED
    await edited(engine, title="Count visits")
    assert await poll.poll() == 0
    moved(engine, TrackerState.TODO)
    assert await poll.poll() == 1
    case = await engine.case()
    assert (case.item.title, case.hold) == ("Count visits", None)


# What is no gesture.


async def test_what_we_write_ourselves_is_no_gesture(engine, poll):
    engine.gates.always(GateName.ANALYSIS_APPROVED, passing)
    engine.gates.always(GateName.CI_GREEN, failing("red"))
    await file(engine)
    assert await settled(engine, poll) == 1
    # The rounds are spent: the item is held, and the board says Blocked because we wrote it.
    assert await shown(engine) is TrackerState.BLOCKED
    hold = (await engine.case()).hold
    await polling(engine).poll()
    assert (await engine.case()).hold == hold
    assert await events(engine) == ["StartItem"]


async def test_a_cancelled_item_that_the_board_shows_as_cancelled_is_left_alone(engine, poll, analysed):
    await engine.desk.stop(REF, by="ada")
    assert await settled(engine, poll) == 0
    assert await events(engine) == ["StartItem"]


async def test_editing_a_ticket_that_still_shows_approved_is_no_second_approval(engine, poll, analysed):
    moved(engine, TrackerState.APPROVED)
    assert await poll.poll() == 1
    await edited(engine, description="and twice on Sundays")
    assert await poll.poll() == 0
    engine.clock.advance(SECOND)
    engine.tracker.comment(REF, "ada", "well done")
    assert await poll.poll() == 0
    assert await events(engine) == ["StartItem", "DecideAnalysis"]


async def test_comments_and_labels_of_people_are_no_gestures(engine, poll, analysed):
    engine.clock.advance(SECOND)
    engine.tracker.comment(REF, "ada", "Approved")
    engine.tracker.label(REF, ["Approved"])
    assert await settled(engine, poll) == 0
    assert await shown(engine) is TrackerState.NEEDS_APPROVAL


@pytest.mark.parametrize("state", [TrackerState.CONFIRM_DEPLOY, TrackerState.APPROVED])
async def test_a_gesture_that_is_refused_changes_nothing_and_the_board_is_put_right(engine, poll, state):
    waits_at(engine, GateName.REVIEWER_VERDICT)
    item = await engine.placed(Stage.REVIEW)
    await engine.settle()
    moved(engine, state)
    assert await poll.poll() == 0
    (job,) = await engine.jobs(JobKind.TRACKER)
    assert job.task_id == item.task_id
    await engine.settle()
    assert await shown(engine) is TrackerState.IN_PROGRESS
    assert (await engine.item()).stage is Stage.REVIEW
    assert await events(engine) == []
    assert await poll.poll() == 0


# Losing track.


async def test_a_lost_cursor_is_harmless(engine, poll, analysed):
    moved(engine, TrackerState.APPROVED)
    assert await poll.poll() == 1
    await engine.store.transact(lambda tx: tx.projects.remember(CURSOR, ""))
    assert await polling(engine).poll() == 0
    await engine.settle()
    await engine.store.transact(lambda tx: tx.projects.remember(CURSOR, ""))
    assert await polling(engine).poll() == 0
    assert await events(engine) == ["StartItem", "DecideAnalysis"]


async def test_only_what_changed_since_the_last_look_is_asked_for(engine, poll):
    await file(engine)
    engine.clock.advance(SECOND)
    last = await file(engine, "Count sales")
    await poll.poll()
    cursor = await engine.store.transact(lambda tx: tx.projects.recall(CURSOR))
    assert cursor == last.updated_at.isoformat()
    # A change in the very instant of the last look is seen as well.
    engine.tracker.move("SHOP-2", TrackerState.BLOCKED)
    assert await poll.poll() == 1


async def test_a_tracker_that_does_not_answer_is_asked_again(engine, poll):
    await file(engine)
    engine.tracker.outage = Unavailable("down")
    assert await poll.poll() == 0
    engine.tracker.outage = None
    assert await poll.poll() == 1


# Edits.


async def test_edits_before_work_begins_are_taken_over(engine, poll):
    await file(engine)
    assert await poll.poll() == 1
    await edited(engine, title="Count visitors", description="each once")
    assert await poll.poll() == 0
    item = await engine.item()
    assert (item.title, item.description) == ("Count visitors", "each once")


async def test_edits_after_work_began_leave_the_item_as_it_was_asked_for(engine, poll, analysed):
    await edited(engine, title="Count visitors", description="each once")
    assert await poll.poll() == 0
    item = await engine.item()
    assert (item.title, item.description) == (analysed.title, analysed.description)


async def test_a_gesture_counts_although_its_documents_could_not_be_read_at_first(engine, poll, analysed):
    engine.tracker.move("SHOP-1", TrackerState.APPROVED)
    engine.workspace.outage = Unavailable("the disk is away")
    assert await poll.poll() == 0
    engine.workspace.outage = None
    assert await poll.poll() == 1


async def test_a_gesture_that_means_nothing_puts_the_board_right_again(engine, poll, analysed):
    engine.tracker.move("SHOP-1", TrackerState.TODO)
    assert await poll.poll() == 0
    assert [job for job in await engine.jobs(JobKind.TRACKER) if job.status is JobStatus.QUEUED] != []


async def test_a_start_that_was_refused_is_tried_again_and_its_author_is_told(engine, poll):
    blocked = await engine.tracker.file(PROJECT, "Second", author="ada", blocked_by=["SHOP-2"])
    assert await poll.poll() == 0
    assert [comment.key for comment in await engine.tracker.comments(blocked.ref)] == ["not-started"]
    await engine.tracker.file(PROJECT, "First", author="ada")
    assert await poll.poll() == 1
    assert await poll.poll() == 1


async def test_a_label_that_comes_before_work_begins_decides_the_track(engine, poll):
    await file(engine)
    await poll.poll()
    engine.tracker.label("SHOP-1", ["Bug"])
    await poll.poll()
    item = await engine.item()
    assert (item.labels, item.track) == (("Bug",), Track.BUG)
