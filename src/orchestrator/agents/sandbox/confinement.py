"""Wraps what a kind of CLI starts, so that it runs locked in.

Every path is seen inside where it is outside, so what a launch says about paths stays true. What is readable
and lies below the service's own HOME, such as a login in ``~/.claude/.credentials.json``, is seen a second
time at the same place below the HOME inside, where a CLI looks for it. Both are read-only: a login that a CLI
would renew stays as it is.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from orchestrator.agents.clis import Launch
from orchestrator.agents.sandbox.endpoints import Endpoint, named_inside
from orchestrator.errors import Rejected
from orchestrator.plumbing.bubblewrap import Bridge, BridgeKind, Cell, Mount
from orchestrator.plumbing.bubblewrap.cells import INNER_PORT, is_below, is_system
from orchestrator.ports.agent import AgentTask, Confinement

TEMPORARY: Final = "/tmp"  # noqa: S108 — the one inside: empty, and gone with the run.
_CERTIFICATES: Final = ("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS")
_OUTER_PLACES: Final = frozenset({"CLAUDE_CONFIG_DIR", "CODEX_HOME"})
_PROXIES: Final = frozenset({"http_proxy", "https_proxy", "all_proxy", "no_proxy", "ftp_proxy"})


def confine(launch: Launch, task: AgentTask) -> Launch:
    """``launch`` as it is started locked in, or as it is when the task is not to be.

    Its ``files`` have to lie in the run's directory before it is started.

    Raises:
        Rejected: bubblewrap is missing, or what it would show shows too much.
    """
    if task.confinement is None:
        return launch
    program = shutil.which("bwrap")
    if program is None:
        raise Rejected("bubblewrap is not installed, and `sandbox: bubblewrap` needs it; see `orch doctor`")
    if any("\0" in text for text in launch.argv):
        raise Rejected("a command cannot hold a NUL byte")
    endpoint = None if task.confinement.network else Endpoint.of(launch.endpoint)
    inside = launch if endpoint is None else _bridged(launch, endpoint)
    cell = Cell(
        program=program,
        directory=task.run_dir.absolute(),
        home=task.confinement.home.absolute(),
        cwd=task.workspace.absolute(),
        mounts=tuple(_mounts(inside, task, task.confinement)),
        network=task.confinement.network,
        bridge=None if endpoint is None else _bridge(endpoint),
        memory_mb=task.confinement.memory_mb,
    )
    return replace(
        launch,
        argv=cell.argv(),
        env=_environment(inside.env, task.confinement, endpoint),
        files={**launch.files, **cell.files(inside.argv)},
    )


def _bridged(launch: Launch, endpoint: Endpoint) -> Launch:
    """An endpoint without encryption is called by its inner address; any other keeps its name."""
    if endpoint.encrypted:
        return launch
    inner = f"http://127.0.0.1:{INNER_PORT}"
    return replace(
        launch,
        argv=tuple(named_inside(text, endpoint.origin, inner) for text in launch.argv),
        env={name: named_inside(text, endpoint.origin, inner) for name, text in launch.env.items()},
    )


def _bridge(endpoint: Endpoint) -> Bridge:
    kind = BridgeKind.CONNECT if endpoint.encrypted else BridgeKind.RAW
    return Bridge(kind, endpoint.host, endpoint.port)


def _environment(
    env: Mapping[str, str], confinement: Confinement, endpoint: Endpoint | None
) -> dict[str, str]:
    made = {
        name: TEMPORARY if _is_temporary(name) else value
        for name, value in env.items()
        # Inside, the CLIs keep what is theirs below the HOME inside.
        if name not in _OUTER_PLACES
    }
    made |= {"HOME": str(confinement.home.absolute()), "TMPDIR": TEMPORARY, "USER": "agent"}
    made["LOGNAME"] = made["USER"]
    if confinement.network:
        return made
    made = {name: value for name, value in made.items() if name.lower() not in _PROXIES}
    if endpoint is not None and endpoint.encrypted:
        made["HTTPS_PROXY"] = made["https_proxy"] = f"http://127.0.0.1:{INNER_PORT}"
    return made


def _is_temporary(name: str) -> bool:
    return name in {"TMP", "TEMP", "TEMPDIR"} or name.endswith("TMPDIR")


def _mounts(launch: Launch, task: AgentTask, confinement: Confinement) -> Iterator[Mount]:
    workspace, home = str(task.workspace.absolute()), str(confinement.home.absolute())
    if is_below(workspace, home) or is_below(home, workspace):
        raise Rejected(f"the workspace {workspace} and the home of the sandbox {home} lie in each other")
    own = os.path.abspath(launch.env.get("HOME") or Path.home())
    for place in _readable(launch):
        _check(place, (workspace, home, str(task.run_dir.absolute())))
        if not is_below(place, workspace) and not is_below(place, home):
            yield Mount(place, place)
            if is_below(place, own) and place != own and os.path.exists(place):
                yield Mount(place, os.path.join(home, os.path.relpath(place, own)))
    yield Mount(workspace, workspace, writable=True)


def _readable(launch: Launch) -> Iterator[str]:
    """What the launch names, its program, and trusted certificates, without what the system shows anyway."""
    named = (*launch.readable, launch.argv[0], *(launch.env.get(name, "") for name in _CERTIFICATES))
    for place in dict.fromkeys(os.path.normpath(name) for name in named if os.path.isabs(name)):
        if not is_system(place):
            yield place


def _check(place: str, kept: tuple[str, ...]) -> None:
    """Refuses to show a directory that holds ours: the other worktrees and the database lie next to them."""
    shown = os.path.realpath(place)
    if any(is_below(os.path.realpath(own), shown) for own in kept):
        raise Rejected(
            f"{place} holds the data of the orchestrator: an agent that is locked in cannot see it"
        )
