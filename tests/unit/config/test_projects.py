"""Projects: what is accepted, what is refused, and to which of them a mechanism applies."""

import json

import pytest

from orchestrator.config.projects import make_project, parse_projects, scope_applies
from orchestrator.errors import BadInput

MINIMAL = {"name": "shop", "prefix": "SHOP", "repo_url": "https://git.local/acme/shop.git"}


def test_a_project_has_sensible_defaults():
    project = make_project(MINIMAL)
    assert (project.base_branch, project.tracker, project.forge) == ("main", "board", "local")
    assert (project.agent_cli, project.agent_command, project.self_hosting) == (None, None, False)
    assert (project.agent_models, project.agent_efforts) == ({}, {})


@pytest.mark.parametrize(
    ("address", "owner", "repository"),
    [
        ("https://git.local/acme/shop.git", "acme", "shop"),
        ("git@git.local:acme/shop", "acme", "shop"),
        ("ssh://git@git.local:22/acme/shop.git/", "acme", "shop"),
        ("/srv/git/shop.git", "git", "shop"),
        ("shop", "", "shop"),
    ],
)
def test_owner_and_repository_are_read_off_the_address(address, owner, repository):
    project = make_project({**MINIMAL, "repo_url": address})
    assert (project.owner, project.repository) == (owner, repository)


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
        ({"repo_url": "https://ann:hush@git.local/a/b"}, "repo_url: must not contain a user or token"),
        ({"repo_url": "--upload-pack=x"}, "repo_url: must be an address or a path"),
        ({"base_branch": "a..b"}, "base_branch: must be the name of a branch"),
        ({"base_branch": "-x"}, "base_branch: must be the name of a branch"),
        ({"tracker": "jira"}, "tracker"),
        ({"tracker": "plane"}, "tracker_project: must be the id of the project in Plane"),
        ({"agent_models": {"king": "x"}}, "agent_models.king"),
        ({"time_zone": "Mars"}, "time_zone: must be a time zone"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_a_bad_project_is_refused(change, message):
    with pytest.raises(BadInput) as refused:
        make_project({**MINIMAL, **change})
    assert str(refused.value).startswith(message)
    assert "hush" not in str(refused.value)


def test_projects_are_read_from_json():
    other = {
        "name": "api",
        "prefix": "API",
        "repo_url": "/srv/api",
        "tracker": "plane",
        "tracker_project": "u-1",
        "agent_models": {"developer": "claude-x"},
        "agent_efforts": {"tester": "low"},
    }
    shop, api = parse_projects(json.dumps([MINIMAL, other]))
    assert (shop.name, api.agent_models["developer"], api.agent_efforts["tester"]) == (
        "shop",
        "claude-x",
        "low",
    )
    assert parse_projects(" ") == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "ORCH_PROJECTS_JSON: Invalid JSON"),
        ("{}", "ORCH_PROJECTS_JSON: Input should be a valid"),
        (json.dumps([{**MINIMAL, "prefix": "x"}]), "ORCH_PROJECTS_JSON: 0.prefix: must be 2 to 10"),
        (json.dumps([MINIMAL, MINIMAL]), "two projects have the name 'shop'; rename one"),
        (json.dumps([MINIMAL, {**MINIMAL, "name": "b"}]), "two projects have the prefix 'SHOP'"),
    ],
)
def test_a_bad_list_of_projects_is_refused(text, message):
    with pytest.raises(BadInput) as refused:
        parse_projects(text)
    assert message in str(refused.value)


def test_the_orchestrators_own_repository_is_known_by_its_name():
    assert make_project({**MINIMAL, "name": "orchestrator"}).self_hosting
    assert not make_project({**MINIMAL, "name": "orchestrator", "self_hosting": False}).self_hosting
    assert make_project({**MINIMAL, "self_hosting": True}).self_hosting
    assert parse_projects(json.dumps([{**MINIMAL, "name": "orchestrator"}]))[0].self_hosting


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
