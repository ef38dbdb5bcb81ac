"""A command is run, limited and recorded, and nothing of it stays behind."""

import os
import signal
import stat
from datetime import UTC, datetime, timedelta

import psutil
import pytest

from orchestrator.errors import Unavailable
from orchestrator.plumbing.processes import Processes
from tests.unit.plumbing.processes.support import daemon, eventually, lives, pid_in, shell, spec


@pytest.fixture
def processes():
    return Processes()


async def test_a_command_that_ends_well_is_ok(processes, tmp_path):
    before = datetime.now(UTC) - timedelta(milliseconds=1)
    record = await processes.run(tmp_path / "run", shell("exit 0", tmp_path))
    assert (record.exit_code, record.ran, record.ok, record.signal, record.error) == (
        0,
        True,
        True,
        None,
        None,
    )
    assert before <= record.started <= record.ended <= datetime.now(UTC)
    assert timedelta(0) < record.duration < timedelta(seconds=10)
    assert record.usage.max_rss_kb > 0


async def test_a_failing_command_ran_and_is_not_ok(processes, tmp_path):
    record = await processes.run(tmp_path / "run", shell("exit 7", tmp_path))
    assert (record.exit_code, record.ran, record.ok) == (7, True, False)


async def test_a_command_ended_by_a_signal_of_its_own_names_it(processes, tmp_path):
    record = await processes.run(tmp_path / "run", shell("kill -SEGV $$", tmp_path))
    assert (record.exit_code, record.signal, record.ran, record.ok) == (
        -signal.SIGSEGV,
        "SIGSEGV",
        True,
        False,
    )


async def test_a_command_that_is_not_found_did_not_run(processes, tmp_path):
    record = await processes.run(tmp_path / "run", spec(("no-such-command",), tmp_path))
    assert (record.exit_code, record.ran, record.ok, record.lost) == (None, False, False, False)
    assert "No such file or directory: 'no-such-command'" in record.error


async def test_a_file_that_is_not_executable_did_not_run(processes, tmp_path):
    (tmp_path / "script").write_text("#!/bin/sh\n")
    record = await processes.run(tmp_path / "run", spec(("./script",), tmp_path))
    assert record.exit_code is None
    assert "Permission denied: './script'" in record.error


async def test_a_missing_working_directory_is_named(processes, tmp_path):
    record = await processes.run(tmp_path / "run", shell("exit 0", tmp_path / "gone"))
    assert record.exit_code is None
    assert record.error.startswith("working directory: ")
    assert str(tmp_path / "gone") in record.error


async def test_an_error_with_quotes_and_controls_is_recorded_as_it_is(processes, tmp_path):
    record = await processes.run(tmp_path / "run", spec(('no"such\\\n\x01é',), tmp_path))
    assert repr('no"such\\\n\x01é') in record.error


async def test_output_and_errors_are_in_one_log_that_only_we_may_read(processes, tmp_path):
    run = await processes.start(tmp_path / "run", shell("echo one; echo two >&2; pwd", tmp_path))
    assert (await run.wait()).ok
    assert run.log_path.read_text() == f"one\ntwo\n{tmp_path}\n"
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in run.run_dir.iterdir()}
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(run.run_dir.stat().st_mode) == 0o700


async def test_a_command_gets_the_given_environment_no_input_and_no_open_files(processes, tmp_path):
    inheritable = os.dup2(0, 200)
    try:
        script = "env; cat; ls /proc/$$/fd > files"
        run = await processes.start(tmp_path / "run", shell(script, tmp_path, COLOUR="blue"))
        await run.wait()
    finally:
        os.close(inheritable)
    given = dict(line.split("=", 1) for line in run.log_path.read_text().splitlines())
    assert {name: given.get(name) for name in ("COLOUR", "PATH", "LC_ALL")} == {
        "COLOUR": "blue", "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8",
    }  # fmt: skip
    assert set(given) <= {"COLOUR", "PATH", "LC_ALL", "ORCH_SUPERVISED_RUN", "PWD", "OLDPWD", "SHLVL", "_"}
    # 3 would be the lock of the supervisor; a shell may open others for itself.
    assert not {"3", "200"} & set((tmp_path / "files").read_text().split())


async def test_a_command_starts_with_the_usual_signals_and_file_mask(processes, tmp_path):
    script = "grep -E '^Sig(Blk|Ign)' /proc/self/status; umask"
    run = await processes.start(tmp_path / "run", shell(script, tmp_path))
    await run.wait()
    blocked, ignored, mask = run.log_path.read_text().splitlines()
    # Without the two above 31, which the C library keeps for itself.
    assert [int(line.split()[1], 16) & 0x7FFFFFFF for line in (blocked, ignored)] == [0, 0]
    own = os.umask(0o77)
    os.umask(own)
    assert int(mask, 8) == own


async def test_neither_the_environment_nor_the_command_shows_in_files_or_in_the_process_list(
    processes, tmp_path
):
    run = await processes.start(
        tmp_path / "run", shell("echo $$ > pid; read x < go", tmp_path, TOKEN="s3cret")
    )
    os.mkfifo(tmp_path / "go")
    await pid_in(tmp_path / "pid")
    assert "/bin/sh" not in " ".join(psutil.Process(run.pid).cmdline())
    await run.stop()
    assert not any(b"s3cret" in file.read_bytes() for file in run.run_dir.iterdir())


