"""A run is ended at its ceiling, when it is through, when nothing moves, when it grows; never for silence."""

import asyncio
import json
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from orchestrator.agents.attendance import Care, note_ended
from orchestrator.agents.clis import Ended, EndedBy
from orchestrator.agents.clis.script import ScriptCli, ScriptReader
from orchestrator.agents.transport import CliTransport, Kinds
from orchestrator.agents.versions import Versions
from orchestrator.errors import Rejected
from orchestrator.pipeline.budgets import Bound, Ceiling
from orchestrator.plumbing.clock import SystemClock
from orchestrator.plumbing.processes import Processes
from orchestrator.plumbing.processes.leftovers import RUN_VARIABLE
from orchestrator.ports.agent import AgentFailed, BudgetReached, Confinement, Finished, NotStarted, Usage
from tests.unit.agents.scripts import script
from tests.unit.plumbing.processes.support import eventually, lives, marked, pid_in

USAGE = '{"usage": {"input": 100, "output": 10, "cost_usd": 0.25}}'
QUICK = Care(
    result_grace=timedelta(milliseconds=200),
    stall=timedelta(seconds=1),
    look=timedelta(milliseconds=20),
    idle_look=timedelta(milliseconds=50),
    measure=timedelta(milliseconds=100),
)


class ThroughReader(ScriptReader):
    """A CLI that says ``through`` before it ends."""

    @property
    def result_seen(self):
        return self.last_words == "through"


class ThroughCli(ScriptCli):
    def reader(self, task):
        return ThroughReader()

    def judge(self, task, record, read, ended):
        if ended is not None and ended.by is EndedBy.RESULT:
            return Finished(read.usage, record.started, record.ended)
        return super().judge(task, record, read, ended)


@dataclass
class Told:
    """What was told while the run went on."""

    usages: list[Usage] = field(default_factory=list)

    async def __call__(self, usage):
        self.usages.append(usage)


def transport(home, text, *, care=QUICK, cli=ScriptCli):
    processes, clock = Processes(), SystemClock()
    kind = cli(clock, home=home, command=script(home, text))
    versions = Versions(processes, home / "versions")
    return CliTransport(processes, Kinds({"script": kind}, "script"), clock, versions=versions, care=care)


async def test_a_run_is_ended_at_its_ceiling_and_keeps_what_it_consumed(task, tmp_path):
    told = Told()
    text = f"for n in 1 2 3; do echo '{USAGE}'; done; echo $$ > pid; sleep 60"
    ceiling = Ceiling(cost_usd=Bound(0.7, "the item budget of $0.70"))
    outcome = await transport(tmp_path, text).run(replace(task, ceiling=ceiling), told)
    assert isinstance(outcome, BudgetReached)
    assert outcome.reason == "the item budget of $0.70 is used up: $0.7500"
    assert outcome.usage == Usage(300, 30, 0.75)
    assert told.usages[-1] == outcome.usage
    assert not lives(await pid_in(task.workspace / "pid"))


async def test_tokens_are_a_ceiling_too(task, tmp_path):
    ceiling = Ceiling(tokens=Bound(100, "the run budget of 100 tokens"))
    outcome = await transport(tmp_path, f"echo '{USAGE}'; sleep 60").run(replace(task, ceiling=ceiling))
    assert outcome.reason == "the run budget of 100 tokens is used up: 110 tokens"


async def test_wall_time_that_is_a_budget_is_no_failure_of_the_run(task, tmp_path):
    ceiling = Ceiling(wall_s=Bound(1, "the day budget of 1 s of wall time"))
    given = replace(task, ceiling=ceiling, limit=timedelta(seconds=1))
    outcome = await transport(tmp_path, f"echo '{USAGE}'; sleep 60").run(given)
    assert isinstance(outcome, BudgetReached)
    assert outcome.reason == "the day budget of 1 s of wall time is used up"
    assert outcome.usage == Usage(100, 10, 0.25)


async def test_a_cli_that_is_through_and_does_not_end_is_ended_and_has_succeeded(task, tmp_path):
    text = "echo $$ > pid; echo through; sleep 60"
    outcome = await transport(tmp_path, text, cli=ThroughCli).run(task)
    assert isinstance(outcome, Finished)
    assert not lives(await pid_in(task.workspace / "pid"))


async def test_a_cli_that_goes_on_after_its_result_is_left_alone(task, tmp_path):
    text = "echo through; for n in 1 2 3 4 5 6; do sleep 0.1; echo more; done; exit 3"
    outcome = await transport(tmp_path, text, cli=ThroughCli).run(task)
    assert isinstance(outcome, AgentFailed)
    assert outcome.exit_code == 3


async def test_a_run_in_which_nothing_moves_is_ended(task, tmp_path):
    outcome = await transport(tmp_path, "sleep 60").run(task)
    assert isinstance(outcome, AgentFailed)
    assert outcome.reason.startswith("nothing moved for")


