"""What a run that is locked in sees, and what it can change."""

import asyncio
import os

import pytest

from orchestrator.agents.sandbox import confine
from orchestrator.errors import Rejected
from tests.sandbox.runs import PYTHON, command_lines
from tests.unit.plumbing.processes.support import eventually

CANARY = "canary-7f3a"


async def test_the_workspace_and_the_home_can_be_written_and_are_kept(locked):
    done = await locked.shell('echo two > app.py; echo kept > "$HOME/session"; pwd; cat "$HOME/session"')
    assert (done.record.exit_code, done.said) == (0, f"{locked.workspace}\nkept\n")
    assert (locked.workspace / "app.py").read_text() == "two\n"
    assert (locked.home / "session").read_text() == "kept\n"


async def test_files_of_the_service_and_of_other_runs_cannot_be_read(locked, tmp_path):
    places = [
        locked.service_home / ".netrc",
        locked.data / "orchestrator.db",
        locked.data / "lent" / "other" / "app.py",
        locked.data / "homes" / "SHOP-2" / "session",
        locked.data / "runs" / "1" / "sandbox",
    ]
    for place in places[:-1]:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(CANARY)
    reads = "".join(f"cat {place}; " for place in places)
    done = await locked.shell(f"{reads} ls -A {locked.data} {locked.service_home}; cat /etc/shadow; ls /sys")
    assert CANARY not in done.said
    assert "orchestrator.db" not in done.said.replace(str(places[1]), "")
    assert done.said.count("No such file") == len(places) + 3


async def test_the_environment_of_other_processes_cannot_be_read(locked):
    env = {"SECRET": CANARY, "PATH": os.environ["PATH"]}
    other = await asyncio.create_subprocess_exec("sleep", "60", env=env)
    try:
        done = await locked.shell("cat /proc/[0-9]*/environ | tr '\\0' '\\n'; ls -d /proc/[0-9]*")
    finally:
        other.kill()
        await other.wait()
    assert CANARY not in done.said
    assert done.said.count("/proc/") < 6


async def test_nothing_outside_can_be_written(locked, tmp_path):
    kept = locked.data / "orchestrator.db"
    kept.write_text("rows\n")
    name = f"{CANARY}-{os.getpid()}"
    done = await locked.shell(
        f"echo x > {kept}; echo x > /usr/{name}; echo x > /etc/passwd; echo x > /{name};"
        f"echo x > /tmp/{name};"
        f"echo x > /run/orchestrator/start.py; mount -o remount,rw,bind /usr; unshare -Ur true;"
        "chmod u+w /usr;"
        "grep -E 'CapEff|CapPrm|CapBnd' /proc/self/status; id -u; id -g"
    )
    assert kept.read_text() == "rows\n"
    assert not os.path.exists(f"/tmp/{name}")
    assert done.said.endswith(
        "CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nCapBnd:\t0000000000000000\n1000\n1000\n"
    )
    assert done.said.count("Read-only file system") >= 3


async def test_no_secret_stands_in_an_argv_or_in_a_file(locked):
    task = locked.task()
    launch = locked.launch("/bin/sh", "-c", 'touch ready; echo "$KEY" > key; read x', env={"KEY": CANARY})
    run = await locked.start(launch, task)
    await eventually((locked.workspace / "key").exists)
    assert [line for line in command_lines() if CANARY in line] == []
    assert CANARY not in "".join(
        file.read_text() for file in task.run_dir.iterdir() if file.name != "output.log"
    )
    await run.wait()
    assert (locked.workspace / "key").read_text() == f"{CANARY}\n"


async def test_temporary_directories_lie_inside(locked):
    env = {"TMPDIR": "/nowhere", "CLAUDE_CODE_TMPDIR": "/nowhere/else", "TEMP": "/nowhere"}
    script = 'touch "$TMPDIR/a" "$CLAUDE_CODE_TMPDIR/b" "$TEMP/c"; ls /tmp | head -3; id -un; echo "$USER"'
    done = await locked.run(locked.launch("/bin/sh", "-c", script, env=env))
    assert done.said.splitlines()[:3] == ["a", "b", "c"]
    assert done.said.splitlines()[-2:] == ["agent", "agent"]


async def test_a_login_is_seen_below_the_inner_home_and_cannot_be_changed(locked):
    login = locked.service_home / ".tool" / "login.json"
    login.parent.mkdir()
    login.write_text("token")
    (login.parent / "other.json").write_text(CANARY)
    script = 'cd "$HOME/.tool"; cat login.json; echo x > login.json; touch more; ls -A'
    for _ in range(2):
        done = await locked.run(locked.launch("/bin/sh", "-c", script, readable=(str(login),)))
        assert done.said.startswith("token")
        assert done.said.endswith("login.json\nmore\n")
    assert login.read_text() == "token"


async def test_links_that_an_earlier_run_left_do_not_lead_the_mounts_outside(locked):
    login = locked.service_home / ".tool" / "login.json"
    login.parent.mkdir()
    login.write_text("token")
    aim = locked.data / "aim"
    aim.mkdir()
    await locked.shell(f'ln -s /oldroot{aim} "$HOME/.tool"; ln -s {aim} "$HOME/.other"')
    done = await locked.run(
        locked.launch("/bin/sh", "-c", 'cat "$HOME/.tool/login.json"', readable=(str(login),))
    )
    assert done.said == "token"
    assert list(aim.iterdir()) == []


async def test_a_program_outside_of_the_system_is_seen_by_its_own_path(locked):
    program = locked.service_home / "bin" / "tool"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho tool\n")
    program.chmod(0o755)
    done = await locked.run(locked.launch(str(program)))
    assert (done.record.exit_code, done.said) == (0, "tool\n")


async def test_a_program_that_is_not_there_says_so(locked):
    done = await locked.run(locked.launch("no-such-tool"))
    assert (done.record.exit_code, done.said) == (
        127,
        "cannot start no-such-tool inside the sandbox: [Errno 2] No such file or directory\n",
    )


async def test_memory_is_limited_for_each_process(locked):
    code = "import sys\ntry:\n    x = bytearray(600 << 20)\nexcept MemoryError:\n    sys.exit(9)"
    assert (await locked.python(code, locked.task(memory_mb=512))).record.exit_code == 9
    assert (await locked.python(code, locked.task())).record.exit_code == 0


async def test_odd_arguments_arrive_as_they_are(locked):
    odd = ("--", "", "two\nlines", "-c", "п ü", "\udcff", "$HOME `id`")
    code = "import sys, os; os.write(1, b'|'.join(map(os.fsencode, sys.argv[1:])))"
    run = await locked.start(locked.launch(*PYTHON, code, *odd), locked.task())
    assert (await run.wait()).ok
    assert run.log_path.read_bytes() == b"|".join(map(os.fsencode, odd))


def test_what_would_show_our_data_is_refused(locked):
    for place in (locked.data, locked.data.parent, locked.workspace.parent, "/"):
        with pytest.raises(Rejected, match="holds the data of the orchestrator"):
            confine(locked.launch("/bin/true", readable=(str(place),)), locked.task())
    link = locked.service_home / "link"
    link.symlink_to(locked.data)
    with pytest.raises(Rejected, match="holds the data"):
        confine(locked.launch("/bin/true", readable=(str(link),)), locked.task())
    with pytest.raises(Rejected, match="NUL"):
        confine(locked.launch("/bin/echo", "a\0b"), locked.task())
