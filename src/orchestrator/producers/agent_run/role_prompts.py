"""What a role is told: the repository's own prompt, or the built-in one."""

from typing import Final

from orchestrator.agents.prompts import built_in_prompt
from orchestrator.errors import BadInput
from orchestrator.pipeline.ids import Commit
from orchestrator.pipeline.stages import Role
from orchestrator.ports.workspace import Blob, Branch, Workspace

PROMPTS: Final = ".openclaw/agents"
"""Where a repository keeps the prompts that stand in for the built-in ones, one file for each role."""

LARGEST: Final = 64 * 1024
"""Bytes of a prompt: a longer one is a mistake, and would be paid for in every run."""


class RolePrompts:
    """Knows what roles are told; a prompt of a repository is read once for each commit of its base branch."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._known: dict[tuple[str, str, Role], tuple[Commit, str]] = {}

    async def of(self, branch: Branch, role: Role) -> str:
        """The prompt of ``role``: that of the base branch if there is one, never that of the item's branch.

        Raises:
            BadInput: the repository has a prompt of its own, which is empty, too large or not UTF-8.
            Unavailable: the workspace cannot be reached.
        """
        base, key = await self._workspace.base_head(branch), (branch.project, branch.base, role)
        known = self._known.get(key)
        if known is None or known[0] != base:
            path = f"{PROMPTS}/{role.value}.md"
            blob = await self._workspace.read(branch.project, base, path)
            known = (
                base,
                built_in_prompt(role) if blob is None else _checked(blob, f"{path} on {branch.base}"),
            )
            self._known[key] = known
        return known[1]


def _checked(blob: Blob, place: str) -> str:
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
