"""Each role has a built-in prompt with the five sections of the canon and its machine key."""

import re

import pytest

from orchestrator.agents.prompts import built_in_prompt
from orchestrator.pipeline.artifacts import CATALOGUE, SCHEMA_KEYS
from orchestrator.pipeline.stages import Role

SECTIONS = ["Role", "Input", "Work", "Output", "Limits"]


@pytest.mark.parametrize("role", Role)
def test_a_prompt_has_the_five_sections(role):
    text = built_in_prompt(role)
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == SECTIONS


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.DEVELOPER])
def test_a_prompt_names_what_the_role_owes(role):
    text = built_in_prompt(role)
    owed = [row for row in CATALOGUE if row.writer is role and row.required]
    assert owed
    for row in owed:
        assert row.name.split("*")[0] in text
        assert row.machine_key in text
    for key in SCHEMA_KEYS:
        assert f"`{key}" in text


def test_nobody_but_the_role_itself_is_named_as_author():
    for role in Role:
        assert set(re.findall(r"author_agent: (\w+)", built_in_prompt(role))) <= {role.value}
