"""How a run that is locked in ends: with grace, with its exit code, and with everything in it."""

import os
import signal

from tests.sandbox.runs import PYTHON, bridges_of, pids_saying
from tests.unit.plumbing.processes.support import STUBBORN, eventually, lives, pid_in


async def test_the_exit_code_is_passed_through(locked):
    assert (await locked.shell("exit 7")).record.exit_code == 7
    assert (await locked.shell("kill -TERM $$")).record.exit_code == 143
    assert (await locked.shell("kill -KILL $$")).record.exit_code == 137


async def test_a_stop_gives_the_command_its_grace(locked):
    script = "trap 'echo bye; exit 3' TERM; touch ready; while :; do sleep 0.02; done"
    run = await locked.start(locked.launch("/bin/sh", "-c", script), locked.task())
    await eventually((locked.workspace / "ready").exists)
    record = await run.stop()
    assert (record.exit_code, record.stopped, record.error) == (3, True, None)
    assert "bye" in run.log_path.read_text()


async def test_a_command_without_a_handler_ends_at_once_by_sigterm(locked):
    run = await locked.start(locked.launch("/bin/sh", "-c", "touch ready; sleep 60"), locked.task())
    await eventually((locked.workspace / "ready").exists)
    record = await run.stop()
    assert record.exit_code == 143
    assert record.duration is not None
    assert record.duration.total_seconds() < 5


async def test_a_command_that_ignores_sigterm_is_killed_after_its_grace(locked):
    task = locked.task(limit_s=1, grace_s=0.3)
    mark = f"stubborn-{os.getpid()}"
    run = await locked.start(locked.launch(*PYTHON, STUBBORN, "pid", mark), task)
    record = await run.wait()
    assert (record.timed_out, record.error) == (True, None)
    assert pids_saying(mark) == []


async def test_what_a_command_leaves_behind_ends_with_it(locked):
    mark = f"30{os.getpid()}.25"
    left = f"setsid sleep {mark} & (setsid nohup sleep {mark} >/dev/null 2>&1 &)"
    done = await locked.shell(f"{left}; until [ $(pgrep -fc '^sleep {mark}') = 2 ]; do :; done")
    assert done.record.exit_code == 0
    assert pids_saying(f"sleep {mark}") == []


async def test_killing_the_supervisor_ends_everything_inside(locked):
    mark = f"31{os.getpid()}.25"
    run = await locked.start(
        locked.launch("/bin/sh", "-c", f"setsid sleep {mark} & touch ready; sleep {mark}"), locked.task()
    )
    await eventually((locked.workspace / "ready").exists)
    os.kill(run.pid, signal.SIGKILL)
    await eventually(lambda: not pids_saying(f"sleep {mark}"))
    assert (await run.wait()).lost


async def test_no_bridge_outlives_its_run(locked):
    task = locked.task(network=False)
    launch = locked.launch("/bin/sh", "-c", "touch ready; sleep 60", endpoint="http://127.0.0.1:9")
    run = await locked.start(launch, task)
    await eventually((locked.workspace / "ready").exists)
    bridges = bridges_of(task.run_dir)
    assert len(bridges) == 1
    os.kill(run.pid, signal.SIGKILL)
    await eventually(lambda: not any(lives(pid) for pid in bridges))
    await run.wait()


async def test_the_inside_cannot_signal_what_is_outside(locked):
    pid_file = locked.workspace / "pid"
    pid_file.write_text(str(os.getpid()))
    done = await locked.shell('kill -0 "$(cat pid)"; kill -9 -1; echo unreached')
    assert await pid_in(pid_file) == os.getpid()
    assert done.record.ran