async def test_the_time_limit_ends_the_whole_tree_with_stubborn_daemons(processes, tmp_path):
    argv = daemon(tmp_path / "daemon", then="import time; time.sleep(60)")
    run = await processes.start(tmp_path / "run", spec(argv, tmp_path, limit_s=0.3, grace_s=0.05))
    daemon_pid = await pid_in(tmp_path / "daemon")
    record = await run.wait()
    assert (record.timed_out, record.stopped, record.ran, record.signal) == (True, False, False, "SIGTERM")
    assert not lives(daemon_pid)
    assert not lives(run.pid)


async def test_a_command_may_tidy_up_within_the_grace(processes, tmp_path):
    script = "trap 'echo tidy; exit 4' TERM; echo ready; while :; do sleep 0.01; done"
    run = await processes.start(tmp_path / "run", shell(script, tmp_path))
    await eventually(lambda: run.log_path.read_text() == "ready\n")
    record = await run.stop()
    assert (record.exit_code, record.stopped, record.timed_out, record.ran) == (4, True, False, False)
    assert run.log_path.read_text().endswith("tidy\n")


async def test_a_stop_right_after_the_start_is_not_lost(processes, tmp_path):
    run = await processes.start(tmp_path / "run", shell("sleep 60", tmp_path))
    record = await run.stop()
    assert (record.stopped, record.signal, record.lost) == (True, "SIGTERM", False)


async def test_a_stop_after_the_end_keeps_the_record(processes, tmp_path):
    run = await processes.start(tmp_path / "run", shell("exit 3", tmp_path))
    record = await run.wait()
    assert await run.stop() == record
    assert not record.stopped


async def test_what_a_command_leaves_behind_is_ended(processes, tmp_path):
    argv = daemon(
        tmp_path / "daemon",
        then=f"\n    while not os.path.exists({str(tmp_path / 'daemon')!r}): pass\n    os._exit(5)",
    )
    record = await processes.run(tmp_path / "run", spec(argv, tmp_path, grace_s=0.05))
    assert (record.exit_code, record.ran) == (5, True)
    assert not lives(await pid_in(tmp_path / "daemon"))


async def test_a_service_that_was_started_stays_if_it_shall(processes, tmp_path):
    script = "sleep 60 & echo $! > pid; exit 0"
    record = await processes.run(tmp_path / "run", shell(script, tmp_path, keep_children=True))
    service = await pid_in(tmp_path / "pid")
    assert record.ok
    assert lives(service)
    os.kill(service, signal.SIGKILL)


async def test_a_start_that_hangs_takes_its_service_along(processes, tmp_path):
    script = "sleep 60 & echo $! > pid; wait"
    run = await processes.start(tmp_path / "run", shell(script, tmp_path, limit_s=0.3, keep_children=True))
    service = await pid_in(tmp_path / "pid")
    assert (await run.wait()).timed_out
    assert not lives(service)


async def test_a_full_disk_under_the_log_does_not_harm_the_record(processes, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "output.log").symlink_to("/dev/full")
    record = await processes.run(tmp_path / "run", shell("echo lost || exit 9", tmp_path))
    assert record.exit_code == 9


async def test_the_supervisor_does_not_mind_a_closing_terminal(processes, tmp_path):
    os.mkfifo(tmp_path / "go")
    run = await processes.start(tmp_path / "run", shell("echo $$ > pid; read x < go; exit 6", tmp_path))
    await pid_in(tmp_path / "pid")
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        os.kill(run.pid, number)
    (tmp_path / "go").write_text("\n")
    assert (await run.wait()).exit_code == 6


async def test_a_run_directory_that_cannot_be_made_is_unavailable(processes, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(Unavailable, match="cannot start /bin/sh"):
        await processes.start(tmp_path / "file" / "run", shell("exit 0", tmp_path))


async def test_a_start_that_failed_can_be_tried_again(processes, tmp_path):
    in_the_way = tmp_path / "run" / "output.log"
    in_the_way.mkdir(parents=True)
    with pytest.raises(Unavailable, match="cannot start /bin/sh"):
        await processes.start(tmp_path / "run", shell("exit 0", tmp_path))
    assert await processes.attach(tmp_path / "run") is None
    in_the_way.rmdir()
    assert (await processes.run(tmp_path / "run", shell("exit 0", tmp_path))).ok


async def test_many_runs_leave_no_descriptor_and_no_child(processes, tmp_path):
    # The first run opens what the loop keeps.
    await processes.run(tmp_path / "first", spec(("true",), tmp_path))
    before = set(os.listdir("/proc/self/fd"))
    # What an earlier test of this process has not waited for is not ours.
    strangers = {child.pid for child in psutil.Process().children()}
    for number in range(50):
        assert (await processes.run(tmp_path / f"run-{number}", spec(("true",), tmp_path))).ok
    assert set(os.listdir("/proc/self/fd")) == before
    assert {child.pid for child in psutil.Process().children()} <= strangers
