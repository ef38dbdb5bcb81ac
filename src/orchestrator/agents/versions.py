"""Which version of a CLI is installed: asked once for each program file, and remembered on disk."""

import hashlib
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Final

from orchestrator.errors import Rejected, Unavailable
from orchestrator.plumbing.processes import CommandSpec, Processes, clean_environment, tail_text

LIMIT: Final = timedelta(seconds=20)
_GRACE: Final = timedelta(seconds=1)
_MOST: Final = 2_000


class Versions:
    """Asks programs for their version; ``root`` is where the answers are kept."""

    def __init__(self, processes: Processes, root: Path) -> None:
        self._processes = processes
        self._root = root

    async def of(self, argv: tuple[str, ...]) -> str:
        """What the command prints about its version, in one line; a program that was replaced is asked again.

        Raises:
            Rejected: it is not there, or does not answer.
            Unavailable: no process can be started, or it takes too long.
        """
        place = self._place(argv)
        spec = CommandSpec(argv, Path("/"), clean_environment({}), limit=LIMIT, grace=_GRACE)
        record = await self._processes.run(place, spec)
        said = tail_text(place / "output.log", _MOST).strip()
        if record.ok and said:
            return said.splitlines()[0]
        # An answer that could not be had today may be had tomorrow.
        shutil.rmtree(place, ignore_errors=True)
        if record.timed_out:
            raise Unavailable(f"{' '.join(argv)} did not answer within {LIMIT.total_seconds():g} s")
        raise Rejected(f"{' '.join(argv)} does not name its version: {said or record.error or 'no answer'}")

    def forget(self, argv: tuple[str, ...]) -> None:
        """Ask the program anew the next time."""
        shutil.rmtree(self._place(argv), ignore_errors=True)

    def _place(self, argv: tuple[str, ...]) -> Path:
        program = Path(argv[0])
        try:
            facts = program.resolve(strict=True).stat()
        except OSError as error:
            raise Rejected(f"{program} cannot be used: {error.strerror}") from error
        name = "\0".join((*argv, str(facts.st_ino), str(facts.st_size), str(facts.st_mtime_ns)))
        return self._root / hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:16]
