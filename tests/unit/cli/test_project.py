"""Projects are registered, listed, frozen and thawed."""

import pytest

from tests.unit.cli import repositories


def test_the_name_is_that_of_the_directory(orch, tmp_path):
    path = repositories.made(tmp_path / "My Tally", {".orchestrator.yml": repositories.CONTRACT})
    ran = orch("project", "add", "My Tally", "--prefix", "TAL", "--json")
    assert ran.code == 0, ran.err
    row = ran.json
    assert (row["ok"], row["name"], row["prefix"], row["repo_url"]) == (True, "my-tally", "TAL", str(path))
    assert row["contract"] == ["test"]
    assert any("staging" in note for note in row["notes"])


def test_a_repository_without_a_contract_is_taken_with_a_note(orch, tmp_path):
    repositories.made(tmp_path / "tally")
    ran = orch("project", "add", "tally", "--prefix", "TAL")
    assert ran.code == 0
    assert "tally is registered; its items are called TAL-1, TAL-2" in ran.out
    assert ".orchestrator.yml" in ran.out


def test_authors_are_named_one_by_one(orch, tmp_path):
    repositories.made(tmp_path / "tally")
    added = orch("project", "add", "tally", "--prefix", "TAL", "--author", "ada", "--author", "bob", "--json")
    assert added.json["authors"] == ["ada", "bob"]
    held = orch("item", "new", "Count", "--by", "mallory", "--json")
    assert "mallory" in held.json["hold"]["reason"]
    assert orch("item", "new", "Count", "--by", "ada", "--json").json["hold"] is None


def test_projects_are_listed(orch, tmp_path):
    assert "no projects" in orch("project", "list").out
    repositories.made(tmp_path / "tally")
    orch("project", "add", "tally", "--prefix", "TAL", "--name", "counter")
    (row,) = orch("project", "list", "--json").json
    assert (row["name"], row["contract"], row["frozen"]) == ("counter", None, None)
    assert "counter" in orch("project", "list").out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nowhere", "--prefix", "TAL"], "nowhere"),
        (["tally", "--prefix", "tal"], "prefix: must be 2 to 10 capital letters"),
        (["tally", "--prefix", "TAL", "--base", "trunk"], "no branch trunk"),
        (["tally", "--prefix", "TAL", "--name", "No Name"], "name: must be small letters"),
        (["tally", "--prefix", "TAL", "--agent-cli", "parrot"], "agent_cli"),
    ],
)
def test_what_cannot_be_registered_is_one_line(orch, tmp_path, words, told):
    repositories.made(tmp_path / "tally")
    ran = orch("project", "add", *words)
    assert ran.code == 2
    assert told in ran.err
    assert ran.err.count("\n") == 1
    assert orch("project", "list", "--json").json == []


def test_budgets_are_given_one_by_one(orch, tmp_path):
    repositories.made(tmp_path / "tally")
    ran = orch(
        *("project", "add", "tally", "--prefix", "TAL", "--json"),
        *("--budget", "item.cost_usd=2.5", "--budget", "item.runs=9", "--budget", "day.wall_s=3600"),
    )
    wanted = {"item": {"cost_usd": 2.5, "runs": 9}, "day": {"wall_s": 3600}}
    assert ran.json["budgets"] == wanted
    assert orch("project", "list", "--json").json[0]["budgets"] == wanted


@pytest.mark.parametrize(
    ("budget", "told"),
    [
        ("plenty", "plenty is no budget"),
        ("item=3", "item=3 is no budget"),
        ("item.cost_usd=", "is no budget"),
        ("item.cost_usd=much", "budgets.item.cost_usd"),
        ("item.cost_usd=0", "budgets.item.cost_usd"),
        ("item.mood=3", "budgets.item.mood"),
        ("week.runs=3", "budgets.week"),
        ("run.runs=3", "a run is one run"),
    ],
)
def test_a_budget_that_is_not_possible_is_one_line(orch, tmp_path, budget, told):
    repositories.made(tmp_path / "tally")
    ran = orch("project", "add", "tally", "--prefix", "TAL", "--budget", budget)
    assert ran.code == 2
    assert told in ran.err
    assert ran.err.count("\n") == 1


def test_a_contract_that_is_wrong_is_refused_with_its_place(orch, tmp_path):
    repositories.made(tmp_path / "tally", {".orchestrator.yml": "test:\n  run: pytest\n  when: now\n"})
    ran = orch("project", "add", "tally", "--prefix", "TAL", "--json")
    assert ran.code == 2
    assert ".orchestrator.yml:3:3" in ran.json["error"]


def test_a_frozen_project_says_so_until_it_is_thawed(orch, tmp_path):
    repositories.made(tmp_path / "tally")
    orch("project", "add", "tally", "--prefix", "TAL")
    assert orch("project", "freeze", "tally", "--reason", "release", "--json").json["frozen"] == "release"
    assert orch("project", "list", "--json").json[0]["frozen"] == "release"
    assert orch("project", "thaw", "tally").out == "tally is thawed\n"
    assert orch("project", "list", "--json").json[0]["frozen"] is None


def test_an_unknown_project_is_not_frozen(orch):
    ran = orch("project", "freeze", "nobody", "--json")
    assert ran.code == 2
    assert ran.json["error"].startswith("unknown project nobody")
