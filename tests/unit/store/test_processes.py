"""Several real processes on one database, and telling a living one from a dead one."""

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from orchestrator.plumbing.clock import RandomIds
from orchestrator.store import Owner, SqlStore, is_alive, this_process
from orchestrator.testing.clock import ManualClock, SequentialIds
from tests.unit.store import rigs

ROOT = Path(__file__).resolve().parents[3]
TIMES = 50


@contextmanager
def started(*arguments):
    """A process that said on its first line that it is up."""
    command = [sys.executable, *arguments]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "up\n"
        try:
            yield child
        finally:
            child.kill()


async def test_processes_that_open_and_write_at_once_lose_nothing(tmp_path):
    url = f"sqlite:///{tmp_path / 'orch.db'}"
    command = ("-m", "tests.unit.store.writer", url, str(TIMES))
    with started(*command) as one, started(*command) as two:
        for writer in (one, two):
            writer.stdin.write("go\n")
            writer.stdin.flush()
        for writer in (one, two):
            writer.communicate(timeout=60)
        assert [one.returncode, two.returncode] == [0, 0]
    store = SqlStore(url, ManualClock(rigs.START), Owner(1, "reader"))
    assert await store.transact(lambda tx: tx.projects.recall("count")) == str(2 * TIMES)
    store.close()


def test_this_process_is_alive_under_its_own_boot_id():
    owner = this_process(RandomIds())
    assert owner.pid == os.getpid()
    assert is_alive(owner)
    assert this_process(RandomIds()).boot != owner.boot


def test_a_later_process_with_the_same_pid_is_somebody_else():
    owner = this_process(SequentialIds())
    mark, _, fresh = owner.boot.rpartition(".")
    assert not is_alive(Owner(owner.pid, f"{mark}0.{fresh}"))


def test_a_boot_id_without_a_mark_is_judged_by_the_pid():
    assert is_alive(Owner(os.getpid(), "boot"))
    assert not is_alive(Owner(2**22 + 1, "boot"))


@pytest.mark.parametrize("waited_for", [True, False])
def test_a_process_that_ended_is_dead_even_before_its_parent_looks(waited_for):
    with started("-c", "print('up', flush=True); input()") as child:
        assert is_alive(Owner(child.pid, "boot"))
        child.kill()
        if waited_for:
            child.wait()
        else:
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert not is_alive(Owner(child.pid, "boot"))
