"""Projects: what is accepted, what is refused, and to which of them a mechanism applies."""

from zoneinfo import ZoneInfo

import pytest

from orchestrator.config.projects import make_project, scope_applies
from orchestrator.errors import BadInput

MINIMAL = {"name": "shop", "prefix": "SHOP", "repo_url": "https://git.local/acme/shop.git"}


def test_a_project_has_sensible_defaults():
    project = make_project(MINIMAL)
    assert (project.base_branch, project.tracker, project.forge) == ("main", "board", "local")
    assert (project.agent_cli, project.agent_command, project.self_hosting) == (None, None, False)
    assert (project.agent_models, project.agent_efforts) == ({}, {})


def test_authors_are_names_each_once():
    assert make_project(MINIMAL).authors == ()
    assert make_project({**MINIMAL, "authors": [" ada", "bob", "ada"]}).authors == ("ada", "bob")


def test_models_and_efforts_are_given_by_role():
    project = make_project(
        {**MINIMAL, "agent_models": {"developer": "claude-x"}, "agent_efforts": {"tester": "low"}}
    )
    assert (project.agent_models["developer"], project.agent_efforts["tester"]) == ("claude-x", "low")


@pytest.mark.parametrize(
    "address",
    [
        "https://git.local/acme/shop.git",
        "git@git.local:acme/shop",
        "ssh://git@git.local:22/acme/shop.git/",
        "/srv/git/shop.git",
        "shop",
    ],
)
def test_the_repository_is_read_off_the_address(address):
    assert make_project({**MINIMAL, "repo_url": address}).repository == "shop"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prefix": "shop"}, "prefix: must be 2 to 10 capital letters"),
        ({"prefix": "S"}, "prefix: must be 2 to 10 capital letters"),
        ({"prefix": "1SHOP"}, "prefix: must be 2 to 10 capital letters"),
        ({"prefix": "SHOP\n"}, "prefix: must be 2 to 10 capital letters"),
        ({"name": "My Shop"}, "name: must be small letters"),
        ({"name": "../shop"}, "name: must be small letters"),
        ({"repo_url": ""}, "repo_url"),
        ({"authors": ["ada", " "]}, "authors: must be names of people"),
        ({"repo_url": "https://ann:hush@git.local/a/b"}, "repo_url: must not contain a user or token"),
        ({"repo_url": "--upload-pack=x"}, "repo_url: must be an address or a path"),
        ({"base_branch": "a..b"}, "base_branch: must be the name of a branch"),
        ({"base_branch": "-x"}, "base_branch: must be the name of a branch"),
        ({"tracker": "jira"}, "tracker"),
        ({"tracker": "plane"}, "tracker_project: must be the id of the project in Plane"),
        ({"agent_models": {"king": "x"}}, "agent_models.king"),
        ({"budgets": {"week": {}}}, "budgets.week"),
        ({"budgets": {"run": {"runs": 2}}}, "budgets: a run is one run"),
        ({"time_zone": "Mars"}, "time_zone: must be a time zone"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_a_bad_project_is_refused(change, message):
    with pytest.raises(BadInput) as refused:
        make_project({**MINIMAL, **change})
    assert str(refused.value).startswith(message)
    assert "hush" not in str(refused.value)


def test_a_project_keeps_its_own_budgets_and_time_zone():
    given = {"budgets": {"item": {"cost_usd": 5}}, "time_zone": "Europe/Berlin"}
    project = make_project({**MINIMAL, **given})
    assert project.limits == {"item": {"cost_usd": 5.0}}
    assert project.zone == ZoneInfo("Europe/Berlin")
    assert make_project(project.model_dump(mode="json")) == project
    plain = make_project(MINIMAL)
    assert (plain.limits, plain.zone) == ({}, None)


def test_the_orchestrators_own_repository_is_known_by_its_name():
    assert make_project({**MINIMAL, "name": "orchestrator"}).self_hosting
    assert not make_project({**MINIMAL, "name": "orchestrator", "self_hosting": False}).self_hosting
    assert make_project({**MINIMAL, "self_hosting": True}).self_hosting


@pytest.mark.parametrize(
    ("csv", "own", "declared", "applies"),
    [
        ("", True, False, True),
        ("", False, True, True),
        ("", False, False, False),
        (" , ", False, True, True),
        ("other", True, True, False),
        ("other, SHOP", False, True, True),
        ("shop", False, False, False),
        ("shop", True, False, True),
        ("shop-api", False, True, False),
    ],
)
def test_an_empty_scope_is_who_can_and_names_narrow_it(csv, own, declared, applies):
    project = make_project({**MINIMAL, "self_hosting": own})
    assert scope_applies(csv, project, declared) is applies


def test_a_scope_may_name_the_repository_instead_of_the_project():
    project = make_project({**MINIMAL, "name": "storefront"})
    assert scope_applies("Shop", project, True)
