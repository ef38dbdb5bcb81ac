"""Whether commands can be locked in on this machine, and what to do when not."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from orchestrator.plumbing.bubblewrap.cells import NAMESPACES, system

PROGRAM: Final = "bwrap"
MINIMUM: Final = (0, 8, 0)
"""`--disable-userns` came with it."""

_PATIENCE_S: Final = 20.0
_VERSION: Final = re.compile(r"(\d+(?:\.\d+)+)")
_INSTALL: Final = "apt-get install bubblewrap (or dnf install bubblewrap)"
# Settings of the kernel that keep users from making namespaces: where, the value that does, what mends it.
_LOCKS: Final = (
    ("kernel/unprivileged_userns_clone", "0", "sysctl -w kernel.unprivileged_userns_clone=1"),
    (
        "kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or give bwrap an AppArmor profile",
    ),
    ("user/max_user_namespaces", "0", "sysctl -w user.max_user_namespaces=15000"),
)
_IN_A_CONTAINER: Final = (
    "let this machine make user namespaces and mount /proc: in a container that is a matter of its profiles "
    "(docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined "
    "--security-opt systempaths=unconfined)"
)


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether the sandbox works here: the ``version`` of bubblewrap, or the ``problem`` and its ``mend``."""

    version: str = ""
    problem: str = ""
    mend: str = ""

    @property
    def ok(self) -> bool:
        """Nothing is in the way."""
        return not self.problem


def available(program: str = PROGRAM, sysctls: Path = Path("/proc/sys")) -> Availability:
    """Look for bubblewrap, and lock one harmless command in; takes some milliseconds.

    ``sysctls`` is where the settings of the kernel are read, to name the one that is in the way.
    """
    found = shutil.which(program)
    if found is None:
        return Availability(problem=f"{program} is not installed", mend=_INSTALL)
    said = _VERSION.search(_run(found, "--version")[1])
    if said is None:
        return Availability(problem=f"{found} does not name its version", mend=_INSTALL)
    version = said.group(1)
    if tuple(int(part) for part in version.split(".")) < MINIMUM:
        wanted = ".".join(map(str, MINIMUM))
        return Availability(version, f"bubblewrap {version} is too old", f"install {wanted} or newer")
    code, complaint = _run(found, *NAMESPACES, "--unshare-net", *system(network=False), "--", "/bin/true")
    if code == 0:
        return Availability(version)
    problem = complaint.strip().splitlines()[-1:] or [f"{found} ended with code {code}"]
    return Availability(version, problem[0], _mend(sysctls))


def _mend(sysctls: Path) -> str:
    for name, value, mend in _LOCKS:
        try:
            present = (sysctls / name).read_text().strip()
        except OSError:
            continue
        if present == value:
            return mend
    return _IN_A_CONTAINER


def _run(*argv: str) -> tuple[int, str]:
    """The exit code and all that was said; -1 when it could not be run to its end."""
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return -1, str(error)
    return done.returncode, (done.stdout + done.stderr).decode(errors="replace")
