"""What `orch serve` costs while nothing is to be done: share of a core, and memory."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
from figures import Figure, Part
from ground import installation, make_repository, settings_below
from instant import instant_producers
from road import travel, working

from orchestrator.plumbing.sockets import free_ports

CPU, MEMORY = 0.3, 90.0
QUIET_S = 4.0
READY_S = 30.0
_READY = re.compile(rb"orchestrator is ready")


async def measure(root: Path, seconds: float) -> Part:
    """Serve an installation with one project and one finished item, wait until it is quiet, and watch it."""
    upstream = make_repository(root / "upstream")
    home = root / "home"
    opened = installation(settings_below(home), {"idle": upstream}, producers=instant_producers)
    async with opened as app, working(app):
        await travel(app, "idle")
    return await asyncio.to_thread(_watch, home, seconds)


def _watch(home: Path, seconds: float) -> Part:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ORCH_")}
    environment |= {"ORCH_HOME": str(home), "ORCH_AGENT_CLI": "script"}
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "orchestrator.cli", "serve", "--port", str(port)]
    began = time.perf_counter()
    with (home / "serve.log").open("wb") as log:
        server = subprocess.Popen(command, env=environment, cwd=home, stdout=subprocess.PIPE, stderr=log)
    try:
        ready = _wait_until_ready(server, home) - began
        time.sleep(QUIET_S)
        return _part(psutil.Process(server.pid), seconds, ready)
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=READY_S)


def _wait_until_ready(server: "subprocess.Popen[bytes]", home: Path) -> float:
    assert server.stdout is not None
    for line in server.stdout:
        if _READY.search(line):
            return time.perf_counter()
    raise RuntimeError((home / "serve.log").read_text()[-2000:])


def _part(process: psutil.Process, seconds: float, ready: float) -> Part:
    before = _burnt(process)
    switches = sum(process.num_ctx_switches())
    began = time.perf_counter()
    time.sleep(seconds)
    lasted = time.perf_counter() - began
    share = (_burnt(process) - before) / lasted * 100
    woken = (sum(process.num_ctx_switches()) - switches) / lasted
    memory = process.memory_full_info()
    part = Part("Idle `orch serve`: one project, one finished item", [f"watched for {lasted:.0f} s"])
    looks = f"{woken:.0f} context switches a second"
    part.add(Figure("CPU", share, "% of a core", CPU, costs=looks))
    part.add(Figure("memory (RSS)", memory.rss / 1e6, "MB", MEMORY, costs="imported modules"))
    part.add(Figure("memory of its own (USS)", memory.uss / 1e6, "MB"))
    part.add(Figure("memory, shared pages split (PSS)", memory.pss / 1e6, "MB"))
    part.add(Figure("child processes", len(process.children()), ""))
    part.add(Figure("start of the command → ready", ready, "s"))
    return part


def _burnt(process: psutil.Process) -> float:
    """Seconds of CPU so far, in the finest unit that the system gives."""
    try:
        return int(Path(f"/proc/{process.pid}/schedstat").read_text().split()[0]) / 1e9
    except (OSError, ValueError):
        times = process.cpu_times()
        return times.user + times.system
