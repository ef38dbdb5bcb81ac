"""When an item is at its end nothing of it is left on this host but its records."""

from tests.scenario.house import House, git, is_alive


def places(shop: House) -> list[str]:
    found = [*(shop.home / "worktrees").glob("*/*"), *(shop.home / "checkouts").glob("*/*")]
    found += (shop.home / "runs").rglob("checkout*")
    found += (shop.home / "forge" / "ci").rglob("clone-*")
    found += (shop.home / "state").rglob("checkout*")
    return [str(place.relative_to(shop.home)) for place in found]


def test_nothing_is_left_of_a_road_with_a_second_round(shop):
    shop.steer("grandchild")
    shop.steer("request-changes", "say please\n")
    shop.serve()
    view = shop.drive_to_done(shop.file("Sell more"))
    assert [(row["gate"], row["findings"]) for row in view["rounds"]] == [
        ("check_reviewer_verdict", ["say please"])
    ]
    assert len(shop.ledger("grandchildren")) == 6
    assert [line for line in shop.ledger("grandchildren") if is_alive(int(line[0]))] == []
    assert shop.told_processes() == []
    assert places(shop) == []
    mirror = shop.home / "repos" / "shop.git"
    assert git(mirror, "worktree", "list", "--porcelain").count("worktree ") == 1
    assert list(mirror.rglob("*.lock")) == []
    leases = "SELECT count(*) FROM transition_lease UNION ALL SELECT count(merge_task_id) FROM project_state"
    assert shop.rows("orchestrator.db", leases) == [(0,), (0,)]
    assert {run["outcome"] for run in view["runs"]} == {"finished"}
