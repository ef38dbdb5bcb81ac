"""Finding the program of a CLI, and what has to be seen and reached of it when it runs locked in."""

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from orchestrator.errors import Rejected

_VERSION: Final = re.compile(r"\b(\d{1,6})\.(\d{1,6})\.(\d{1,6})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a program is called before people, and what they do when there is none."""

    name: str
    cure: str


@dataclass(frozen=True, slots=True)
class Supported:
    """The versions of a program that are driven: from ``oldest`` up to, but not, ``following``.

    ``package`` is its name in npm, with the major version that is installed to come into the range.
    """

    program: str
    package: str
    oldest: tuple[int, int, int]
    following: tuple[int, int, int]

    def problem(self, said: str) -> str | None:
        """Why the version that the program named cannot be driven, and what to do; ``None`` when it can."""
        found = _VERSION.search(said)
        oldest, following = (".".join(map(str, one)) for one in (self.oldest, self.following))
        cure = f"install a version from {oldest} up to, but not, {following}: `npm install -g {self.package}`"
        if found is None:
            return f"the agent CLI names no version; {cure}"
        if self.oldest <= tuple(map(int, found.groups())) < self.following:
            return None
        return f"{self.program} {found[0]} cannot be driven; {cure}"


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


@dataclass(frozen=True, slots=True)
class NpmProgram:
    """The program of an agent CLI that npm installs; ``command`` is what the installation calls it.

    ``home`` is where a relative path of it begins.
    """

    package: str
    command: str
    home: Path

    def find(self, command: str, env: Mapping[str, str]) -> Path:
        """The program that a project names with ``command``, else the installation's, as ``env`` finds it.

        Raises:
            Rejected: there is no such program.
        """
        cure = f"install it with `npm install -g {self.package}`, or set ORCH_AGENT_COMMAND to its path"
        path = env.get("PATH", os.defpath)
        return find_program(
            command or self.command, home=self.home, path=path, wanted=Wanted("agent CLI", cure)
        )


def parts_of(program: Path) -> tuple[str, ...]:
    """What has to be readable for ``program`` to run: itself behind its links, and the packages of npm."""
    real = Path(os.path.realpath(program))
    packages = [place for place in real.parents if place.name == "node_modules"]
    return (str(program), str(packages[-1] if packages else real))


def origin_of(address: str) -> str:
    """Scheme, host and port of an address, without whoever it names before them."""
    url = urlsplit(address)
    return f"{url.scheme}://{url.netloc.rpartition('@')[2]}"
