"""Runs the git CLI: hardened against the repository it works in, limited in time, never asking a question."""

import asyncio
import contextlib
import os
import re
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from orchestrator.errors import Malformed, Rejected, Unavailable
from orchestrator.plumbing.git.failures import failure

# An agent can write the configuration of the repository that its worktree belongs to. What is set here wins
# over that configuration, so that nothing in it can start a program, hide a change or decide differently from
# one host to the next.
_HARDENED = {
    "advice.detachedHead": "false",
    "commit.gpgSign": "false",
    "core.alternateRefsCommand": "",
    "core.askPass": "",
    "core.attributesFile": "/dev/null",
    "core.autocrlf": "false",
    "core.excludesFile": "/dev/null",
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.pager": "cat",
    "core.quotePath": "false",
    "core.untrackedCache": "false",
    "credential.helper": "",
    "fetch.writeCommitGraph": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "merge.autoStash": "false",
    "protocol.ext.allow": "never",
    "push.gpgSign": "false",
    "rebase.autoStash": "false",
    "rebase.updateRefs": "false",
    "rerere.enabled": "false",
    "submodule.recurse": "false",
    "tag.gpgSign": "false",
}
_OPTIONS = tuple(part for key, value in _HARDENED.items() for part in ("-c", f"{key}={value}"))

# What git inherits: where programs and the home are, and how the network is reached. No setting of ours,
# hence no secret of ours, and no GIT_DIR of whoever started us.
_INHERITED = (
    *("PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "LD_LIBRARY_PATH", "SSH_AUTH_SOCK"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH"),
    *("http_proxy", "https_proxy", "no_proxy", "all_proxy", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"),
)
# Replacement objects and grafts would let a repository show another history than the one that is pushed.
_FIXED = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_EDITOR": "true",
    "GIT_GRAFT_FILE": "/dev/null",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
# Long enough for git to remove its lock files when it is told to stop.
_GRACE_SECONDS = 1.0
_VERSION = re.compile(r"(\d+(?:\.\d+)+)")


@dataclass(frozen=True, slots=True)
class GitResult:
    """What a git command answered: its exit code, its output as bytes, its diagnostics as text."""

    returncode: int
    stdout: bytes
    stderr: str

    @property
    def text(self) -> str:
        """The output as one stripped string."""
        return decoded(self.stdout).strip()


@dataclass(frozen=True, slots=True)
class Author:
    """Who a commit is by; both the author and the committer of what we commit."""

    name: str
    email: str

    def environment(self) -> dict[str, str]:
        """The variables that make git use this identity for the author and the committer."""
        author = {"GIT_AUTHOR_NAME": self.name, "GIT_AUTHOR_EMAIL": self.email}
        return author | self.committer_environment()

    def committer_environment(self) -> dict[str, str]:
        """The variables that make git use this identity for the committer only."""
        return {"GIT_COMMITTER_NAME": self.name, "GIT_COMMITTER_EMAIL": self.email}


class Git:
    """The git CLI, one process for each question, each in a process group of its own."""

    def __init__(
        self,
        binary: str = "git",
        timeout: timedelta = timedelta(seconds=60),
        *,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Takes PATH, HOME, the proxies and the like from `environment`, else from this process."""
        source = os.environ if environment is None else environment
        self._binary = binary
        self._timeout = timeout
        self._environment = {key: source[key] for key in _INHERITED if key in source} | _FIXED

    async def run(
        self,
        *args: str,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        input: bytes | None = None,
        check: bool = True,
    ) -> GitResult:
        """The result of one git command.

        `cwd` is the top of a worktree or a bare repository: git never looks for a repository above it.

        Raises: Unavailable (time limit, lock, disk, network), Conflict (somebody was first), Rejected
        (refused, unknown revision, not a repository), Malformed (damaged repository). With `check=False` only
        what kept it from running.
        """
        stdin = DEVNULL if input is None else PIPE
        process = await self._start(args, cwd, env=env, stdin=stdin)
        try:
            async with asyncio.timeout(self._timeout.total_seconds()):
                stdout, stderr = await process.communicate(input)
        except TimeoutError:
            raise self._too_slow(args[0]) from None
        finally:
            await _stop(process)
        result = GitResult(process.returncode or 0, stdout, decoded(stderr))
        if check and result.returncode != 0:
            raise failure(args[0], result.returncode, result.stderr)
        return result

    async def answer(self, *args: str, cwd: Path) -> str | None:
        """What a command says on exit code 0, or None when it says no by exit code 1.

        Raises: what `run` raises, for every other exit code.
        """
        result = await self.run(*args, cwd=cwd, check=False)
        if result.returncode not in (0, 1):
            raise failure(args[0], result.returncode, result.stderr)
        return result.text if result.returncode == 0 else None

    async def holds(self, *args: str, cwd: Path) -> bool:
        """The answer of a command that says yes by exit code 0 and no by 1.

        Raises: what `run` raises, for every other exit code.
        """
        return await self.answer(*args, cwd=cwd) is not None

    async def version(self) -> tuple[int, ...]:
        """The version of the git program, such as (2, 39, 5).

        Raises: Unavailable when there is no such program, Malformed when it does not say its version.
        """
        answer = (await self.run("version")).text
        found = _VERSION.search(answer)
        if found is None:
            raise Malformed(f"{self._binary} does not name its version: {answer[:80]!r}")
        return tuple(int(part) for part in found.group(1).split("."))

    def _too_slow(self, command: str) -> Unavailable:
        return Unavailable(
            f"git {command} took longer than {self._timeout.total_seconds():g} s and was stopped"
        )

    async def _start(
        self,
        args: tuple[str, ...],
        cwd: Path | None,
        *,
        env: Mapping[str, str] | None,
        stdin: int,
    ) -> Process:
        environment = self._environment | dict(env or {})
        if cwd is not None:
            if not cwd.is_dir():
                raise Rejected(f"git {args[0]}: there is no directory {cwd}")
            environment["GIT_CEILING_DIRECTORIES"] = str(cwd.absolute().parent)
        command = (self._binary, *_OPTIONS, *args)
        starting = asyncio.create_task(
            asyncio.create_subprocess_exec(
                *command,
                cwd=cwd,
                env=environment,
                stdin=stdin,
                stdout=PIPE,
                stderr=PIPE,
                start_new_session=True,
            )
        )
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            # Cancelled halfway, asyncio would kill the process alone and wait for whoever holds its pipes.
            with contextlib.suppress(OSError, ValueError):
                await _stop(await starting)
            raise
        except OSError as error:
            raise Unavailable(f"cannot start {self._binary}: {error.strerror}") from error
        except ValueError as error:
            raise Rejected(f"git {args[0]}: {error}") from error


def decoded(raw: bytes) -> str:
    """Git's bytes as text that can be stored anywhere: what is not UTF-8 becomes a visible escape."""
    return raw.decode("utf-8", "backslashreplace")


async def _stop(process: Process) -> None:
    """Ends what still runs of a command's group: first politely, so that git removes its lock files."""
    outputs = (process.stdout, process.stderr)
    if process.returncode is not None and all(output is None or output.at_eof() for output in outputs):
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.communicate(), _GRACE_SECONDS)
            return
