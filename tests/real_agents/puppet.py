"""A fake model that does good work: it plays the demo's scripted agent in a copy of the workspace, and turns
what that changed into the tool calls of a coding CLI.

It knows nothing but what a model knows: the request, and through tools the workspace.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from orchestrator.testing.models import ModelRequest, TokenUsage, ToolCall, Turn

ROLES: Final = {"dev": "developer"}
TITLE: Final = "Add /average to the tally service"
_TASK: Final = re.compile(r"\.task-([a-z]+)\.md")
_COMMIT: Final = "git add -A && git commit -q -m 'Work of the developer' && git log --oneline | head -1"


@dataclass
class Puppet:
    """A script for the fake server; ``agent`` is the demo's `agent.py` with its playbook beside it.

    Each task of a role is worked out once, when it is first asked about.
    """

    agent: Path
    scratch: Path
    fail: str = ""
    wrong: dict[str, Callable[[ModelRequest], Sequence[Turn] | None]] = field(default_factory=dict)
    """Roles whose model answers something else first; ``None`` from one leaves it to the good work."""
    lead: dict[str, Turn] = field(default_factory=dict)
    """What the model of a role does before the good work."""
    _known: dict[str, Sequence[Turn]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, request: ModelRequest) -> Sequence[Turn]:
        """The turns of the task that the request belongs to."""
        if request.is_aside:
            return ()
        role = role_of(request)
        other = self.wrong.get(role)
        answer = other(request) if other is not None else None
        if answer is not None:
            return answer
        key = request.headers.get("x-claude-code-session-id", "") + request.task
        with self._lock:
            if key not in self._known:
                lead = (self.lead[role],) if role in self.lead else ()
                work = self._work(role, Path(request.cwd))
                self._known[key] = (*lead, *(map(by_shell, work) if "Write" not in request.tools else work))
            return self._known[key]

    def _work(self, role: str, workspace: Path) -> Iterator[Turn]:
        """Read the task, read and write what the role changes, commit if it is code, and say so."""
        copy = self.scratch / f"copy-{len(self._known)}"
        shutil.copytree(workspace, copy, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        self._play(role, copy)
        changes = list(changed(workspace, copy))
        task = task_file(role)
        known = [ToolCall("Read", {"file_path": str(workspace / path)}) for path, old in changes if old]
        read = ToolCall("Read", {"file_path": str(workspace / task)})
        yield Turn(
            text=f"I read the task of the {role}.",
            tools=(read, *known),
            usage=TokenUsage(input=900, output=40, cache_creation=4000),
        )
        writes = [
            ToolCall("Write", {"file_path": str(workspace / path), "content": (copy / path).read_text()})
            for path, _ in changes
        ]
        if writes:
            yield Turn(tools=writes, usage=TokenUsage(input=20, output=600, cache_read=4900))
        if role == "developer":
            commit = ToolCall("Bash", {"command": _COMMIT, "description": "Commit the change"})
            yield Turn(tools=(commit,), usage=TokenUsage(input=15, output=30, cache_read=5500))
        yield Turn(text="Done.", usage=TokenUsage(input=10, output=12, cache_read=5600))

    def _play(self, role: str, copy: Path) -> None:
        item = next((copy / "docs" / "work-items").iterdir()).name
        environment = {
            **{name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ},
            "ORCH_ROLE": role,
            "ORCH_WORK_ITEM": item,
            "ORCH_TITLE": TITLE,
            "ORCH_TASK_FILE": str(copy / task_file(role)),
            "ORCH_ARTIFACT_DIR": str(copy / "docs" / "work-items" / item),
            "ORCH_ROUND": "1",
            "ORCH_DEMO_FAIL": self.fail,
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        done = subprocess.run(
            [sys.executable, str(self.agent)],
            cwd=copy,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def by_shell(turn: Turn) -> Turn:
    """The same turn for a CLI whose only tool is a shell."""
    commands = []
    for tool in turn.tools:
        given = dict(tool.input) if not isinstance(tool.input, str) else {}
        path = shlex.quote(str(given.get("file_path", "")))
        match tool.name:
            case "Read":
                commands.append(f"cat {path}")
            case "Write":
                commands.append(
                    f"mkdir -p $(dirname {path}); cat > {path} <<'END OF FILE'\n{given['content']}END OF FILE"
                )
            case "Bash":
                commands.append(str(given["command"]))
    calls = (ToolCall("exec_command", {"cmd": "\n".join(commands)}),) if commands else ()
    return replace(turn, tools=calls)


def role_of(request: ModelRequest) -> str:
    """The role whose task the request is about, by the name of its task file."""
    found = _TASK.search(request.task) or _TASK.search(request.system)
    assert found is not None, request.task[:500]
    return ROLES.get(found[1], found[1])


def task_file(role: str) -> str:
    return ".task-dev.md" if role == "developer" else f".task-{role}.md"


def changed(before: Path, after: Path) -> Iterator[tuple[str, bool]]:
    """The files of ``after`` that differ from ``before``, and whether they were there."""
    for path in sorted(after.rglob("*")):
        name = path.relative_to(after).as_posix()
        if not path.is_file() or "__pycache__" in name:
            continue
        old = before / name
        if not old.is_file() or old.read_bytes() != path.read_bytes():
            yield name, old.is_file()
