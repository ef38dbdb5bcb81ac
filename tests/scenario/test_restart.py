"""Killed at any instant and started again, the same comes out, once."""

import signal
import time
from collections import Counter

from tests.scenario.house import House, View, eventually, git, is_alive

POINTS = ("developer", "ci", "suite", "staging", "deploy")


def pid_of(shop: House, name: str) -> int:
    """The process that holds up the road: an agent, or a command of the contract."""
    for file in ("starts", "steps"):
        for line in shop.ledger(file):
            if name in line:
                return int(line[-1])
    return 0


def assert_everything_happened_once(shop: House, view: View) -> None:
    work = Counter(
        (job["stage"], job["epoch"])
        for job in view["jobs"]
        if job["kind"] == "produce" and job["status"] == "done"
    )
    assert set(work.values()) == {1}, work
    starts = Counter(tuple(line[:3]) for line in shop.ledger("starts"))
    assert set(starts.values()) == {1}, starts
    steps = Counter(tuple(line[:2]) for line in shop.ledger("steps") if line[0] != "staging-revision")
    assert set(steps.values()) == {1}, steps
    pulls = shop.rows("forge/forge.db", "SELECT branch, state FROM forge_pulls")
    assert pulls == [(view["branch"], "merged")]
    comments = shop.rows("board.db", "SELECT key, text FROM board_comments WHERE key <> ''")
    assert max(Counter(key for key, _ in comments).values()) == 1
    assert max(Counter(text for _, text in comments).values()) == 1
    moves = [row["to"] for row in view["timeline"] if row["kind"] == "advance"]
    assert len(moves) == len(set(moves)), moves


def assert_it_is_in_production(shop: House, view: View) -> None:
    deployments = (shop.home / "state" / "shop" / "deployments").read_text().splitlines()
    assert deployments == [view["merged"]]
    assert git(shop.forge(), "rev-parse", "main") == view["merged"]


def assert_nothing_is_left(shop: House) -> None:
    assert shop.told_processes() == []
    places = [*(shop.home / "worktrees").glob("*/*"), *(shop.home / "checkouts").glob("*/*")]
    assert places == []
    assert list((shop.home / "runs").rglob("checkout")) == []


def test_killed_in_the_middle_of_any_work_it_is_found_again(shop):
    for point in POINTS:
        shop.steer(f"hold-{point}")
    server = shop.serve()
    item = shop.file("Sell more")
    for point in POINTS:
        shop.drive(item, lambda _, point=point: pid_of(shop, point))
        pid = pid_of(shop, point)
        server.kill(signal.SIGKILL)
        assert is_alive(pid), point
        server = shop.serve()
        assert pid_of(shop, point) == pid, point
        shop.release(f"hold-{point}")
    view = shop.drive_to_done(item)
    assert_everything_happened_once(shop, view)
    assert_it_is_in_production(shop, view)
    assert_nothing_is_left(shop)


def test_killed_after_every_step_the_same_comes_out(shop):
    server = shop.serve()
    item = shop.file("Sell more")
    seen, kills = 0, 0
    while True:
        view = shop.drive(item, lambda view, seen=seen: len(view["timeline"]) > seen)
        seen = len(view["timeline"])
        if view["stage"] == "done":
            break
        server.kill(signal.SIGKILL)
        kills += 1
        server = shop.serve()
    assert kills >= 8
    view = shop.drive_to_done(item)
    assert_everything_happened_once(shop, view)
    assert_it_is_in_production(shop, view)
    assert_nothing_is_left(shop)


def test_a_deployment_whose_start_was_cut_short_is_begun_anew(shop):
    """Killed after the command was noted down and before anything was started: production did not change."""
    server = shop.serve()
    item = shop.file("Sell more")
    view = shop.drive(item, lambda view: view["stage"] == "deploy")
    server.kill(signal.SIGKILL)
    place = shop.home / "state" / ".deploy-state-shop" / item / f"{view['merged']}-e{view['epoch']}"
    run = place / "hook-1"
    run.mkdir(parents=True)
    (run / "lock").touch()
    words = (str(place / "checkout"), "600.0", "1.0", "keep", str(shop.root / "step.sh"), "deploy")
    (run / "command").write_bytes("\0".join(words).encode())
    (place / "initiated").write_text('{"at": "2025-01-31T00:00:00+00:00"}')
    shop.serve()
    view = shop.drive_to_done(item)
    assert_it_is_in_production(shop, view)


def test_asked_to_end_it_ends_at_once_and_the_agent_works_on(shop):
    shop.steer("hold-developer")
    server = shop.serve()
    item = shop.file("Sell more")
    shop.drive(item, lambda _: pid_of(shop, "developer"))
    pid = pid_of(shop, "developer")
    asked = time.monotonic()
    code = server.kill(signal.SIGTERM)
    assert time.monotonic() - asked < 5
    assert code in {0, -signal.SIGTERM, 128 + signal.SIGTERM}
    assert is_alive(pid)
    shop.release("hold-developer")
    eventually(lambda: not is_alive(pid), "the agent ends by itself")
    shop.serve()
    view = shop.drive_to_done(item)
    assert_everything_happened_once(shop, view)
    assert_it_is_in_production(shop, view)