@pytest.mark.parametrize(
    "work",
    [
        pytest.param("until [ -e {stop} ]; do echo still; sleep 0.1; done", id="it talks"),
        pytest.param("until [ -e {stop} ]; do :; done", id="it computes"),
        pytest.param("until [ -e {stop} ]; do date +%N > work; sleep 0.1; done", id="it writes"),
        pytest.param("until [ -e {stop} ]; do sleep 0.2; done", id="it starts programs"),
    ],
)
async def test_whatever_moves_keeps_a_run_alive(task, tmp_path, work):
    stop = tmp_path / "stop"
    began = SystemClock().monotonic()
    running = asyncio.create_task(transport(tmp_path, work.format(stop=stop)).run(task))
    await eventually(lambda: running.done() or SystemClock().monotonic() - began > 2.5)
    assert not running.done()
    stop.touch()
    assert isinstance(await running, Finished)


async def test_a_run_whose_processes_grow_too_large_is_ended(task, tmp_path):
    text = "exec python -c 'import time; data = bytearray(90_000_000); time.sleep(60)'"
    care = replace(QUICK, memory_mb=60)
    outcome = await transport(tmp_path, text, care=care).run(task)
    assert isinstance(outcome, AgentFailed)
    assert outcome.reason.endswith("MB of 60")


async def test_why_a_run_was_ended_is_known_after_a_restart(task, tmp_path):
    ceiling = Ceiling(tokens=Bound(100, "the run budget of 100 tokens"))
    given = replace(task, ceiling=ceiling)
    agents = transport(tmp_path, f"echo '{USAGE}'; sleep 60")
    first = await agents.run(given)
    assert await agents.run(given) == first


async def test_nothing_with_the_mark_of_the_run_survives_it(task, tmp_path):
    daemon = "(setsid sh -c 'sleep 302 & sleep 303' &)"
    text = f"setsid sleep 300 & nohup sleep 301 >/dev/null 2>&1 & {daemon}; exit 0"
    assert isinstance(await transport(tmp_path, text).run(task), Finished)
    assert marked(RUN_VARIABLE, str(task.run_dir)) == []


async def test_a_sandbox_that_cannot_be_made_is_no_failure_of_the_agent(task, tmp_path, monkeypatch):
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "bwrap").write_text(
        "#!/bin/sh\necho 'bwrap: No permissions to create a namespace' >&2\nexit 1\n"
    )
    (programs / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    given = replace(task, confinement=Confinement(tmp_path / "inside"))
    outcome = await transport(tmp_path, "exit 0").run(given)
    assert outcome == NotStarted(
        "the agent could not be locked in: bwrap: No permissions to create a namespace"
    )


async def test_the_log_that_is_kept_is_masked_and_still_json(task, tmp_path):
    said = json.dumps({"type": "text", "text": "token=ghp_0123456789abcdefghij", "api_key": "hunter22"})
    outcome = await transport(tmp_path, f"echo '{said}'; echo 'PASSWORD=hunter22'").run(task)
    assert isinstance(outcome, Finished)
    first, second = (task.run_dir / "output.log").read_text().splitlines()
    assert json.loads(first) == {"type": "text", "text": "token=***", "api_key": "***"}
    assert second.rstrip() == "PASSWORD=***"


async def test_a_version_is_asked_once_for_each_program_file(tmp_path):
    program = tmp_path / "cli"
    program.write_text(f"#!/bin/sh\necho x >> {tmp_path}/asked\necho 1.2.3\n")
    program.chmod(0o755)
    versions = Versions(Processes(), tmp_path / "versions")
    assert await versions.of((str(program), "--version")) == "1.2.3"
    assert await versions.of((str(program), "--version")) == "1.2.3"
    assert (tmp_path / "asked").read_text() == "x\n"
    program.write_text("#!/bin/sh\necho 1.2.4 or so\n")
    assert await versions.of((str(program), "--version")) == "1.2.4 or so"


async def test_a_program_that_names_no_version_is_asked_again(tmp_path):
    program = tmp_path / "cli"
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)
    versions = Versions(Processes(), tmp_path / "versions")
    for _ in range(2):
        with pytest.raises(Rejected, match="does not name its version"):
            await versions.of((str(program), "--version"))
    with pytest.raises(Rejected, match="cannot be used"):
        await versions.of((str(tmp_path / "nothing"), "--version"))


async def test_work_that_is_done_is_not_thrown_away_at_a_ceiling(task, tmp_path):
    text = f"echo '{USAGE}'; echo through; exit 0"
    ceiling = Ceiling(tokens=Bound(100, "the run budget of 100 tokens"))
    outcome = await transport(tmp_path, text, cli=ThroughCli).run(replace(task, ceiling=ceiling))
    assert isinstance(outcome, Finished)


async def test_a_run_that_ended_before_it_was_told_to_is_judged_by_itself(task, tmp_path):
    task.run_dir.mkdir(parents=True)
    note_ended(task.run_dir, Ended(EndedBy.STALL, "nothing moved"))
    assert isinstance(await transport(tmp_path, "exit 0").run(task), Finished)
