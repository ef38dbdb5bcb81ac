#!/usr/bin/env python3
"""Operate the tally service: start, stop, status, check, deploy, rollback. Standard library only.

Every environment has a directory below the root: `releases/<revision>/` (copies of the code), the links
`current` (the release in use) and `previous` (the one before), `service.json` (the running process) and
`service.log`.

Exit codes of `deploy` and `rollback`: 0 the wanted release runs and is healthy; 1 refused or failed before
anything changed; 2 changed and unhealthy (`deploy` has then put the previous release back). Others: 0 good,
1 not.
"""

import argparse
import contextlib
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import NamedTuple

GOOD, REFUSED, UNHEALTHY = 0, 1, 2
STOPPED_WITHIN_S = 4.0
POLL_S = 0.02
SAFE_NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,99}")


class Refusal(Exception):
    """Nothing has been changed, for the reason given."""


class Answer(NamedTuple):
    """What the service said over HTTP: its status code and decoded body."""

    code: int
    body: dict[str, object]


class Service:
    """One environment of the service: its directory, its port and its process."""

    def __init__(self, root: Path, name: str, port: int, *, healthy_within_s: float) -> None:
        self.name = name
        self.port = port
        self.healthy_within_s = healthy_within_s
        self.home = root / name
        self.releases = self.home / "releases"
        self.current = self.home / "current"
        self.previous = self.home / "previous"
        self._identity = self.home / "service.json"
        self._log = self.home / "service.log"
        self.releases.mkdir(parents=True, exist_ok=True)

    @contextlib.contextmanager
    def exclusively(self) -> Iterator[None]:
        """Keep other changes of this environment out.

        Raises:
            Refusal: one is under way.
        """
        with (self.home / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Refusal(f"another change of {self.name} is under way") from None
            yield

    def release_of(self, link: Path) -> Path | None:
        """The release a link points to, or None when there is no such release."""
        return self.home / os.readlink(link) if link.is_symlink() and link.is_dir() else None

    def point(self, link: Path, release: Path | None) -> None:
        """Make a link point to a release in one step, so that no reader finds it missing; None removes it."""
        if release is None:
            link.unlink(missing_ok=True)
            return
        fresh = link.with_name(f".{link.name}.new")
        fresh.unlink(missing_ok=True)
        fresh.symlink_to(release.relative_to(self.home))
        fresh.replace(link)

    def install(self, source: Path, revision: str) -> Path:
        """Copy the code of *source* into a release directory, completely or not at all.

        Raises:
            Refusal: the revision is not a usable name, or *source* is another revision or does not compile.
        """
        if not SAFE_NAME.fullmatch(revision):
            raise Refusal(f"{revision!r} is not a revision")
        _refuse_other_revision(source, revision)
        release = self.releases / revision
        if release.is_dir():
            return release
        for file in sorted((source / "tally").glob("*.py")):
            try:
                compile(file.read_bytes(), str(file), "exec")
            except SyntaxError as error:
                raise Refusal(f"the code does not compile: {error}") from error
        if not (source / "tally" / "__main__.py").is_file():
            raise Refusal(f"there is no tally package in {source}")
        with tempfile.TemporaryDirectory(dir=self.home) as staging:
            copy = Path(staging) / "code"
            shutil.copytree(source / "tally", copy / "tally", ignore=shutil.ignore_patterns("__pycache__"))
            copy.rename(release)
        return release

    def running(self) -> int | None:
        """The process id of the service, or None when the process we started is gone."""
        if not self._identity.is_file():
            return None
        known = json.loads(self._identity.read_text())
        pid = int(known["pid"])
        return pid if known["started"] is not None and _started(pid) == known["started"] else None

    def refuse_foreign_listener(self) -> None:
        """Make sure that the port is free or ours.

        Raises:
            Refusal: a process that we did not start listens there.
        """
        if self.running() is None and self.ask("GET", "/health") is not None:
            raise Refusal(f"port {self.port} is used by a process that is not ours")

    def start(self, release: Path) -> bool:
        """Start a release as a process of its own session; True when it is healthy before the deadline."""
        log_from = self._log.stat().st_size if self._log.is_file() else 0
        command = [sys.executable, "-B", "-m", "tally", "--port", str(self.port), "--revision", release.name]
        environment = {**os.environ, "ORCH_ENVIRONMENT": self.name}
        with self._log.open("ab") as log:
            process = subprocess.Popen(
                command, cwd=release, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip
        _write(self._identity, {"pid": process.pid, "started": _started(process.pid)})
        within = time.monotonic() + self.healthy_within_s
        while process.poll() is None and time.monotonic() < within:
            if self.healthy(release.name):
                print(f"{self.name}: {release.name} is healthy on port {self.port} (process {process.pid})")
                return True
            time.sleep(POLL_S)
        ended = "does not become healthy" if process.poll() is None else f"ended with {process.returncode}"
        print(f"{self.name}: {release.name} {ended}; its log says:")
        print(self._log.read_bytes()[log_from:].decode(errors="replace")[-4000:].rstrip())
        self.stop()
        return False

    def stop(self) -> None:
        """End the process that we started, and no other; done when it is gone."""
        pid = self.running()
        for sign in (signal.SIGTERM, signal.SIGKILL):
            if pid is None:
                break
            # It leads its own session, so its children go with it. It may end just before the signal.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, sign)
            _wait(lambda: self.running() is None, STOPPED_WITHIN_S)
            pid = self.running()
        self._identity.unlink(missing_ok=True)

    def ask(self, method: str, path: str, body: str | None = None) -> Answer | None:
        """Ask the service one question; None when nobody answers or not in JSON."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=2)
        try:
            connection.request(method, path, body)
            response = connection.getresponse()
            decoded = json.loads(response.read())
        except (OSError, HTTPException, ValueError):
            return None
        finally:
            connection.close()
        return Answer(response.status, decoded if isinstance(decoded, dict) else {})

    def healthy(self, revision: str) -> bool:
        """Whether the service answers, is well and runs this revision."""
        answer = self.ask("GET", "/health")
        return answer == Answer(200, {"status": "ok", "service": "tally", "revision": revision})


def start(service: Service, revision: str) -> int:
    """Install the code of the current directory and run it; what ran before is stopped."""
    with service.exclusively():
        release = service.install(Path.cwd(), revision)
        service.refuse_foreign_listener()
        service.stop()
        service.point(service.current, release)
        return GOOD if service.start(release) else REFUSED


def stop(service: Service, _revision: str) -> int:
    """Stop the process; also good when none runs."""
    with service.exclusively():
        service.stop()
    print(f"{service.name}: stopped")
    return GOOD


def status(service: Service, _revision: str) -> int:
    """Print as JSON what runs, as the running service itself says it."""
    pid = service.running()
    answer = service.ask("GET", "/health") if pid is not None else None
    said = answer.body if answer is not None else {}
    report = {"name": service.name, "port": service.port, "pid": pid}
    print(json.dumps({**report, "status": said.get("status", "down"), "revision": said.get("revision")}))
    return GOOD if said.get("status") == "ok" else REFUSED


def check(service: Service, revision: str) -> int:
    """Smoke-test the running service without changing anything in it; every line is one probe."""
    probes: list[tuple[str, bool]] = [(f"/health runs {revision}", service.healthy(revision))]
    status_answer = service.ask("GET", "/status")
    knows_itself = status_answer is not None and status_answer.body.get("environment") == service.name
    probes.append((f"/status says {service.name}", knows_itself))
    index = service.ask("GET", "/")
    endpoints = index.body.get("endpoints") if index is not None else None
    for endpoint in endpoints if isinstance(endpoints, list) else []:
        method, path = str(endpoint).split(" ", 1)
        # An empty body is what every POST endpoint refuses, so this leaves no trace.
        answer = service.ask(method, path, "" if method == "POST" else None)
        probes.append((endpoint, answer is not None and answer.code == (400 if method == "POST" else 200)))
    probes.append(("/ lists the endpoints", bool(endpoints)))
    for probe, passed in probes:
        print(f"{'PASS' if passed else 'FAIL'} {probe}")
    return GOOD if all(passed for _, passed in probes) else REFUSED


def deploy(service: Service, revision: str) -> int:
    """Replace what runs by the code of the current directory, or put it back when that is not healthy."""
    with service.exclusively():
        release = service.install(Path.cwd(), revision)
        service.refuse_foreign_listener()
        before, earlier = service.release_of(service.current), service.release_of(service.previous)
        if before == release:
            # An interrupted deploy is being repeated: the way back is still the release before this one.
            if service.running() is not None and service.healthy(revision):
                print(f"{service.name}: {revision} runs already")
                return GOOD
            before, earlier = earlier, None
        service.point(service.previous, before)
        service.point(service.current, release)
        service.stop()
        if service.start(release):
            return GOOD
        service.point(service.current, before)
        service.point(service.previous, earlier)
        _put_back(service, before)
        return UNHEALTHY


def rollback(service: Service, _revision: str) -> int:
    """Go back to the previous release."""
    with service.exclusively():
        release = service.release_of(service.previous)
        if release is None:
            raise Refusal(f"{service.name} has no previous release")
        service.refuse_foreign_listener()
        service.point(service.current, release)
        service.point(service.previous, None)
        service.stop()
        return GOOD if service.start(release) else UNHEALTHY


def _put_back(service: Service, release: Path | None) -> None:
    if release is None:
        print(f"{service.name}: rolled back; there is no earlier release, so nothing runs")
    elif service.start(release):
        print(f"{service.name}: rolled back to {release.name}")
    else:
        print(f"{service.name}: rolled back to {release.name}, WHICH IS UNHEALTHY TOO")


def _refuse_other_revision(source: Path, revision: str) -> None:
    if not (source / ".git").exists():
        return
    command = ["git", "rev-parse", "HEAD"]
    head = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False).stdout.strip()
    if head != revision:
        raise Refusal(f"the checkout is at {head or 'no commit'}, not at {revision}")


def _started(pid: int) -> str | None:
    """When a living process began; with its id this recognises it although ids are used again."""
    if not Path("/proc/self/stat").exists():  # not Linux
        command = ["ps", "-o", "stat=", "-o", "lstart=", "-p", str(pid)]
        shown = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        state, _, began = shown.strip().partition(" ")
        return began.strip() if began and not state.startswith("Z") else None
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return fields[19] if fields[0] not in "ZX" else None


def _write(path: Path, content: dict[str, object]) -> None:
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(content))
    fresh.replace(path)


def _wait(condition: Callable[[], bool], seconds: float) -> None:
    within = time.monotonic() + seconds
    while not condition() and time.monotonic() < within:
        time.sleep(POLL_S)


COMMANDS = {
    "start": start, "stop": stop, "status": status, "check": check, "deploy": deploy, "rollback": rollback,
}  # fmt: skip


def main() -> int:
    """Do one command and answer its exit code."""
    parser = argparse.ArgumentParser(description="Operate the tally service.")
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument(
        "--name", choices=["staging", "production"], help="default: where the command belongs"
    )
    parser.add_argument("--port", type=int, help="default: ORCH_PORT_STAGING or ORCH_PORT_PRODUCTION")
    parser.add_argument("--root", type=Path, help="default: ORCH_STATE_DIR")
    parser.add_argument("--revision", help="default: ORCH_REVISION")
    parser.add_argument("--within", type=float, default=8.0, help="seconds until it must be healthy")
    options = parser.parse_args()
    name = options.name or ("production" if options.command in ("deploy", "rollback") else "staging")
    port = options.port or int(os.environ.get(f"ORCH_PORT_{name.upper()}", "0"))
    root = options.root or os.environ.get("ORCH_STATE_DIR")
    revision = options.revision or os.environ.get("ORCH_REVISION", "")
    if not port or not root:
        parser.error("say --port and --root, or set the variables of the environment that stand for them")
    if not revision and options.command in ("start", "check", "deploy"):
        parser.error("say --revision, or set ORCH_REVISION")
    service = Service(Path(root).resolve(), name, port, healthy_within_s=options.within)
    try:
        return COMMANDS[options.command](service, revision)
    except Refusal as refusal:
        print(f"refused: {refusal}")
        return REFUSED


if __name__ == "__main__":
    sys.exit(main())
