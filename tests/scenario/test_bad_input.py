"""What cannot be used is one clear line and a non-zero exit code, and nothing has changed."""

import shutil
import socket
import sqlite3
from contextlib import closing

import pytest

from tests.scenario.house import House, Ran, commit, git, repository


def assert_refused(ran: Ran, *words: str) -> None:
    assert ran.code not in {0, 70}, ran
    assert ran.out == "", ran
    assert ran.err.count("\n") == 1, ran
    for word in words:
        assert word in ran.err, ran


def add(house: House, source: object) -> Ran:
    return house.orch("project", "add", source, "--prefix", "SHOP")


def assert_nothing_is_registered(house: House) -> None:
    assert house.done("project", "list") == []
    assert list((house.home / "repos").glob("*")) == []
    assert list((house.home / "forge").glob("*.git")) == []


def test_an_unknown_project(shop):
    assert_refused(shop.orch("item", "new", "Sell more", "--project", "shoe"), "unknown project shoe")
    assert shop.done("item", "list", "--all") == []


BROKEN = "test:\n  run: make test\n  rum: make test\n"


def test_a_contract_with_an_unknown_key(house):
    repository(house.user, {".orchestrator.yml": BROKEN})
    assert_refused(add(house, house.user), ".orchestrator.yml:3:3", "rum")
    assert_nothing_is_registered(house)


def test_a_contract_that_was_mended_is_taken(house):
    repository(house.user, {".orchestrator.yml": BROKEN})
    add(house, house.user)
    commit(house.user, {".orchestrator.yml": "test:\n  run: make test\n"})
    ran = add(house, house.user)
    assert ran.code == 0, ran


def test_the_name_of_a_refused_project_is_free(house):
    repository(house.user, {".orchestrator.yml": BROKEN})
    add(house, house.user)
    other = repository(house.root / "elsewhere" / "shop", {"README.md": "# Shop\n"})
    ran = add(house, other)
    assert ran.code == 0, ran


def test_a_contract_that_was_broken_later_holds_the_item(shop):
    commit(shop.user, {".orchestrator.yml": BROKEN})
    shop.serve()
    view = shop.drive(shop.file("Sell more"), lambda view: view["hold"])
    assert ".orchestrator.yml:3:3" in view["hold"]["reason"]


def test_a_title_that_is_too_long_is_blocked(shop):
    ran = shop.orch("item", "new", "x" * 81, "--json")
    assert ran.code == 1
    assert "QG-0" in ran.json["hold"]["reason"]
    assert (ran.json["stage"], ran.json["runs"]) == ("created", [])


def test_a_dirty_repository(house):
    repository(house.user, {"README.md": "# Shop\n"})
    (house.user / "README.md").write_text("# Shoe\n")
    assert_refused(add(house, house.user), "README.md", "not committed")
    assert_nothing_is_registered(house)


def test_a_missing_repository(house):
    assert_refused(add(house, house.user), "there is no repository", str(house.user))
    assert_nothing_is_registered(house)


def test_a_directory_that_is_no_repository(house):
    house.user.mkdir()
    assert_refused(add(house, house.user), "not a git repository")
    assert_nothing_is_registered(house)


def test_a_repository_without_the_base_branch(house):
    repository(house.user, {"README.md": "# Shop\n"})
    git(house.user, "branch", "-m", "trunk")
    assert_refused(add(house, house.user), "no branch main")
    assert_nothing_is_registered(house)


def test_a_prefix_that_another_project_has(shop):
    other = repository(shop.root / "other", {"README.md": "# Other\n"})
    assert_refused(add(shop, other), "prefix SHOP", "shop")
    assert [row["name"] for row in shop.done("project", "list")] == ["shop"]
    assert shop.orch("project", "add", other, "--prefix", "OTHER").code == 0


def test_a_port_that_is_taken(shop):
    with socket.create_server(("127.0.0.1", shop.port)):
        assert_refused(shop.orch("serve"), str(shop.port), "taken")


def test_a_second_server_of_the_same_home(shop):
    shop.serve()
    assert_refused(shop.orch("serve"), "already")


def test_a_database_that_is_newer_than_the_code(shop):
    with closing(sqlite3.connect(shop.home / "orchestrator.db")) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    for words in (["serve"], ["item", "list"], ["item", "new", "Sell more"]):
        assert_refused(shop.orch(*words), "9999", "newer")


def test_a_home_that_cannot_be_used(house):
    house.home.parent.mkdir(exist_ok=True)
    house.home.write_text("in the way")
    for words in (["serve"], ["item", "list"]):
        assert_refused(house.orch(*words), str(house.home), "ORCH_HOME")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ORCH_PORT", "many"),
        ("ORCH_MAX_CONCURRENCY", "0"),
        ("ORCH_AGENT_CLI", "robot"),
        ("ORCH_LANGUAGE", "elvish"),
        ("ORCH_DATABASE_URL", "mysql://x"),
    ],
)
def test_a_setting_that_cannot_be_used(house, name, value):
    house.settings[name] = value
    assert_refused(house.orch("serve"), name)
    assert not house.home.exists()


def test_an_unknown_item(shop):
    for words in (["approve"], ["confirm-deploy"], ["retry"], ["stop"], ["show"], ["explain"], ["logs"]):
        assert_refused(shop.orch("item", *words, "SHOP-7"), "SHOP-7")
    assert_refused(shop.orch("item", "reject", "SHOP-7", "--comment", "no"), "SHOP-7")


def test_decisions_in_the_wrong_stage(shop):
    shop.done("item", "new", "Sell more")
    before = shop.done("item", "show", "SHOP-1")
    assert_refused(shop.orch("item", "approve", "SHOP-1"), "created", "only an analysis")
    assert_refused(shop.orch("item", "reject", "SHOP-1", "--comment", "no"), "created", "only an analysis")
    assert_refused(shop.orch("item", "confirm-deploy", "SHOP-1"), "created", "deploy only")
    assert_refused(shop.orch("item", "retry", "SHOP-1"), "not on hold")
    assert shop.done("item", "show", "SHOP-1") == before


def test_an_analysis_cannot_be_approved_before_it_is_there(shop):
    shop.steer("hold-analyst")
    shop.serve()
    item = shop.file("Sell more")
    shop.drive(item, lambda _: shop.ledger("worked"))
    assert_refused(shop.orch("item", "approve", item))
    shop.release("hold-analyst")
    shop.drive(item, lambda view: view["explanation"]["waits_for"] == "person")


def test_an_agent_that_is_not_there_holds_the_item(house):
    repository(house.user, {"README.md": "# Shop\n"})
    agent = ("--agent-cli", "script", "--agent-command", "/no/agent")
    assert house.orch("project", "add", house.user, "--prefix", "SHOP", *agent).code == 0
    house.serve()
    view = house.drive(house.file("Sell more"), lambda view: view["hold"])
    assert "/no/agent" in view["hold"]["reason"]


def test_a_repository_that_vanished_stops_nothing_that_is_under_way(shop):
    shutil.rmtree(shop.user)
    shop.serve()
    shop.drive_to_done(shop.file("Sell more"))
