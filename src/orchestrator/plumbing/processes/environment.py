"""The environment that a command is given: an allow-list, so that secrets are handed over on purpose only."""

import os
from collections.abc import Collection, Mapping

ALLOWED = frozenset(
    {
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "LANG",
        "LANGUAGE",
        "TZ",
        "TMPDIR",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
    }
)
"""What programs need to find each other, the user's files, language, time zone and trusted certificates."""

_OWN_PREFIX = "ORCH_"


def clean_environment(extra: Mapping[str, str], keep: Collection[str] = ()) -> dict[str, str]:
    """The allowed part of our own environment, with more names kept and values added.

    Our own settings (`ORCH_*`), secrets among them, are never inherited, not even when `keep` names them.
    What a command shall know of us stands in `extra`, which also wins over an inherited value.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if (name in ALLOWED or name.startswith("LC_") or name in keep) and not name.startswith(_OWN_PREFIX)
    }
    return kept | dict(extra)
