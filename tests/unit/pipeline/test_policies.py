import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.pipeline.ids import WorkItemId
from orchestrator.pipeline.policies import (
    EFFORT_FLOOR,
    VALID_EFFORTS,
    Resolved,
    branch_name,
    is_valid_model,
    resolve_effort,
    resolve_model,
    title_problem,
)
from orchestrator.pipeline.stages import Role

ITEM = WorkItemId("ORCH-112")


@pytest.mark.parametrize(
    ("levels", "model", "warned"),
    [
        ({}, None, 0),
        ({"default": "claude-opus-4-8"}, "claude-opus-4-8", 0),
        ({"setting": "claude-sonnet-4-5", "default": "claude-opus-4-8"}, "claude-sonnet-4-5", 0),
        ({"project": "claude-opus-4-8[1m]", "setting": "claude-x"}, "claude-opus-4-8[1m]", 0),
        ({"project": "gpt-5", "setting": "claude-x"}, "claude-x", 1),
        ({"project": "gpt-5", "setting": "claude-", "default": "opus"}, None, 3),
        ({"project": " ", "setting": "", "default": " claude-x "}, "claude-x", 0),
    ],
)
def test_the_first_valid_model_wins(levels, model, warned):
    resolved = resolve_model(**levels)
    assert resolved.value == model
    assert len(resolved.warnings) == warned


@pytest.mark.parametrize(
    "name", ["claude-x --flag", "claude-x\n", "claude-", "-claude-x", "claude-X;rm", "claude-é"]
)
def test_a_model_name_cannot_smuggle_a_flag(name):
    assert not is_valid_model(name)
    assert resolve_model(project=name.strip() + "!", cli="codex").value is None


def test_other_clis_have_other_models():
    assert resolve_model(project="gpt-5.1-codex", cli="codex").value == "gpt-5.1-codex"
    assert not is_valid_model("--yolo", "codex")


@pytest.mark.parametrize("role", Role)
def test_the_floor_stands_in_only_when_every_level_is_empty(role):
    assert resolve_effort(role, project="", setting=" ", default=None) == Resolved(EFFORT_FLOOR[role])


def test_the_floor_of_each_role_is_agreed():
    assert {role.value: effort for role, effort in EFFORT_FLOOR.items()} == {
        "analyst": "high",
        "architect": "high",
        "developer": "xhigh",
        "reviewer": "high",
        "tester": "medium",
        "deployer": "medium",
    }
    assert VALID_EFFORTS == ("low", "medium", "high", "xhigh", "max")


@pytest.mark.parametrize(
    ("levels", "effort", "warned"),
    [
        ({"project": "low", "setting": "max"}, "low", 0),
        ({"setting": "MAX"}, "max", 0),
        ({"project": "hihg", "setting": "low"}, "low", 1),
        ({"project": "hihg"}, None, 1),
        ({"project": "hihg", "default": "much"}, None, 2),
        ({"default": "high"}, "high", 0),
    ],
)
def test_a_typo_is_dropped_and_never_hidden_by_the_floor(levels, effort, warned):
    resolved = resolve_effort(Role.DEVELOPER, **levels)
    assert resolved.value == effort
    assert len(resolved.warnings) == warned


@pytest.mark.parametrize(
    ("title", "branch"),
    [
        ("Bug: failed/cancelled task artifacts", "feature/ORCH-112-bug-failed-cancelled-task-arti"),
        ("Post-deploy rollback", "feature/ORCH-112-post-deploy-rollback"),
        ("Щётка для съёмки: юла & ёж", "feature/ORCH-112-schetka-dlya-semki-yula-ezh"),
        ("Café déjà", "feature/ORCH-112-cafe-deja"),
        ("日本語", "feature/ORCH-112-change"),
        ("", "feature/ORCH-112-change"),
        ("a" * 29 + " b", "feature/ORCH-112-" + "a" * 29),
    ],
)
def test_a_branch_is_named_after_item_and_title(title, branch):
    assert branch_name(ITEM, title) == branch


def test_a_round_after_the_merge_gets_a_branch_of_its_own():
    names = [branch_name(ITEM, "Post-deploy rollback", attempt) for attempt in (1, 2, 3)]
    assert names[1:] == [f"{names[0]}-r2", f"{names[0]}-r3"]


@given(item=st.text(), title=st.text(), attempt=st.integers(1, 20))
def test_any_branch_name_is_safe_for_git(item, title, attempt):
    name = branch_name(WorkItemId(item), title, attempt)
    assert re.fullmatch(r"feature/[A-Za-z0-9_][A-Za-z0-9_-]*-[a-z0-9]+(-[a-z0-9]+)*", name)


@pytest.mark.parametrize(
    ("title", "fine"), [("x", True), ("x" * 80, True), ("ж" * 80, True), ("x" * 81, False)]
)
def test_a_title_has_at_most_eighty_characters(title, fine):
    assert (title_problem(title) is None) is fine


@pytest.mark.parametrize("title", ["", " ", "\n\t"])
def test_a_blank_title_is_refused(title):
    assert title_problem(title) == "the title is empty: write in one line what is wanted"


def test_the_refusal_says_how_long_the_title_is():
    assert title_problem("x" * 95) == "the title has 95 characters: shorten it to 80 and move the rest below"
