"""The map of the reference system names files that exist, and calls nothing built that nothing proves."""

import re

import pytest

from tests.architecture.shape import PACKAGE, ROOT, TESTS

MAP = ROOT / "docs" / "reference-map.md"
PLACES = {"Here": PACKAGE, "Proof": TESTS}
NOWHERE = "—"
STATE = re.compile(r"built(: .+)?|partly: .+|later(: .+)?")
NAMED = re.compile(r"`([^`]+)`")


def rows(text):
    """Each row of the tables that have the column Here, as its cells by the name of their column."""
    columns: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("|"):
            columns = []
            continue
        cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not columns:
            columns = cells
        elif "Here" in columns and not set(line) <= set("|-: "):
            yield {"line": str(number), **dict(zip(columns, cells, strict=True))}


def faults(row):
    """What is wrong with a row: a path that is not there, an unknown state, a claim without proof."""
    found = []
    for column, place in PLACES.items():
        named = NAMED.findall(row[column])
        if not named and row[column] != NOWHERE:
            found.append(f"{column} names no file")
        found.extend(
            f"{name} does not exist"
            for name in named
            if not (place / name).exists() and not (ROOT / name).exists()
        )
    if not STATE.fullmatch(row["State"]):
        found.append(f"{row['State']!r} is no state")
    if row["State"].startswith("built") and NOWHERE in (row["Here"], row["Proof"]):
        found.append("it is called built, but a file or a proof is missing")
    return [f"line {row['line']}: {fault}" for fault in found]


def test_every_row_of_the_map_holds():
    entries = list(rows(MAP.read_text("utf-8")))
    assert len(entries) > 100
    assert "\n".join(fault for row in entries for fault in faults(row)) == ""


@pytest.mark.parametrize(
    ("here", "proof", "state", "fault"),
    [
        ("`errors.py`", "`conftest.py`", "built", ""),
        ("`errors.py`, `docs/glossary.md`", "`conftest.py`", "built: and how", ""),
        ("—", "—", "later", ""),
        ("`errors.py`", "—", "partly: the rest is missing", ""),
        ("`nowhere.py`", "—", "later", "nowhere.py does not exist"),
        ("`errors.py`", "`test_nothing.py`", "built", "test_nothing.py does not exist"),
        ("somewhere", "—", "later", "Here names no file"),
        ("`errors.py`", "—", "built", "it is called built, but a file or a proof is missing"),
        ("`errors.py`", "—", "partly", "'partly' is no state"),
    ],
)
def test_a_row_that_does_not_hold_is_found(here, proof, state, fault):
    table = f"| What | Here | Proof | State |\n|---|---|---|---|\n| a \\| b | {here} | {proof} | {state} |\n"
    found = [fault for row in rows(table) for fault in faults(row)]
    assert found == ([f"line 3: {fault}"] if fault else [])


def test_other_tables_are_passed_over():
    assert list(rows("| Word | Meaning |\n|---|---|\n| gate | a question |\n")) == []
