"""The ground on which everything is measured: a repository of a usual size, and an installation."""

import os
import random
import statistics
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from orchestrator.bootstrap import App, open_app
from orchestrator.config.projects import make_project
from orchestrator.config.settings import Settings
from orchestrator.ports.producer import Producer

FILES = 150
COMMITS = 20
CONTRACT = "test:\n  run: 'true'\n"
IDENTITY = {
    "GIT_AUTHOR_NAME": "Bench",
    "GIT_AUTHOR_EMAIL": "bench@orchestrator.invalid",
    "GIT_COMMITTER_NAME": "Bench",
    "GIT_COMMITTER_EMAIL": "bench@orchestrator.invalid",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
}
ENVIRONMENT = {"PATH": os.environ.get("PATH", os.defpath), "HOME": "/nonexistent", **IDENTITY}


def git(*words: str, cwd: Path, given: str | None = None) -> str:
    """One git command, as bare as it can be; what it said."""
    done = subprocess.run(
        ["git", *words], cwd=cwd, env=ENVIRONMENT, input=given, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def make_repository(place: Path) -> Path:
    """A bare repository with a contract, some hundred files and a short history: the same in every run."""
    written = _write_history(place.with_name(f"{place.name}-work"))
    git("clone", "--quiet", "--bare", str(written), str(place), cwd=place.parent)
    return place


def _write_history(place: Path) -> Path:
    chance = random.Random(1)
    place.mkdir(parents=True)
    git("init", "--quiet", "--initial-branch=main", cwd=place)
    (place / ".orchestrator.yml").write_text(CONTRACT)
    for number in range(FILES):
        file = place / "src" / f"package{number % 10}" / f"module{number}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        lines = (f"value_{line} = {chance.random()}" for line in range(80))
        file.write_text("\n".join(lines) + "\n")
    for number in range(COMMITS):
        (place / "CHANGES.md").write_text(f"Change {number}\n")
        git("add", "--all", cwd=place)
        git("commit", "--quiet", "--message", f"Change {number}", cwd=place)
    return place


def settings_below(home: Path, **others: object) -> Settings:
    """Settings of an installation in ``home`` in which no person has to confirm a deploy."""
    return Settings.model_validate(
        {"home": home, "agent_cli": "script", "deploy_require_manual_approve": False, **others}
    )


@asynccontextmanager
async def installation(
    settings: Settings,
    repositories: dict[str, Path],
    *,
    producers: Callable[[App], Sequence[Producer]] | None = None,
) -> AsyncIterator[App]:
    """An opened installation in which every repository is a registered project."""
    async with open_app(settings, producers=producers, raise_bugs=True) as app:
        for name, place in repositories.items():
            prefix = name.upper()
            await app.projects.add(
                make_project({"name": name, "prefix": prefix, "repo_url": str(place)}), (1, 2)
            )
        yield app


def fsync_ms(place: Path, times: int = 20) -> float:
    """Milliseconds that the disk takes to confirm a small write: the median of a few."""
    took = []
    with tempfile.TemporaryFile(dir=place) as file:
        for _ in range(times):
            file.write(b"x" * 512)
            file.flush()
            began = time.perf_counter()
            os.fsync(file.fileno())
            took.append((time.perf_counter() - began) * 1000)
    return statistics.median(took)
