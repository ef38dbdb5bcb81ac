"""What a demonstration came to is read from the item as it is shown to everybody."""

from typing import Any

import pytest

from orchestrator.demo.results import Result, is_over, problem_of, steps_of, waits

MERGED = "c0ffee" * 6


def job(number: int, stage: str, **more: Any) -> dict[str, Any]:
    common = {"id": number, "kind": "produce", "agent": "developer", "stage": stage, "epoch": 1}
    ending = {"status": "done", "seconds": 1.234, "error": "", "result": {"producer": "agent", "verdict": ""}}
    return {**common, **ending, "finished_at": "2026-01-01T12:00:09+00:00", **more}


def watch(number: int, status: str = "HEALTHY", **more: Any) -> dict[str, Any]:
    result = {"post_deploy_status": status}
    return job(number, "done", **{"kind": "watch", "agent": "post-deploy-monitor", "result": result, **more})


def view(*jobs: dict[str, Any], **more: Any) -> dict[str, Any]:
    common = {"work_item": "DEMO-1", "stage": "done", "epoch": 1, "hold": None, "merged": MERGED}
    return {
        **common,
        "jobs": list(jobs),
        "verdicts": [],
        "entered_at": "2026-01-01T12:00:00+00:00",
        **more,
    }


def test_each_piece_of_finished_work_is_a_step():
    review = job(2, "review", result={"producer": "agent", "verdict": "approved"})
    (first, second) = steps_of(view(job(1, "development"), review, job(3, "testing", status="running")))
    assert (first.stage, first.producer, first.seconds) == ("development", "agent", 1.23)
    assert (second.stage, second.verdict) == ("review", "APPROVED")


def test_deferred_and_skipped_work_is_no_step():
    jobs = [job(1, "testing", result={"deferred": "busy"}), job(2, "testing", result={"skipped": "moved on"})]
    assert steps_of(view(*jobs)) == ()


@pytest.mark.parametrize(
    ("answers", "verdict"),
    [
        ({"check_ci_green": "passed"}, "PASSED"),
        ({"check_ci_green": "inconclusive"}, "DELIVERED"),
        ({"check_ci_green": "failed"}, "FAILED"),
        ({}, "DELIVERED"),
    ],
)
def test_work_without_a_word_of_its_own_has_the_verdict_of_its_gates(answers, verdict):
    rows = [
        {"stage": "development", "epoch": 1, "gate": gate, "answer": answer}
        for gate, answer in answers.items()
    ]
    (step,) = steps_of(view(job(1, "development"), verdicts=rows))
    assert step.verdict == verdict


def test_the_watch_takes_from_done_to_the_last_look():
    (step,) = steps_of(view(watch(1)))
    assert (step.stage, step.producer, step.verdict, step.seconds) == (
        "post-deploy",
        "post-deploy-monitor",
        "HEALTHY",
        9.0,
    )


@pytest.mark.parametrize(
    ("shown", "over"),
    [
        (view(watch(1)), True),
        (view(job(1, "done", kind="watch", status="running")), False),
        (view(watch(1), epoch=2), False),
        (view(), False),
        (view(stage="deploy"), False),
        (view(stage="cancelled"), True),
    ],
)
def test_it_is_over_when_production_was_watched_in_this_epoch(shown, over):
    assert is_over(shown) is over


@pytest.mark.parametrize(
    ("shown", "revision", "problem"),
    [
        (view(watch(1)), MERGED, ""),
        (view(watch(1)), None, "production does not answer"),
        (view(watch(1)), "old", f"production runs old, not the merged commit {MERGED}"),
        (view(watch(1, "DEGRADED")), MERGED, "the watch over production says DEGRADED, not HEALTHY"),
        (view(), MERGED, "the watch over production says nothing, not HEALTHY"),
        (view(stage="testing"), MERGED, "DEMO-1 is in testing, not done"),
        (
            view(stage="review", hold={"reason": "three rounds are spent"}),
            MERGED,
            "DEMO-1 is on hold in review: three rounds are spent",
        ),
    ],
)
def test_anything_but_the_promised_end_is_named(shown, revision, problem):
    assert problem_of(shown, steps_of(shown), revision) == problem


def test_the_json_has_the_promised_names():
    steps = steps_of(view(job(1, "development"), watch(2)))
    result = Result(
        work_item="DEMO-1",
        steps=steps,
        rounds=1,
        merged_commit=MERGED,
        production_revision=MERGED,
        events=3,
        dashboard="http://127.0.0.1:1",
        seconds=20.0,
    )
    answer = result.as_json()
    assert list(answer) == [
        "ok",
        "work_item",
        "stages",
        "rounds",
        "merged_commit",
        "production_revision",
        "events",
        "dashboard",
        "cost_usd",
    ]
    assert answer["ok"] is True
    assert [list(step) for step in answer["stages"]] == [["stage", "producer", "verdict", "seconds"]] * 2  # type: ignore[attr-defined]


def test_a_hold_is_told_with_its_place():
    hold: dict[str, object] = {"reason": "three rounds are spent", "who_can_unblock": "an operator"}
    result = Result("DEMO-1", (), 3, None, None, 1, "", 1.0, problem="held", hold=hold, stage="review")
    assert result.as_json()["ok"] is False
    assert result.as_json()["hold"] == {**hold, "stage": "review"}


def test_an_item_that_is_stuck_says_what_it_waits_for():
    stuck = view(
        job(1, "analysis", status="running", is_active=True, error="no answer"),
        job(2, "analysis", is_active=False),
        explanation={"why": "the analyst is at work"},
    )
    assert waits(stuck) == ": the analyst is at work; job 1 (produce developer) running no answer"
