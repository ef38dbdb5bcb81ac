"""A user's repository with one commit."""

import os
import subprocess
from pathlib import Path

CONTRACT = "test:\n  run: python -m pytest -q\n"


def made(path: Path, files: dict[str, str] | None = None, *, branch: str = "main") -> Path:
    """A repository at ``path`` that holds these files."""
    path.mkdir(parents=True)
    for name, text in (files or {"README.md": "# A service\n"}).items():
        (path / name).write_text(text)
    git(path, "init", "-q", "-b", branch)
    git(path, "add", "-A")
    git(path, "commit", "-q", "-m", "first")
    return path


def git(path: Path, *words: str) -> None:
    identity = ("-c", "user.name=Sam", "-c", "user.email=sam@example.org")
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    subprocess.run(["git", *identity, *words], cwd=path, env=environment, check=True, capture_output=True)
