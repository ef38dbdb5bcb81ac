"""Where real CLIs work in tests: repositories of their own, and programs of the system only."""

import os
import shutil
import subprocess
import sys
from pathlib import Path


def repository(directory: Path) -> Path:
    """An empty git repository in which commits can be made without further settings."""
    directory.mkdir()
    for command in (
        ["init", "-q", "-b", "main"],
        ["config", "user.name", "A. Developer"],
        ["config", "user.email", "developer@localhost"],
    ):
        subprocess.run(["git", *command], cwd=directory, check=True)
    return directory


def log(directory: Path) -> list[str]:
    """The subjects of the commits, the newest first."""
    command = ["git", "log", "--format=%s"]
    shown = subprocess.run(command, cwd=directory, check=True, capture_output=True, text=True)
    return shown.stdout.splitlines()


def system_path(*programs: str) -> str:
    """A PATH with what a CLI starts: git, Python, a shell, and ``programs``."""
    found = [shutil.which(name) for name in ("git", "sh", "env", *programs)]
    places = [str(Path(program).parent) for program in (*found, sys.executable) if program]
    return os.pathsep.join(dict.fromkeys(places))
