import asyncio
import os
import stat
from datetime import timedelta

import psutil
import pytest

from orchestrator.errors import Conflict, Malformed, Rejected, Unavailable
from orchestrator.plumbing.git import Author, Git
from orchestrator.plumbing.git.failures import failure, reason


def program(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


async def test_output_is_bytes_and_text_is_stripped(git, repo):
    head = repo.commit({"a": "1"})
    result = await git.run("rev-parse", "main", cwd=repo.path)
    assert (result.returncode, result.stdout, result.text) == (0, f"{head}\n".encode(), head)


async def test_input_reaches_the_command(git, repo):
    result = await git.run("hash-object", "--stdin", cwd=repo.path, input=b"hello\n")
    assert result.text == "ce013625030ba8dba906f756967f9e9ca394464a"


async def test_version_is_a_tuple_of_numbers(git):
    assert await git.version() >= (2, 30)


async def test_a_program_without_a_version_is_malformed(tmp_path):
    with pytest.raises(Malformed, match="does not name its version"):
        await Git(program(tmp_path / "git", "echo nothing")).version()


async def test_a_missing_program_is_unavailable(tmp_path):
    with pytest.raises(Unavailable, match="cannot start"):
        await Git(str(tmp_path / "absent")).version()


async def test_a_missing_directory_is_rejected(git, tmp_path):
    with pytest.raises(Rejected, match="there is no directory"):
        await git.run("status", cwd=tmp_path / "absent")


async def test_a_repository_above_the_directory_is_not_used(git, repo):
    below = repo.path / "below"
    below.mkdir()
    with pytest.raises(Rejected, match="not a git repository"):
        await git.run("rev-parse", "HEAD", cwd=below)


async def test_an_argument_with_nul_is_rejected(git, repo):
    with pytest.raises(Rejected):
        await git.run("rev-parse", "a\0b", cwd=repo.path)


async def test_neither_secrets_nor_git_variables_are_inherited(tmp_path):
    source = {
        "PATH": os.environ["PATH"],
        "HOME": "/nowhere",
        "ORCH_GITEA_TOKEN": "x",
        "GIT_DIR": "/elsewhere",
    }
    git = Git(program(tmp_path / "git", "env"), environment=source)
    lines = (await git.run("anything")).text.splitlines()
    assert "HOME=/nowhere" in lines
    assert "GIT_TERMINAL_PROMPT=0" in lines
    assert not [line for line in lines if line.startswith(("ORCH_", "GIT_DIR="))]


async def test_hooks_and_programs_of_the_repository_do_not_run(git, repo, tmp_path):
    trace = tmp_path / "ran"
    evil = program(tmp_path / "evil", f"touch {trace}")
    worktree = tmp_path / "wt"
    head = repo.commit({"a": "1"})
    repo.run("worktree", "add", "-q", "-b", "work", str(worktree), head)
    for key in ("core.fsmonitor", "core.pager", "core.editor", "core.askPass", "core.sshCommand"):
        repo.run("config", key, evil)
    hooks = repo.path / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("pre-commit", "post-commit", "reference-transaction", "post-checkout"):
        program(hooks / name, f"touch {trace}")
    (worktree / "a").write_text("2")
    await git.run("status", cwd=worktree)
    await git.run("commit", "-aqm", "x", cwd=worktree, env=Author("A", "a@example.invalid").environment())
    assert not trace.exists()


async def test_replacement_objects_are_not_believed(git, repo):
    old, new = repo.commits([{"a": "1"}, {"a": "2"}])
    repo.run("replace", new, old)
    assert (await git.run("show", f"{new}:a", cwd=repo.path)).stdout == b"2"


async def test_the_time_limit_stops_the_whole_group(tmp_path):
    pid = tmp_path / "pid"
    git = Git(
        program(tmp_path / "git", f"sleep 60 & echo $! > {pid}.new; mv {pid}.new {pid}; wait"),
        timedelta(milliseconds=1500),
    )
    with pytest.raises(Unavailable, match=r"git gc took longer than 1\.5 s"):
        await git.run("gc")
    assert ended(int(pid.read_text()))


async def test_what_a_finished_program_left_running_is_stopped_too(tmp_path):
    pid = tmp_path / "pid"
    git = Git(program(tmp_path / "git", f"sleep 60 & echo $! > {pid}"), timedelta(seconds=1))
    with pytest.raises(Unavailable):
        await git.run("gc")
    assert ended(int(pid.read_text()))


async def test_a_group_that_ignores_the_signal_is_killed(tmp_path):
    git = Git(program(tmp_path / "git", "trap '' TERM; sleep 60"), timedelta(milliseconds=100))
    with pytest.raises(Unavailable):
        await git.run("gc")
    assert not [p for p in psutil.Process().children(recursive=True) if "git" in p.name()]


async def test_cancelling_stops_the_command_and_passes_through(tmp_path):
    started = tmp_path / "started"
    os.mkfifo(started)
    git = Git(program(tmp_path / "git", f"echo $$ > {started}; sleep 60"))
    task = asyncio.create_task(git.run("gc"))
    pid = await asyncio.to_thread(started.read_text)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended(int(pid))


def ended(pid):
    """Whether a process is gone, or dead and only waiting to be collected by whoever inherited it."""
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


@pytest.mark.parametrize(
    ("stderr", "kind"),
    [
        ("fatal: Unable to create '/r/index.lock': File exists.\n\nAnother git process", Unavailable),
        ("fatal: cannot lock ref 'refs/heads/a': Unable to create '/r/a.lock': File exists.", Unavailable),
        ("fatal: cannot lock ref 'refs/heads/a': is at 1 but expected 2", Conflict),
        ("fatal: cannot lock ref 'refs/heads/a/b': 'refs/heads/a' exists; cannot create 'refs/…'", Rejected),
        ("To x\n ! [rejected]  a -> a (non-fast-forward)\nerror: failed to push some refs to 'x'", Conflict),
        (" ! [rejected]  a -> a (stale info)", Conflict),
        (" ! [remote rejected] a -> a (pre-receive hook declined)", Rejected),
        (" ! [remote rejected] a -> a (failed to update ref)", Conflict),
        ("fatal: unable to access 'http://h/': Could not resolve host: h", Unavailable),
        ("fatal: unable to access 'http://h/': The requested URL returned error: 503", Unavailable),
        ("fatal: unable to access 'http://h/': The requested URL returned error: 429", Unavailable),
        ("fatal: unable to access 'http://h/': The requested URL returned error: 403", Rejected),
        ("fatal: could not read Username for 'http://h': terminal prompts disabled", Rejected),
        ("fatal: write error: No space left on device", Unavailable),
        ("fatal: loose object 12 (stored in x) is corrupt", Malformed),
        ("fatal: invalid reference: 'could not resolve'", Rejected),
        ("fatal: not a git repository (or any of the parent directories): .git", Rejected),
        ("", Rejected),
    ],
)
def test_each_diagnosis_has_its_error(stderr, kind):
    assert type(failure("x", 128, stderr)) is kind


def test_a_killed_command_is_unavailable():
    assert str(failure("push", -9, "")) == "git push was killed by signal 9"


def test_the_message_is_one_line_without_credentials():
    stderr = (
        "hint: read this\nTo http://u:pw@host/r\nfatal: unable to access 'http://u:hunter22@host/r/': gone\n"
    )
    message = str(failure("push", 128, stderr))
    assert message == "git push: unable to access 'http://***@host/r/': gone"


def test_the_only_words_of_a_remote_are_its_reason():
    assert reason("remote: the branch is frozen\n") == "remote: the branch is frozen"
