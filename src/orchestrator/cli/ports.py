"""Who answers on a port of this machine: nobody, an orchestrator, or some other program."""

import errno
import http.client
import ipaddress
import json
import socket
from enum import StrEnum
from typing import Final

PATIENCE_S: Final = 1.0


class PortUse(StrEnum):
    """What a look at a port found."""

    FREE = "free"
    OURS = "ours"
    TAKEN = "taken"
    FORBIDDEN = "forbidden"


def port_use(host: str, port: int) -> PortUse:
    """Who has the port; ``FREE`` means that this process could listen there now."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.create_server((host, port), family=family):
            return PortUse.FREE
    except PermissionError:
        return PortUse.FORBIDDEN
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            return PortUse.FORBIDDEN
    return PortUse.OURS if is_orchestrator(host, port) else PortUse.TAKEN


def is_orchestrator(host: str, port: int) -> bool:
    """Whether an orchestrator answers there."""
    connection = http.client.HTTPConnection(reachable(host), port, timeout=PATIENCE_S)
    try:
        connection.request("GET", "/health", headers={"Accept": "application/json"})
        said = json.loads(connection.getresponse().read(65_536))
    except (OSError, http.client.HTTPException, ValueError):
        return False
    finally:
        connection.close()
    return isinstance(said, dict) and said.get("service") == "orchestrator"


def is_loopback(host: str) -> bool:
    """Whether only programs of this machine reach the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def reachable(host: str) -> str:
    """The address under which this machine reaches a server that listens on ``host``."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)  # noqa: S104


def address(host: str, port: int) -> str:
    """The address of the dashboard."""
    name = reachable(host)
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"
