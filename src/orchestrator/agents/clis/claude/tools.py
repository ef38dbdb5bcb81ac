"""Which tools a role has, and where its fence stands.

The rules keep a model from doing by mistake or by habit what is not its role's business. A role that may run
any command can go around every one of them: what has to hold against intent is the sandbox, and that agents
hold no right to push.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from orchestrator.agents.clis.lines import Document, text
from orchestrator.pipeline.stages import Role

TOOLS: Final = ("Bash", "Edit", "Glob", "Grep", "Read", "Write")
"""All tools that exist for an agent: no network, no agents below it."""

BUILDERS: Final = frozenset({Role.DEVELOPER, Role.TESTER, Role.DEPLOYER})
"""Roles that change the code and run commands; the others read, and write their documents."""

_READING: Final = ("Glob", "Grep", "Read")
_WRITING: Final = frozenset({"Edit", "Write"})
# Options before the subcommand begin with a dash; `git * push *` would find the word in a commit message.
_NO_PUSH: Final = (
    "Bash(git push)",
    "Bash(git push *)",
    "Bash(git -* push)",
    "Bash(git -* push *)",
    "Bash(git submodule foreach * push *)",
    "Bash(git send-pack *)",
    "Bash(git -* send-pack *)",
)
_NO_AGENTS: Final = ("Agent", "Task", "WebFetch", "WebSearch")

_PUSH = re.compile(r"\b(?:push|send-pack)\b")
_SPECIAL = re.compile(r"([\\*?\[\]!#])")


@dataclass(frozen=True, slots=True)
class Rights:
    """The rights of a role in one run: rules as the CLI reads them; a denial wins over a permission.

    ``writes_anywhere`` is whether any file may be written and any command run; otherwise only below the
    ``writable`` directories.
    """

    allowed: tuple[str, ...]
    denied: tuple[str, ...]
    writes_anywhere: bool
    writable: tuple[Path, ...]

    def has(self, tool: str, given: Document) -> bool:
        """Whether the role has the tool for this use of it; what it was refused then is no fence at work."""
        if tool in _READING:
            return True
        if tool in _WRITING:
            return self.writes_anywhere or self._is_writable(text(given, "file_path"))
        return tool == "Bash" and self.writes_anywhere and not _PUSH.search(text(given, "command"))

    def _is_writable(self, path: str) -> bool:
        place = Path(os.path.realpath(path))
        return any(place.is_relative_to(own) for own in self.writable)


def rights_of(role: Role, workspace: Path, artifact_dir: Path) -> Rights:
    """The rights of ``role``; documents are written below ``artifact_dir`` in ``workspace``.

    A role that writes documents has no rule for commands: without one the CLI lets those through of which it
    knows itself that they only read (``git log``, ``git diff``, ``cat``), and none that writes a file.
    """
    if role in BUILDERS:
        return Rights(TOOLS, (*_NO_AGENTS, *_NO_PUSH), writes_anywhere=True, writable=())
    places = _spellings(workspace, artifact_dir)
    allowed = (
        *_READING,
        *(f"Edit(/{_SPECIAL.sub(_escaped, str(place))}/**)" for place in places),
    )
    return Rights(allowed, (*_NO_AGENTS, *_NO_PUSH), writes_anywhere=False, writable=places)


def _spellings(workspace: Path, artifact_dir: Path) -> tuple[Path, ...]:
    """The directory as it is named, and as it is behind links to the workspace: a rule has to hold for both.

    A link inside the workspace is not followed: it would be the agent's way out.
    """
    named = artifact_dir.absolute()
    if not named.is_relative_to(workspace.absolute()):
        return (named,)
    real = Path(os.path.realpath(workspace)) / named.relative_to(workspace.absolute())
    return tuple(dict.fromkeys((named, real)))


def _escaped(found: re.Match[str]) -> str:
    return f"\\{found[0]}"
