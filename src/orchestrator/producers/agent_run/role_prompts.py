"""What a role is told: the repository's own prompt, or the built-in one."""

from typing import Final

from orchestrator.agents.prompts import built_in_prompt
from orchestrator.errors import BadInput
from orchestrator.pipeline.stages import Role
from orchestrator.ports.workspace import Branch, Workspace

PROMPTS: Final = ".openclaw/agents"
"""Where a repository keeps the prompts that stand in for the built-in ones, one file for each role."""

LARGEST: Final = 64 * 1024
"""Bytes of a prompt: a longer one is a mistake, and would be paid for in every run."""


async def role_prompt(workspace: Workspace, branch: Branch, role: Role) -> str:
    """The prompt of ``role``: that of the base branch if there is one, never that of the item's own branch.

    Raises:
        BadInput: the repository has a prompt of its own, which is empty, too large or not UTF-8.
        Unavailable: the workspace cannot be reached.
    """
    path = f"{PROMPTS}/{role.value}.md"
    blob = await workspace.read(branch.project, await workspace.base_head(branch), path)
    if blob is None:
        return built_in_prompt(role)
    place = f"{path} on {branch.base}"
    if len(blob.data) > LARGEST:
        raise BadInput(f"{place} is larger than {LARGEST // 1024} KB; shorten it, or remove it")
    try:
        text = blob.data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(
            f"{place} is not UTF-8 (byte {error.start}); save it as UTF-8, or remove it"
        ) from error
    if not text.strip():
        raise BadInput(f"{place} is empty; write a prompt, or remove it")
    return text
