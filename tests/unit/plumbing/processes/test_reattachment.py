"""A run is found again by its directory: once begun, by whomever, never begun twice."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from orchestrator.errors import Malformed
from orchestrator.plumbing.processes import Processes, supervisor
from orchestrator.plumbing.processes.leftovers import RUN_VARIABLE, kill_leftovers
from orchestrator.plumbing.processes.records import read_identity
from orchestrator.plumbing.processes.supervisor import boot_id, start_ticks
from tests.unit.plumbing.processes.support import PYTHON, daemon, eventually, lives, pid_in, shell, spec

STARTER = """
import asyncio, os, sys
from datetime import timedelta
from pathlib import Path
from orchestrator.plumbing.processes import CommandSpec, Processes

async def main():
    run_dir, script = Path(sys.argv[1]), sys.argv[2]
    spec = CommandSpec(("/bin/sh", "-c", script), run_dir.parent, dict(os.environ),
                       limit=timedelta(seconds=20), grace=timedelta(seconds=1))
    await (await Processes().start(run_dir, spec)).wait()

asyncio.run(main())
"""


@pytest.fixture(params=[True, False], ids=["pidfd", "polling"])
def processes(request):
    return Processes(event_driven=request.param)


async def starter(run_dir, script):
    """Another process that starts a run and waits for it."""
    return await asyncio.create_subprocess_exec(sys.executable, "-c", STARTER, str(run_dir), script)


async def test_a_run_survives_the_killing_of_its_starter(processes, tmp_path):
    os.mkfifo(tmp_path / "go")
    other = await starter(tmp_path / "run", "echo $$ > pid; read x < go; echo done; exit 3")
    await pid_in(tmp_path / "pid")
    other.kill()
    await other.wait()
    run = await processes.attach(tmp_path / "run")
    assert lives(run.pid)
    (tmp_path / "go").write_text("\n")
    record = await run.wait()
    assert (record.exit_code, record.ran) == (3, True)
    assert run.log_path.read_text() == "done\n"


async def test_a_run_that_was_found_again_can_be_stopped(processes, tmp_path):
    other = await starter(tmp_path / "run", "echo $$ > pid; sleep 60")
    command = await pid_in(tmp_path / "pid")
    run = await processes.attach(tmp_path / "run")
    assert (await run.stop()).stopped
    assert not lives(command)
    await other.wait()


async def test_concurrent_starts_run_the_command_once(tmp_path):
    script = shell("echo once >> count; exit 2", tmp_path)
    records = await asyncio.gather(
        *(Processes(event_driven=number % 2 == 0).run(tmp_path / "run", script) for number in range(8))
    )
    assert {record.exit_code for record in records} == {2}
    assert (tmp_path / "count").read_text() == "once\n"


async def test_starts_from_several_processes_run_the_command_once(tmp_path):
    others = await asyncio.gather(*(starter(tmp_path / "run", "echo once >> count") for _ in range(3)))
    assert [await other.wait() for other in others] == [0, 0, 0]
    assert (tmp_path / "count").read_text() == "once\n"


async def test_a_second_start_finds_the_ended_run(processes, tmp_path):
    first = await processes.run(tmp_path / "run", shell("exit 3", tmp_path))
    again = await processes.start(tmp_path / "run", shell("exit 0", tmp_path))
    assert again.pid is None
    assert await again.wait() == first


async def test_there_is_nothing_to_attach_to_where_nothing_was_begun(processes, tmp_path):
    assert await processes.attach(tmp_path / "run") is None
    (tmp_path / "run").mkdir()
    assert await processes.attach(tmp_path / "run") is None


async def test_several_may_wait_and_one_may_give_up(processes, tmp_path):
    os.mkfifo(tmp_path / "go")
    run = await processes.start(tmp_path / "run", shell("read x < go; exit 3", tmp_path))
    waits = [asyncio.create_task(run.wait()) for _ in range(3)]
    await command_pid(run)
    waits[0].cancel()
    with pytest.raises(asyncio.CancelledError):
        await waits[0]
    (tmp_path / "go").write_text("\n")
    assert [(await wait).exit_code for wait in waits[1:]] == [3, 3]


async def command_pid(run):
    await eventually(lambda: (run.run_dir / "supervisor.json").exists())
    identity = read_identity(run.run_dir / "supervisor.json")
    assert identity is not None
    return identity.child_pid


async def test_a_run_whose_supervisor_was_killed_is_lost_and_its_tree_ended(processes, tmp_path):
    argv = daemon(tmp_path / "daemon", then="import time; time.sleep(60)")
    run = await processes.start(tmp_path / "run", spec(argv, tmp_path))
    left = [await command_pid(run), await pid_in(tmp_path / "daemon")]
    os.kill(run.pid, signal.SIGKILL)
    record = await run.wait()
    assert (record.lost, record.error, record.exit_code, record.ran) == (
        True,
        "supervisor is gone",
        None,
        False,
    )
    assert record.started is not None
    assert [lives(pid) for pid in left] == [False, False]


async def test_a_lost_run_is_not_begun_again(processes, tmp_path):
    run = await processes.start(tmp_path / "run", shell("echo once >> count; sleep 60", tmp_path))
    await command_pid(run)
    await eventually((tmp_path / "count").exists)
    os.kill(run.pid, signal.SIGKILL)
    assert (await run.wait()).lost
    assert (await processes.run(tmp_path / "run", shell("echo twice >> count", tmp_path))).lost
    assert (await (await processes.attach(tmp_path / "run")).stop()).lost
    assert (tmp_path / "count").read_text() == "once\n"


@pytest.fixture
async def stranger(tmp_path):
    """A living process that carries the mark of a run, as a service that it started does."""
    environment = {**os.environ, RUN_VARIABLE: str(tmp_path)}
    process = await asyncio.create_subprocess_exec("sleep", "60", env=environment)
    yield process
    if process.returncode is None:
        process.kill()
    await process.wait()


def identity_file(directory, *, pid, ticks, boot, keep):
    file = directory / "supervisor.json"
    file.write_text(
        f'{{"pid": 1, "child_pid": {pid}, "child_ticks": {ticks}, "boot": "{boot}",'
        f' "started": "2030-01-01T00:00:00.000+00:00", "keep_children": {str(keep).lower()}}}'
    )
    return read_identity(file)


async def test_a_service_of_an_ended_command_survives_the_loss_of_the_supervisor(stranger, tmp_path):
    identity = identity_file(tmp_path, pid=stranger.pid, ticks=1, boot=boot_id(), keep=True)
    assert kill_leftovers(str(tmp_path), identity) == set()
    assert lives(stranger.pid)


async def test_a_process_with_the_same_id_after_a_reboot_is_nobody_of_ours(stranger, tmp_path):
    identity = identity_file(
        tmp_path, pid=stranger.pid, ticks=start_ticks(stranger.pid), boot="another", keep=False
    )
    assert kill_leftovers("other mark", identity) == set()
    assert lives(stranger.pid)


async def test_a_process_id_alone_is_no_proof(stranger, tmp_path):
    identity = identity_file(tmp_path, pid=stranger.pid, ticks=1, boot=boot_id(), keep=False)
    assert kill_leftovers("other mark", identity) == set()
    assert kill_leftovers(str(tmp_path), identity) == {stranger.pid}


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "null", '{"exit_code": 0}', '{"exit_code": "x", "rusage": {}}', "\x00\x00"],
)
async def test_a_damaged_record_is_malformed_and_named(processes, tmp_path, content):
    await processes.run(tmp_path / "run", shell("exit 0", tmp_path))
    (tmp_path / "run" / "exit.json").write_text(content)
    run = await processes.attach(tmp_path / "run")
    with pytest.raises(Malformed, match=r"exit\.json is damaged"):
        await run.wait()


async def test_where_orphans_cannot_be_adopted_the_process_group_is_ended(tmp_path):
    script = f"""
import os, sys
sys.path.append({str(Path(supervisor.__file__).parent)!r})
import supervisor
supervisor.adopt_orphans()  # Only so that the zombies do not wait for somebody else to collect them.
tree = supervisor.Tree(supervisor.Bell(), adopting=False)
tree.start(["/bin/sh", "-c", "sleep 60 & echo $! > pid; exit 0"], {str(tmp_path)!r})
while tree.status is None:
    tree.reap()
sys.exit(0 if tree.end(2.0) else 1)
"""
    process = await asyncio.create_subprocess_exec(*PYTHON, script)
    assert await process.wait() == 0
    assert not lives(await pid_in(tmp_path / "pid"))


async def test_what_was_put_in_the_place_of_a_lock_keeps_nobody_waiting(tmp_path):
    place = tmp_path / "odd"
    place.mkdir()
    os.mkfifo(place / "lock")
    (place / "command").write_text("")
    (place / "supervisor.json").write_text("{}")
    assert await Processes().stop_below(tmp_path) == 0
