"""A user's own repository, from `orch project add` to the merged and deployed change, by the command line."""

import signal
import subprocess
import sys

import pytest

from tests.scenario.house import House, commit, eventually, git, repository

UNITTEST = """\
test: {run: python -m unittest -q}
deploy: {run: {run: 'echo $ORCH_REVISION > $ORCH_STATE_DIR/live', shell: true}}
"""
TEST = "import unittest\n\nclass Sum(unittest.TestCase):\n    def test_it(self):\n        assert 1 + 1 == 2\n"
FILES = {".orchestrator.yml": UNITTEST, "test_sum.py": TEST}


def add(house: House, source: object, *words: object) -> None:
    """Register as the README says: a path, a prefix, an executable, and nothing else."""
    ran = house.orch(
        "project", "add", source, "--prefix", "SHOP", "--agent-command", house.root / "agent.py", *words
    )
    assert ran.code == 0, ran


def stage_of(house: House, item: str) -> str:
    return str(house.view(item)["stage"])


def names_on_main(house: House) -> list[str]:
    return git(house.forge(), "ls-tree", "--name-only", "main").splitlines()


def test_a_fresh_repository_gets_its_change_by_the_command_line(house):
    repository(house.user, FILES)
    add(house, house.user)
    house.serve()
    filed = house.done("item", "new", "Sell more", "--project", "shop")
    assert (filed["work_item"], filed["hold"]) == ("SHOP-1", None)

    def waits_for_a_person() -> bool:
        view = house.view("SHOP-1")
        assert view["hold"] is None, view["hold"]
        return bool(view["explanation"]["waits_for"] == "person")

    eventually(waits_for_a_person, "the analysis waits for a person")
    assert house.done("item", "approve", "shop-1")["ok"] is True
    eventually(lambda: stage_of(house, "SHOP-1") == "deploy" and waits_for_a_person(), "the deploy waits")
    assert house.done("item", "confirm-deploy", "SHOP-1")["ok"] is True
    eventually(lambda: stage_of(house, "SHOP-1") == "done", "it is done")
    shown = house.done("item", "show", "SHOP-1")
    assert (house.home / "state" / "shop" / "live").read_text().strip() == shown["merged"]
    assert shown["cost"] == pytest.approx(0.04)
    assert git(house.forge(), "show", "main:change-SHOP-1.txt") == "SHOP-1 round 1"


def test_the_user_works_on_beside_it(shop):
    """main is checked out there, so git refuses the push: the user pulls, and the next item builds on it."""
    before = git(shop.user, "rev-parse", "HEAD")
    shop.serve()
    first = shop.drive_to_done(shop.file("Sell more"))
    assert git(shop.user, "rev-parse", "HEAD") == before
    assert git(shop.user, "status", "--porcelain") == ""
    git(shop.user, "pull", "-q", str(shop.forge()), "main")
    assert git(shop.user, "rev-parse", "HEAD") == first["merged"]
    commit(shop.user, {"own.txt": "mine\n"})
    mine = git(shop.user, "rev-parse", "HEAD")
    second = shop.drive_to_done(shop.file("Sell even more"))
    git(shop.forge(), "merge-base", "--is-ancestor", mine, second["merged"])
    assert {"change-SHOP-1.txt", "change-SHOP-2.txt", "own.txt"} <= set(names_on_main(shop))


def test_a_bare_repository_has_the_merge_afterwards(house):
    repository(house.user, FILES)
    bare = house.root / "central" / "shop.git"
    git(house.root, "clone", "-q", "--bare", str(house.user), str(bare))
    add(house, f"file://{bare}", "--agent-cli", "script")
    house.serve()
    view = house.drive_to_done(house.file("Sell more"))
    assert git(bare, "rev-parse", "main") == view["merged"]


def test_a_bare_repository_may_be_named_by_its_path(house):
    repository(house.user, FILES)
    bare = house.root / "central" / "shop.git"
    git(house.root, "clone", "-q", "--bare", str(house.user), str(bare))
    add(house, bare, "--agent-cli", "script")
    (row,) = house.done("project", "list")
    assert (row["name"], row["contract"]) == ("shop", ["test", "deploy"])


def test_two_items_at_once_go_one_after_the_other(shop):
    shop.steer("hold-analyst")
    shop.serve()
    first, second = shop.file("Sell more"), shop.file("Sell even more")
    shop.drive(first, lambda _: shop.worked(first, "analyst"))
    waiting = shop.view(second)
    assert (waiting["stage"], waiting["explanation"]["waits_for"]) == ("created", "item")
    assert first in waiting["explanation"]["why"]
    shop.release("hold-analyst")
    shop.steer("hold-architect")
    # While a person is waited for the place is free, and each item goes on as it is decided about.
    eventually(lambda: shop.view(second)["explanation"]["waits_for"] == "person", "both wait for a person")
    shop.release("hold-architect")
    shop.drive(first, lambda view: view["stage"] == "done")
    shop.drive_to_done(second)
    assert {"change-SHOP-1.txt", "change-SHOP-2.txt"} <= set(names_on_main(shop))


def held_without_a_contract(house: House) -> str:
    repository(house.user, {"README.md": "# Shop\n"})
    add(house, house.user, "--agent-cli", "script")
    house.serve()
    item = house.file("Sell more")
    view = house.drive(item, lambda view: view["hold"])
    assert view["stage"] == "development"
    assert ".orchestrator.yml" in view["hold"]["reason"]
    commit(house.user, {".orchestrator.yml": house.contract()})
    return item


def test_without_a_contract_the_item_says_what_is_missing_and_goes_on_with_it(house):
    item = held_without_a_contract(house)
    house.steer("always-change")
    assert house.orch("item", "retry", item).code == 0
    house.drive_to_done(item)


def test_a_retry_after_a_missing_contract_does_not_demand_other_work(house):
    """What the developer has done already is there; only the contract was missing."""
    item = held_without_a_contract(house)
    assert house.orch("item", "retry", item).code == 0
    house.drive_to_done(item)


def test_without_a_deploy_section_nothing_is_deployed_and_the_log_says_so(house):
    step = house.root / "step.sh"
    repository(house.user, {".orchestrator.yml": f"test: {{run: {step} test}}\n"})
    add(house, house.user, "--agent-cli", "script")
    house.serve()
    item = house.file("Sell more")
    view = house.drive_to_done(item)
    log = git(house.forge(), "show", f"{view['branch']}:docs/work-items/{item}/14-deploy-log.md")
    assert "deploy_status: SUCCESS" in log
    assert "not applicable" in log
    assert {line[0] for line in house.ledger("steps")} == {"ci", "suite"}


def test_the_installed_command_serves_until_it_is_told_to_end(shop):
    process = subprocess.Popen(
        [sys.executable, "-m", "orchestrator.cli", "serve"],
        env=shop.environment(),
        cwd=shop.root,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert f"http://127.0.0.1:{shop.port}" in process.stdout.readline()
        assert shop.get("/health")["service"] == "orchestrator"
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) in {0, -signal.SIGTERM}
    finally:
        process.kill()
        process.communicate()
