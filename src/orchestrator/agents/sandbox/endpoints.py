"""The address of the model, and how a command without network calls it."""

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from orchestrator.errors import Rejected

_PORTS = {"http": 80, "https": 443}
_PLAIN = re.compile(r"https?://[\w.:\[\]-]+(/[\x21-\x7e]*)?\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Host and port of the model, and whether TLS is spoken; ``origin`` is how the address is spelled."""

    origin: str
    host: str
    port: int
    encrypted: bool

    @classmethod
    def of(cls, address: str) -> "Endpoint | None":
        """The endpoint at an address such as ``https://host:port``; ``None`` when there is none.

        Raises:
            Rejected: it is no such address.
        """
        if not address:
            return None
        wrong = Rejected(f"{address!r} is no address of a model: http://host:port or https://host:port")
        try:
            parts = urlsplit(address)
            host, port = parts.hostname, parts.port
        except ValueError:
            raise wrong from None
        if not host or parts.scheme not in _PORTS or not _PLAIN.match(address):
            raise wrong
        origin = address[: address.index("//") + 2] + parts.netloc
        return cls(origin, host, port or _PORTS[parts.scheme], parts.scheme == "https")


def named_inside(text: str, outer: str, inner: str) -> str:
    """``text`` with ``inner`` wherever it names the address ``outer``, not where that only begins alike."""
    return re.sub(rf"{re.escape(outer)}(?![\w.:-])", lambda _: inner, text)
