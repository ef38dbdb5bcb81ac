"""What holds for every test: no network beyond this machine, properties that draw the same examples."""

import ipaddress
import os
import sys
from typing import Any

from hypothesis import settings

settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("ORCH_HYPOTHESIS_PROFILE", "ci"))


class OutsideConnection(RuntimeError):
    """A test tried to reach another machine. It is no OSError: nothing may take it for a network fault."""


def is_loopback(host: object) -> bool:
    """Tell whether a socket call's host is this machine; the empty host means any of its addresses."""
    name = host.decode("ascii") if isinstance(host, bytes) else str(host or "")
    if name in {"", "localhost"} or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def refuse_outside(event: str, arguments: tuple[Any, ...]) -> None:
    """Audit hook: let only sockets of this machine connect, send, and look names up.

    Raises:
        OutsideConnection: the address is not on this machine.
    """
    if event == "socket.getaddrinfo":
        host = arguments[0]
    elif event in {"socket.connect", "socket.sendto"} and isinstance(arguments[1], tuple):
        host = arguments[1][0]
    else:
        return
    if not is_loopback(host):
        raise OutsideConnection(f"{event} to {host!r}: tests reach this machine only")


sys.addaudithook(refuse_outside)
