"""The directories of an agent's runs: which one is going on, and what was begun in it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from orchestrator.errors import Malformed
from orchestrator.pipeline.ids import Commit, RunId
from orchestrator.ports.producer import Assignment

_BEGUN: Final = "run.json"
_PROMPT: Final = "prompt.md"
_SETTLED: Final = "settled"


@dataclass(frozen=True, slots=True)
class Begun:
    """A run whose workspace was prepared: its row, and the commit that it starts from."""

    run_id: RunId
    start: Commit


class RunDirs:
    """Names run directories, one for each run that an assignment's job leads to."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def present(self, assignment: Assignment) -> Path:
        """The directory of the run that goes on, or of the next one when all before are settled.

        A job that was put back without spending an attempt, after a limit for example, gets a new directory
        with a number at its end.
        """
        item, job = assignment.item, assignment.job
        name = f"{assignment.stage}-e{item.epoch}-j{job.id}-a{job.attempts}"
        place = self._root / item.id
        directory, number = place / name, 1
        while (directory / _SETTLED).exists():
            number += 1
            directory = place / f"{name}-{number}"
        return directory


def read_begun(run_dir: Path) -> Begun | None:
    """What was begun in a run directory; ``None`` when nothing was.

    Raises:
        Malformed: the note is damaged.
    """
    try:
        said = json.loads((run_dir / _BEGUN).read_text(encoding="utf-8"))
        return Begun(RunId(int(said["run_id"])), Commit(str(said["start"])))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise Malformed(f"{run_dir / _BEGUN} is damaged: {error}") from error


def note_begun(run_dir: Path, begun: Begun) -> None:
    """Remember that the workspace is prepared: from now on it is not reset any more."""
    part = run_dir / f"{_BEGUN}.part"
    part.write_text(json.dumps({"run_id": begun.run_id, "start": begun.start}), encoding="utf-8")
    part.replace(run_dir / _BEGUN)


def note_prompt(run_dir: Path, prompt: str) -> None:
    """Keep what the role is told: whoever re-attaches to the run tells it the same, and people can look."""
    (run_dir / _PROMPT).write_text(prompt, encoding="utf-8")


def read_prompt(run_dir: Path) -> str:
    """What the role was told in this run; empty for a run that was begun before prompts were kept."""
    try:
        return (run_dir / _PROMPT).read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""


def settle(run_dir: Path) -> None:
    """Note that the run is over and its work is not wanted: what follows is another run."""
    (run_dir / _SETTLED).touch()
