"""The local forge's CI: what says something about the code and what does not, and restarts in between."""

import asyncio
import os
import sys
from datetime import timedelta
from itertools import accumulate
from pathlib import Path

import pytest

from orchestrator.config.contract import Contract, Suite
from orchestrator.errors import Unavailable
from orchestrator.forges.local import LocalForge
from orchestrator.plumbing.git import Git
from orchestrator.plumbing.processes import Processes
from orchestrator.ports.forge import CheckState
from tests.unit.forges.repositories import commit, push, working_repository
from tests.unit.trackers.clocks import TickingClock


def fifo(path: Path) -> int:
    """A pipe with a name, held open at both ends so that nobody waits for its other end."""
    os.mkfifo(path)
    return os.open(path, os.O_RDWR)


class Bench:
    """A forge whose contract can be set, with the clock and the events it saw."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.clock = TickingClock()
        self.argv = ["true"]
        self.events: asyncio.Queue[tuple[str, str, str]] = asyncio.Queue()
        self.forge = self.started()

    def started(self) -> LocalForge:
        return LocalForge(
            self.home / "forge", git=Git(), clock=self.clock, processes=Processes(),
            contract_for=self.contract_for, on_event=self.on_event,
        )  # fmt: skip

    async def contract_for(self, project):
        return Contract(test=Suite.model_validate({"run": self.argv}))

    async def on_event(self, kind, project, head):
        await self.events.put((kind, project, head))

    async def told(self):
        return await asyncio.wait_for(self.events.get(), 20)

    async def run(self, head, argv):
        """Have the suite run on the head until the forge says that it ended."""
        self.argv = argv
        assert (await self.forge.checks("shop", head)).state is CheckState.PENDING
        assert await self.told() == ("status", "shop", head)
        return await self.forge.checks("shop", head)


@pytest.fixture
async def bench(tmp_path):
    made = Bench(tmp_path)
    yield made
    await made.forge.aclose()


@pytest.fixture
async def head(bench, tmp_path):
    person = working_repository(tmp_path / "person")
    await bench.forge.host("shop", person, "main")
    made = commit(person, {"app.py": "two\n", "seen.py": "print('seen')\n"})
    push(person, bench.forge.path("shop"), "HEAD:refs/heads/feature/x")
    return made


async def test_the_suite_runs_in_a_clean_clone_of_the_head_which_is_removed(bench, head, tmp_path):
    script = "pwd; git rev-parse HEAD; git remote; git status --short; cat app.py; touch dirt"
    checks = await bench.run(head, ["sh", "-c", script])
    place, commit_id, app = checks.runs[0].log_tail.split()
    assert (commit_id, app) == (head, "two")
    assert Path(place).is_relative_to(tmp_path / "forge" / "ci" / "shop" / head)
    assert not Path(place).exists()
    assert checks.state is CheckState.SUCCESS


async def test_the_suite_finds_the_tools_of_this_interpreter_and_none_of_our_settings(
    bench, head, monkeypatch
):
    monkeypatch.setenv("ORCH_GITEA_TOKEN", "hunter22hunter22")
    checks = await bench.run(head, ["sh", "-c", "command -v python; env | grep ORCH_; echo $CI"])
    found, *rest = checks.runs[0].log_tail.split()
    assert Path(found).parent == Path(sys.executable).parent
    assert "hunter22hunter22" not in " ".join(rest)
    assert rest[-1] == "true"


async def test_the_end_of_a_long_log_is_kept_without_secrets(bench, head):
    script = "seq 1 5000; echo API_TOKEN=hunter22hunter22; echo the end; exit 3"
    checks = await bench.run(head, ["sh", "-c", script])
    run = checks.runs[0]
    assert (run.state, run.description.split(" after ")[0]) == (CheckState.FAILURE, "exit code 3")
    assert len(run.log_tail) == 4000
    assert run.log_tail.endswith("API_TOKEN=***\nthe end\n")


@pytest.mark.parametrize(
    ("argv", "cause"),
    [
        (["no-such-program"], "No such file"),
        (["sh", "-c", "echo tried >> $0; kill -9 $$", "{tries}"], "SIGKILL"),
        (["${NOWHERE}/bin/test"], "NOWHERE"),
    ],
)
async def test_a_suite_that_says_nothing_about_the_code_is_tried_again_and_is_then_unavailable(
    bench, head, tmp_path, argv, cause
):
    tries = tmp_path / "tries"
    bench.argv = [word.replace("{tries}", str(tries)) for word in argv]
    await bench.forge.checks("shop", head)
    await bench.told()
    with pytest.raises(Unavailable, match=cause):
        await bench.forge.checks("shop", head)
    assert len(list((tmp_path / "forge" / "ci" / "shop" / head).glob("clone-*"))) == 0
    assert tries.read_text() == "tried\n" * 3 if tries.exists() else cause != "SIGKILL"
    await bench.clock.sleep(timedelta(minutes=5))
    assert (await bench.run(head, ["true"])).state is CheckState.SUCCESS


async def test_a_suite_goes_on_while_the_orchestrator_is_down_and_is_found_again(bench, head, tmp_path):
    begun, gate, count = tmp_path / "begun", tmp_path / "gate", tmp_path / "count"
    os.mkfifo(begun)
    os.mkfifo(gate)
    bench.argv = ["sh", "-c", f"echo x >> {count}; echo > {begun}; read line < {gate}; test -f app.py"]
    await bench.forge.checks("shop", head)
    await asyncio.to_thread(begun.read_text)
    await bench.forge.aclose()
    bench.forge = bench.started()
    await bench.forge.resume()
    await asyncio.to_thread(gate.write_text, "go\n")
    assert await bench.told() == ("status", "shop", head)
    assert (await bench.forge.checks("shop", head)).state is CheckState.SUCCESS
    assert count.read_text() == "x\n"


async def test_no_more_than_two_suites_run_at_once(bench, head, tmp_path):
    person, log = tmp_path / "person", tmp_path / "log"
    heads = [head]
    for number in range(3):
        heads.append(commit(person, {"n.py": f"{number}\n"}))
        push(person, bench.forge.path("shop"), f"HEAD:refs/heads/feature/{number}")
    gate, begun = (fifo(tmp_path / name) for name in ("gate", "begun"))
    script = f"echo + >> {log}; echo > {tmp_path}/begun; read line < {tmp_path}/gate; echo - >> {log}"
    bench.argv = ["sh", "-c", script]
    for one in heads:
        assert (await bench.forge.checks("shop", one)).state is CheckState.PENDING
    for _ in range(2):
        assert await asyncio.to_thread(os.read, begun, 1) == b"\n"
    for _ in heads:
        os.write(gate, b"\n")
        await bench.told()
    os.close(gate)
    os.close(begun)
    running = list(accumulate(1 if line == "+" else -1 for line in log.read_text().split()))
    assert (len(running), max(running)) == (8, 2)
    states = [(await bench.forge.checks("shop", one)).state for one in heads]
    assert states == [CheckState.SUCCESS] * 4
