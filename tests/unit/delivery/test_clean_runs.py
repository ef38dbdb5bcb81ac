"""Runs in clean checkouts: once, and one that was interrupted is believed a plain yes only."""

import asyncio
from datetime import timedelta

import pytest

from orchestrator.config.command import Command
from orchestrator.delivery.clean_runs import CleanRuns, Errand
from orchestrator.delivery.commands import ContractCommands, Surroundings
from orchestrator.errors import Rejected
from orchestrator.pipeline.ids import Commit, WorkItemId
from orchestrator.plumbing.processes import Processes
from tests.unit.gates.fakes import MemoryWorkspace

LOOKS = 1000


class Bench:
    def __init__(self, tmp_path) -> None:
        self.count = tmp_path / "count"
        self.go_on = tmp_path / "go-on"
        self.workspace = MemoryWorkspace(tmp_path / "checkouts")
        self.commit: Commit = self.workspace.heads["main"]
        commands = ContractCommands(
            Processes(),
            Surroundings(
                tmp_path / "state", lambda _: (1, 2), {"COUNT": str(self.count), "GO": str(self.go_on)}
            ),
            grace=timedelta(milliseconds=200),
        )
        self.runs = CleanRuns(self.workspace, commands, root=tmp_path / "runs")

    def errand(self, script: str, *, report: str | None = None, limit: float = 20) -> Errand:
        return Errand(
            project="tally",
            work_item=WorkItemId("ORCH-7"),
            commit=self.commit,
            purpose="try",
            command=Command((f"echo run >> $COUNT; {script}",), shell=True),
            limit=timedelta(seconds=limit),
            report=report,
        )

    @property
    def starts(self) -> int:
        return len(self.count.read_text().split()) if self.count.exists() else 0

    async def interrupt(self, errand: Errand) -> None:
        """Begin the errand, and let go of it while its command runs."""
        asking = asyncio.create_task(self.runs.run(errand))
        for _ in range(LOOKS):
            if self.starts:
                break
            await asyncio.sleep(0.01)
        assert self.starts == 1
        asking.cancel()
        await asyncio.wait([asking])
        self.go_on.touch()


WAIT = "while [ ! -e $GO ]; do sleep 0.02; done; "


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


@pytest.mark.parametrize("code", [0, 1, 5])
async def test_an_answer_is_remembered(bench, code):
    errand = bench.errand(f"echo said; exit {code}")
    first, second = await bench.runs.run(errand), await bench.runs.run(errand)
    assert first.result.exit_code == code
    assert second.result.output == first.result.output == "said\n"
    assert bench.starts == 1


async def test_the_command_is_told_which_commit_it_runs_on(bench):
    outcome = await bench.runs.run(bench.errand("cat app.py; echo $ORCH_REVISION"))
    assert outcome.result.output == f"one\n{bench.commit}\n"


async def test_no_answer_is_not_remembered(bench):
    assert not (await bench.runs.run(bench.errand("kill -9 $$"))).answered
    assert not (await bench.runs.run(bench.errand("sleep 20", limit=0.3))).answered
    assert (await bench.runs.run(bench.errand("true"))).result.ok
    assert bench.starts == 3


async def test_a_forgotten_answer_is_asked_for_anew(bench):
    errand = bench.errand("exit 1")
    await bench.runs.run(errand)
    bench.runs.forget(errand)
    await bench.runs.run(errand)
    assert bench.starts == 2


async def test_a_report_is_kept_beyond_the_checkout(bench):
    errand = bench.errand("echo figures > out.txt", report="out.txt")
    assert bench.runs.known(errand) is None
    assert (await bench.runs.run(errand)).report == b"figures\n"
    assert (await bench.runs.run(errand)).report == b"figures\n"
    assert bench.runs.known(errand) == b"figures\n"
    assert bench.starts == 1


async def test_an_interrupted_run_is_taken_up_again_when_it_says_yes(bench):
    errand = bench.errand(f"{WAIT} echo done")
    await bench.interrupt(errand)
    outcome = await bench.runs.run(errand)
    assert (outcome.result.ok, outcome.result.output) == (True, "done\n")
    assert bench.starts == 1


@pytest.mark.parametrize(("ending", "report"), [("exit 1", None), ("echo figures > out.txt", "out.txt")])
async def test_an_interrupted_run_that_says_no_or_owes_a_report_is_run_anew(bench, ending, report):
    errand = bench.errand(f"{WAIT} {ending}", report=report)
    await bench.interrupt(errand)
    outcome = await bench.runs.run(errand)
    assert outcome.answered
    assert outcome.report == (b"figures\n" if report else None)
    assert bench.starts == 2


async def test_a_command_that_names_an_unknown_variable_is_refused(bench):
    errand = Errand(
        project="tally",
        work_item=WorkItemId("ORCH-7"),
        commit=bench.commit,
        purpose="try",
        command=Command(("echo", "${NOBODY_SAYS}")),
        limit=timedelta(seconds=5),
    )
    with pytest.raises(Rejected, match="NOBODY_SAYS"):
        await bench.runs.run(errand)
