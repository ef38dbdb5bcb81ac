"""What agents did is read, and watched while they do it."""

import json
import os
import subprocess
import sys

import pytest

from orchestrator.cli.event_text import SIGNS, event_lines
from orchestrator.ports.agent import LogEvent, LogKind
from tests.unit.cli import repositories
from tests.unit.cli.runs import Runs

TOKEN = "ghp_0123456789abcdefghijABCDEFGHIJ"
USAGE = '{"usage": {"input": 1000, "output": 200, "cost_usd": 0.25}}'


@pytest.fixture
def tally(orch, tmp_path):
    repositories.made(tmp_path / "tally")
    assert orch("project", "add", "tally", "--prefix", "TAL").code == 0
    assert orch("item", "new", "Add an average").code == 0
    return orch


@pytest.fixture
def runs(tally, tmp_path):
    return Runs(tmp_path / "home")


@pytest.fixture
def ended(runs):
    """A run that is over."""
    run, log = runs.start("TAL-1", "analyst")
    log.write_text(f"reading\nAPI_TOKEN={TOKEN}\n{USAGE}\n\x1b[31mred\x1b[0m")
    runs.end(run)
    return run


def test_the_last_run_of_the_item_is_told_event_by_event(tally, runs, ended):
    second, log = runs.start("TAL-1", "developer")
    log.write_text("writing\n")
    assert tally("logs", "tal-1").out.splitlines() == [
        f"── run {second}: developer in created, m-1 high, script ──",
        "• writing",
    ]
    told = tally("logs", "TAL-1", "--run", ended).out.splitlines()
    assert told[1:5] == ["• reading", "• API_TOKEN=***", "Σ 1200 tokens, $0.2500", "• red"]
    assert told[5].startswith(f"── run {ended} ended: finished, 1,200 tokens, $0.2500, ")


def test_without_an_item_the_newest_run_of_all_is_told(tally, runs, ended):
    tally("item", "new", "Another wish")
    _, log = runs.start("TAL-2", "analyst")
    log.write_text("of the second item\n")
    assert tally("logs").out.splitlines()[1] == "• of the second item"


def test_programs_read_an_object_for_each_event(tally, ended):
    rows = [json.loads(line) for line in tally("logs", "TAL-1", "--json").out.splitlines()]
    assert [row["kind"] for row in rows] == ["started", "text", "text", "cost", "text", "ended"]
    assert rows[1] == {"run": ended, "kind": "text", "text": "reading", "detail": "", "index": 0}
    assert all(row["run"] == ended for row in rows)


def test_the_log_as_it_is_is_masked_too(tally, ended):
    ran = tally("logs", "TAL-1", "--raw")
    assert ran.out.splitlines()[:3] == ["reading", "API_TOKEN=***", USAGE]
    assert f"run {ended} of the analyst" in ran.err


def test_the_item_command_does_the_same(tally, ended):
    assert tally("item", "logs", "TAL-1").out == tally("logs", "TAL-1").out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["TAL-9"], "unknown work item TAL-9"),
        (["TAL-1"], "TAL-1 has no run yet"),
        (["TAL-1", "--run", "5"], "TAL-1 has no run 5 yet"),
        ([], "no agent has run yet"),
        (["TAL-1", "--raw", "--json"], "choose one of them"),
        (["TAL-9", "-f"], "unknown work item TAL-9"),
    ],
)
def test_what_cannot_be_shown_is_one_line(tally, words, told):
    ran = tally("logs", *words)
    assert ran.code == 2
    assert told in ran.err
    assert "Traceback" not in ran.err


class Watcher:
    """`orch logs` in a process of its own, whose lines are read as they come."""

    def __init__(self, *words: object) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "orchestrator.cli", "logs", *map(str, words)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=dict(os.environ),
        )

    def line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().rstrip("\n")

    def remark(self) -> str:
        assert self._process.stderr is not None
        return self._process.stderr.readline()

    def end(self) -> tuple[int, str]:
        """The exit code, and what came after the lines that were read."""
        out, _ = self._process.communicate(timeout=60)
        return self._process.returncode, out

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.communicate()


def test_following_goes_from_run_to_run_until_the_item_ends(tally, runs):
    first, log = runs.start("TAL-1", "analyst")
    with log.open("a") as written, Watcher("TAL-1", "-f") as watcher:
        assert watcher.line() == f"── run {first}: analyst in created, m-1 high, script ──"
        written.write("one\nthe token is ghp_01234")
        written.flush()
        assert watcher.line() == "• one"
        written.write(f"{TOKEN[9:]}\nlast words")
        written.flush()
        assert watcher.line() == "• the token is ***"
        runs.end(first, exit_code=1, outcome="failed")
        assert watcher.line() == "• last words"
        assert watcher.line().startswith(
            f"── run {first} ended: failed, exit code 1, 1,200 tokens, $0.2500, "
        )
        second, other = runs.start("TAL-1", "developer", model="m-2")
        assert watcher.line() == f"── run {second}: developer in created, m-2 high, script ──"
        other.write_text("two\n")
        assert watcher.line() == "• two"
        assert tally("item", "stop", "TAL-1").code == 0
        assert watcher.end() == (0, "")


def test_who_follows_an_item_on_hold_is_told_so(tally):
    tally("item", "new", "x" * 81)
    with Watcher("TAL-2", "-f") as watcher:
        assert "no agent has worked on TAL-2 yet" in watcher.remark()
        assert "TAL-2 is on hold: QG-0" in watcher.remark()
        tally("item", "stop", "TAL-2")
        assert watcher.end() == (0, "")


def test_a_run_that_is_named_is_followed_to_its_own_end(tally, runs):
    run, log = runs.start("TAL-1")
    with Watcher("TAL-1", "-f", "--run", run) as watcher:
        watcher.line()
        log.write_text("one\n")
        assert watcher.line() == "• one"
        runs.end(run)
        code, out = watcher.end()
        assert code == 0
        assert out.startswith(f"── run {run} ended: finished")


def test_the_raw_log_is_followed_to_its_end(tally, runs):
    run, log = runs.start("TAL-1")
    log.write_text("one\n")
    with Watcher("TAL-1", "-f", "--raw") as watcher:
        assert watcher.line() == "one"
        log.write_text(f"one\nTOKEN={TOKEN}\n")
        assert watcher.line() == "TOKEN=***"
        runs.end(run)
        assert watcher.end() == (0, "")


def test_the_detail_is_indented_and_cut_short_unless_all_is_asked_for():
    event = LogEvent(LogKind.EDIT, "a.py", "\n".join(f"+line {number}" for number in range(20)))
    short = [line.plain for line in event_lines(event, full=False)]
    assert short[:2] == ["± a.py", "    +line 0"]
    assert short[-1] == "    … 12 more lines"
    assert len(event_lines(event, full=True)) == 21
    (long,) = event_lines(LogEvent(LogKind.TEXT, "x" * 1000), full=False)
    assert long.plain.endswith("x…")
    assert len(long.plain) < 300


def test_every_kind_has_a_sign_of_its_own():
    assert set(SIGNS) == set(LogKind)
    assert len({sign for sign, _ in SIGNS.values()}) == len(LogKind)
