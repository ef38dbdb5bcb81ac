"""What a failed git command means: the only place where git's words become one of the adapter errors."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from orchestrator.errors import AdapterError, Conflict, Malformed, Rejected, Unavailable
from orchestrator.plumbing.redaction import redact

# Names of branches and files stand in quotes and may contain any word, so the rules look at the text without
# them.
_QUOTED = re.compile(r"'[^'\n]*'")

# The first rule that matches decides. A lock comes before the conflicts because git reports both as "cannot
# lock ref".
_RULES: tuple[tuple[type[AdapterError], re.Pattern[str]], ...] = (
    (Unavailable, re.compile(r"Unable to create '': File exists|Another git process")),
    (Rejected, re.compile(r"exists; cannot create|refusing to merge unrelated")),
    (
        Conflict,
        re.compile(
            r"non-fast-forward|fetch first|stale info|but expected |reference already exists"
            r"|unable to resolve reference|incorrect old value|failed to update ref|cannot lock ref"
            r"|already checked out at|already used by worktree|!\s+\[rejected\]"
        ),
    ),
    (
        Rejected,
        re.compile(
            r"\[remote rejected\]|Authentication failed|could not read (Username|Password)"
            r"|returned error: 4(?!08|29)\d\d|Permission denied|does not appear to be a git repository"
            r"|[Rr]epository '' (not found|does not exist)|Host key verification failed|dubious ownership"
            r"|certificate"
        ),
    ),
    (
        Unavailable,
        re.compile(
            r"No space left|Input/output error|quota exceeded|Read-only file system|Stale file handle"
            r"|Cannot allocate memory|Out of memory|out of memory|Too many open files"
            r"|Resource temporarily unavailable|(cannot|unable to) fork|[Cc]onnection (refused|reset|closed)"
            r"|timed out|[Cc]ould(n't| not) (resolve|connect)|[Ff]ailed to connect|unable to connect"
            r"|Network is unreachable|No route to host|[Ee]arly EOF|hung up|RPC failed|unexpected disconnect"
            r"|returned error: (408|429|5\d\d)|unable to access|name resolution|Could not read from remote"
        ),
    ),
    (
        Malformed,
        re.compile(
            r"is corrupt|corrupt loose|object file '?.*'? ?is empty|missing (blob|tree|commit) object"
            r"|unable to read (tree|sha1)|bad index file|index file (smaller|corrupt)|bad tree object"
        ),
    ),
)
_NOISE = ("hint:", "warning:", "To ", "From ", "Cloning into", "Preparing worktree", "remote:")
_SPEAKING = ("fatal:", "error:", "!")


@contextmanager
def file_errors() -> Iterator[None]:
    """Makes a failure of the file system around a repository an Unavailable that names the file."""
    try:
        yield
    except OSError as error:
        raise Unavailable(f"cannot use {error.filename}: {error.strerror}") from error


def failure(command: str, returncode: int, stderr: str) -> AdapterError:
    """The error that says why `git <command>` ended with this code, in one line without secrets."""
    message = f"git {command}: {reason(stderr) or f'ended with code {returncode}'}"
    if returncode < 0:
        return Unavailable(f"git {command} was killed by signal {-returncode}")
    text = _QUOTED.sub("''", stderr)
    for kind, pattern in _RULES:
        if pattern.search(text):
            return kind(message)
    return Rejected(message)


def reason(stderr: str) -> str:
    """The line of git's diagnostics that names the cause, without the userinfo of addresses."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    plain = [line for line in lines if not line.startswith(_NOISE)]
    speaking = [line for line in plain if line.startswith(_SPEAKING)]
    first = next(iter(speaking or plain or lines), "")
    return redact(first.removeprefix("fatal:").removeprefix("error:").strip())
