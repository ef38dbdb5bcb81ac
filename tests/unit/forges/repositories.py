"""Real repositories for tests: a user's working repository, and what is seen in any repository."""

import subprocess
from pathlib import Path

from orchestrator.pipeline.ids import Commit, WorkItemId
from orchestrator.ports.workspace import Branch

IDENTITY = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
BRANCH = Branch("shop", "feature/SHOP-1-count", "main", WorkItemId("SHOP-1"))


def git(path: Path, *args: str, check: bool = True) -> str:
    result = subprocess.run(
        ["git", *IDENTITY, *args], cwd=path, capture_output=True, text=True, check=False, timeout=20
    )
    if check:
        assert result.returncode == 0, result.stderr
    return (result.stdout if check else result.stdout + result.stderr).strip()


def commit(path: Path, files: dict[str, str], message: str = "change") -> Commit:
    """Commit these files in a working repository; its head."""
    for name, text in files.items():
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    git(path, "add", "--all")
    git(path, "commit", "--quiet", "--allow-empty", "-m", message)
    return Commit(git(path, "rev-parse", "HEAD"))


def working_repository(path: Path) -> Path:
    """Somebody's repository with one commit on `main`."""
    path.mkdir(parents=True)
    git(path, "init", "--quiet", "--initial-branch=main")
    commit(path, {"app.py": "one\n", "docs/readme.md": "read\n"}, "begin")
    return path


def ref(path: Path, name: str) -> str:
    """The object id of a ref, or nothing."""
    return git(path, "for-each-ref", "--format=%(objectname)", name)


def push(path: Path, target: Path, refspec: str) -> str:
    """What git said to a push."""
    return git(path, "push", str(target), refspec, check=False)
