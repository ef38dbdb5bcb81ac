"""The directories of an agent's runs: which one is going on, and what was begun in it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from orchestrator.errors import Malformed
from orchestrator.pipeline.ids import Commit, RunId
from orchestrator.ports.agent import Session
from orchestrator.ports.producer import Assignment

_BEGUN: Final = "run.json"
_PROMPT: Final = "prompt.md"
_SESSION: Final = "session.json"
_SETTLED: Final = "settled"


@dataclass(frozen=True, slots=True)
class Begun:
    """A run whose workspace was prepared: its row, and the commit that it starts from.

    ``session`` is the conversation that begins with it, ``resume`` the one that goes on in it instead.
    ``cli`` and ``locked_in`` are those that it was started with, whatever the settings say later.
    """

    run_id: RunId
    start: Commit
    session: str = ""
    resume: Session | None = None
    cli: str = ""
    locked_in: bool = False


@dataclass(frozen=True, slots=True)
class Interrupted:
    """A run that a limit ended in the middle: its conversation, where it had started from, and with what."""

    session: Session
    start: Commit
    cli: str = ""
    locked_in: bool = False


class RunDirs:
    """Names run directories, one for each run that an assignment's job leads to."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def present(self, assignment: Assignment) -> Path:
        """The directory of the run that goes on, or of the next one when all before are settled.

        A job that was put back without spending an attempt, after a limit for example, gets a new directory
        with a number at its end.
        """
        return self._present_and_last(assignment)[0]

    def interrupted(self, assignment: Assignment) -> Interrupted | None:
        """The run before the present one, if a limit ended it and its conversation can go on.

        Raises:
            Malformed: the note of it is damaged.
        """
        last = self._present_and_last(assignment)[1]
        said = _read(last / _SESSION) if last is not None else None
        if said is None:
            return None
        try:
            return Interrupted(
                _session(said["session"]),
                Commit(str(said["start"])),
                str(said.get("cli", "")),
                bool(said.get("locked_in")),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise Malformed(f"{last}/{_SESSION} is damaged: {error}") from error

    def _present_and_last(self, assignment: Assignment) -> tuple[Path, Path | None]:
        item, job = assignment.item, assignment.job
        name = f"{assignment.stage}-e{item.epoch}-j{job.id}-a{job.attempts}"
        place = self._root / item.id
        directory, last, number = place / name, None, 1
        while (directory / _SETTLED).exists():
            number += 1
            directory, last = place / f"{name}-{number}", directory
        return directory, last


def read_begun(run_dir: Path) -> Begun | None:
    """What was begun in a run directory; ``None`` when nothing was.

    Raises:
        Malformed: the note is damaged.
    """
    said = _read(run_dir / _BEGUN)
    if said is None:
        return None
    try:
        resume = said.get("resume")
        return Begun(
            RunId(int(str(said["run_id"]))),
            Commit(str(said["start"])),
            str(said.get("session", "")),
            None if resume is None else _session(resume),
            str(said.get("cli", "")),
            bool(said.get("locked_in")),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise Malformed(f"{run_dir / _BEGUN} is damaged: {error}") from error


def note_begun(run_dir: Path, begun: Begun) -> None:
    """Remember that the workspace is prepared: from now on it is not reset any more."""
    _write(run_dir / _BEGUN, asdict(begun))


def note_interrupted(run_dir: Path, interrupted: Interrupted) -> None:
    """Remember the conversation of a run that a limit ended: the next run goes on with it."""
    _write(run_dir / _SESSION, asdict(interrupted))


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


def _session(said: object) -> Session:
    if not isinstance(said, dict):
        raise TypeError("a session is an object")
    return Session(str(said["id"]), float(said["cost_usd"]))


def _read(place: Path) -> Mapping[str, object] | None:
    try:
        said = json.loads(place.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise Malformed(f"{place} is damaged: {error}") from error
    if not isinstance(said, dict):
        raise Malformed(f"{place} is damaged: it is not an object")
    return said


def _write(place: Path, said: Mapping[str, object]) -> None:
    part = place.with_name(f"{place.name}.part")
    part.write_text(json.dumps(said), encoding="utf-8")
    part.replace(place)
