"""One bad answer is a glitch; what lasts or adds up is a degraded production (ORCH-021)."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from orchestrator.config.settings import Settings
from orchestrator.delivery.probe import Answer, NoAnswer
from orchestrator.delivery.vigil import Vigil, look, vigil_of
from orchestrator.delivery.watch import Armed, Thresholds, Tick, WatchState, degradation, is_over
from orchestrator.pipeline.ids import Commit, Epoch, WorkItemId
from tests.unit.producers.bench import ScriptedProbe, contract

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
LIMITS = Thresholds(failures=3, error_rate=0.1)
ARMED = Armed(Commit("abc"), Epoch(2), NOW)
NAMES = {"ORCH_PORT_PRODUCTION": "18500"}


def series(marks: str) -> list[Tick]:
    """``.`` is well, ``x`` is no answer, ``5`` is a 5xx answer to health, ``e`` a 5xx answer elsewhere."""
    return [
        Tick(NOW, well=mark in ".e", answers=int(mark != "x"), errors=int(mark in "5e")) for mark in marks
    ]


@pytest.mark.parametrize(
    "marks", ["", ".", "x", "xx", "5", ".5..", "xx.xx.xx", "e", "." * 19 + "55", "5" + "." * 30]
)
def test_a_glitch_stays_healthy(marks):
    assert degradation(series(marks), LIMITS) is None


@pytest.mark.parametrize(
    ("marks", "reason"),
    [
        ("xxx", "3 failed health checks in a row"),
        ("..xxx..", "3 failed health checks in a row"),
        (".x.xxxx", "4 failed health checks in a row"),
        ("55", "2 of 2 answers were 5xx, more than 0.1"),
        ("." * 17 + "ee", "2 of 19 answers were 5xx, more than 0.1"),
    ],
)
def test_what_lasts_or_adds_up_is_degraded(marks, reason):
    assert degradation(series(marks), LIMITS) == reason


def test_the_window_is_over_when_its_time_has_passed():
    window = timedelta(minutes=15)
    assert not is_over(ARMED, window, NOW + timedelta(minutes=14, seconds=59))
    assert is_over(ARMED, window, NOW + window)


@pytest.fixture
def state(tmp_path):
    return WatchState(tmp_path, "shop", WorkItemId("SHOP-1"))


def test_arming_again_keeps_the_first_instant(state, tmp_path):
    assert state.arm(ARMED) == ARMED
    later = Armed(ARMED.commit, ARMED.epoch, NOW + timedelta(minutes=5))
    assert state.arm(later).at == NOW
    assert [file.name for file in state.place.iterdir()] == ["armed"]
    assert state.place == tmp_path / ".post-deploy-state-shop" / "SHOP-1"


def test_another_deployment_begins_a_new_series(state):
    state.arm(ARMED)
    state.append(Tick(NOW, well=False, answers=0, errors=0))
    state.note_degraded("down")
    other = Armed(Commit("def"), Epoch(2), NOW)
    assert state.arm(other) == other
    assert (state.series(), state.degraded()) == ((), None)


def test_the_series_survives_a_line_that_was_cut_short(state):
    ticks = [
        Tick(NOW, well=True, answers=2, errors=0),
        Tick(NOW, well=False, answers=0, errors=0, note="away"),
    ]
    state.arm(ARMED)
    state.append(ticks[0])
    with (state.place / "series").open("a") as file:
        file.write('{"at": "2026-03')
    state.append(ticks[1])
    assert state.series() == tuple(ticks)


def test_a_damaged_armed_file_is_written_anew(state):
    state.arm(ARMED)
    (state.place / "armed").write_text("{")
    assert state.arm(ARMED) == ARMED
    assert json.loads((state.place / "armed").read_text())["commit"] == "abc"


def watched(given, settings) -> Vigil:
    vigil = vigil_of(given, settings, NAMES)
    assert vigil is not None
    return vigil


def settings_of(tmp_path, **changes):
    return Settings(home=tmp_path, **changes)


def test_the_contract_wins_over_the_settings(tmp_path):
    given = contract(
        post_deploy={"window_s": 60, "interval_s": 5, "health": "http://h/health", "error_rate": 0.5}
    )
    settings = settings_of(tmp_path, post_deploy_window_s=900, post_deploy_fail_threshold=4)
    vigil = watched(given, settings)
    assert (vigil.window, vigil.interval) == (timedelta(seconds=60), timedelta(seconds=5))
    assert vigil.thresholds == Thresholds(failures=4, error_rate=0.5)


def test_the_settings_fill_what_the_contract_leaves_open(tmp_path):
    given = contract(
        post_deploy={}, deploy={"run": ["true"], "health": "http://127.0.0.1:${ORCH_PORT_PRODUCTION}/health"}
    )
    vigil = watched(given, settings_of(tmp_path, post_deploy_interval_s=0.5))
    assert vigil.health == "http://127.0.0.1:18500/health"
    assert (vigil.window, vigil.interval) == (timedelta(minutes=15), timedelta(milliseconds=500))


def test_without_an_address_there_is_nothing_to_watch(tmp_path):
    assert vigil_of(contract(post_deploy={}), settings_of(tmp_path), {}) is None


async def test_only_the_same_services_smoke_checks_count_for_the_share(tmp_path):
    checks = [{"path": "/health"}, {"path": "/status"}, {"path": "/queue"}]
    here = contract(
        post_deploy={"health": "http://h:1/health"}, smoke={"base_url": "http://h:1/", "checks": checks}
    )
    elsewhere = contract(
        post_deploy={"health": "http://h:1/health"}, smoke={"base_url": "http://h:2", "checks": checks}
    )
    probe = ScriptedProbe(Answer(200, '{"status": "ok"}'), Answer(502, ""), NoAnswer("away"))
    tick = await look(probe, watched(here, settings_of(tmp_path)), NOW)
    assert (tick.well, tick.answers, tick.errors) == (True, 2, 1)
    assert probe.asked == ["http://h:1/health", "http://h:1/status", "http://h:1/queue"]
    assert watched(elsewhere, settings_of(tmp_path)).others == ()


@pytest.mark.parametrize(
    ("answer", "well"),
    [
        (Answer(200, '{"status": "ok"}'), True),
        (Answer(200, '{"status": "OK", "more": 1}'), True),
        (Answer(200, "fine"), True),
        (Answer(200, "[1]"), True),
        (Answer(200, '{"status": "degraded"}'), False),
        (Answer(200, '{"status": null}'), False),
        (Answer(204, ""), False),
        (Answer(500, '{"status": "ok"}'), False),
    ],
)
def test_health_is_a_200_that_says_nothing_else(answer, well):
    assert answer.is_healthy is well
