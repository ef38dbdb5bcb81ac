"""What was measured, in the form in which it is told."""

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure; without an aim it stands beside another one for comparison.

    ``aim`` is the bound that is aimed at: the figure shall be at most that, or with ``at_least`` at least.
    ``costs`` says what the time or memory goes into; it is told when the aim is missed.
    """

    what: str
    value: float
    unit: str
    aim: float | None = None
    at_least: bool = False
    costs: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the aim is met; ``None`` without one."""
        if self.aim is None:
            return None
        return self.value >= self.aim if self.at_least else self.value <= self.aim

    @property
    def answer(self) -> str:
        """The last column of the table."""
        if self.aim is None:
            return ""
        if self.met:
            return "met"
        off = abs(self.value - self.aim)
        told = f"missed by {shown(off)} {self.unit} ({off / self.aim:.0%})".replace("  ", " ")
        return f"{told}: {self.costs}" if self.costs else told

    def row(self) -> tuple[str, str, str, str]:
        """What, figure, aim, answer."""
        sign = "≥" if self.at_least else "≤"
        aim = "" if self.aim is None else f"{sign} {shown(self.aim)} {self.unit}".rstrip()
        return self.what, f"{shown(self.value)} {self.unit}".rstrip(), aim, self.answer


@dataclass(slots=True)
class Part:
    """One of the four measurements: its figures, and the lines that say what they are figures of."""

    title: str
    notes: list[str] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)

    def add(self, figure: Figure) -> None:
        """One more figure."""
        self.figures.append(figure)

    def as_json(self) -> dict[str, object]:
        """The same for programs."""
        rows = [{**asdict(figure), "met": figure.met} for figure in self.figures]
        return {"title": self.title, "notes": self.notes, "figures": rows}


def median(values: Sequence[float]) -> float:
    """The middle one."""
    return statistics.median(values)


def p99(values: Sequence[float]) -> float:
    """The value that one in a hundred exceeds."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]


def shown(value: float) -> str:
    """A figure with as many digits as it has meaning."""
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
