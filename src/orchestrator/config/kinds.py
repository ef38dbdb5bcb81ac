"""The kinds of values that settings take, and the mark of those that tolerate a bad value."""

from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Annotated, Final
from zoneinfo import ZoneInfo

from pydantic import Field

_WEEK_S: Final = 604_800
_DECADE_DAYS: Final = 3_650


@dataclass(frozen=True, slots=True)
class Tolerant:
    """Marks a setting whose bad value is replaced with a warning, not refused (ORCH-115 D5, D9; ORCH-109).

    ``fallback`` replaces the bad value; ``None`` means the default of the setting.
    """

    fallback: int | None = None


Port = Annotated[int, Field(ge=1, le=65_535)]
Seconds = Annotated[int, Field(gt=0, le=_WEEK_S)]
"""A limit in whole seconds, at most a week."""

TolerantSeconds = Annotated[int, Field(gt=0, le=_WEEK_S), Tolerant()]
Interval = Annotated[float, Field(gt=0, le=_WEEK_S, allow_inf_nan=False)]
"""A period in seconds; fractions are allowed."""

Delay = Annotated[float, Field(ge=0, le=_WEEK_S, allow_inf_nan=False)]
"""A wait in seconds; 0 means at once."""

TolerantDelay = Annotated[float, Field(ge=0, le=_WEEK_S, allow_inf_nan=False), Tolerant()]
Count = Annotated[int, Field(ge=0, le=1_000_000)]
TolerantCount = Annotated[int, Field(ge=0, le=1_000_000), Tolerant()]
Positive = Annotated[int, Field(ge=1, le=1_000_000)]
Days = Annotated[int, Field(ge=1, le=_DECADE_DAYS)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
"""A part of the whole, from 0 to 1."""


def zone_of(name: str) -> tzinfo:
    """The time zone of this name; UTC needs no database of time zones, which a small container may lack.

    Raises:
        ZoneInfoNotFoundError, ValueError, OSError: there is no such zone.
    """
    return UTC if name == "UTC" else ZoneInfo(name)
