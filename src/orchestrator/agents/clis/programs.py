"""Finding the program of a CLI, and what it needs to be seen of it when it runs locked in."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import Rejected


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a program is called before people, and what they do when there is none."""

    name: str
    cure: str


def find_program(command: str, *, home: Path, path: str, wanted: Wanted) -> Path:
    """The program that ``command`` names: a bare name is looked up on ``path``, a path is below ``home``.

    Raises:
        Rejected: there is no such program.
    """
    if os.sep not in command:
        found = shutil.which(command, path=path)
        if found is None:
            raise Rejected(f"the {wanted.name} {command!r} is not on PATH; {wanted.cure}")
        return Path(found)
    place = home / command
    if not place.is_file():
        raise Rejected(f"there is no {wanted.name} {place}; {wanted.cure}")
    if not os.access(place, os.X_OK):
        raise Rejected(f"the {wanted.name} {place} is not executable; run chmod +x on it")
    return place


def parts_of(program: Path) -> tuple[str, ...]:
    """What has to be readable for ``program`` to run: itself behind its links, and the packages of npm."""
    real = Path(os.path.realpath(program))
    packages = [place for place in real.parents if place.name == "node_modules"]
    return (str(program), str(packages[-1] if packages else real))
