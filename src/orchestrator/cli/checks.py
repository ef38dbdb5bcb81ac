"""One thing that `orch doctor` looked at."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at; ``mend`` says what to do when it is not in order."""

    name: str
    ok: bool
    detail: str
    mend: str = ""
