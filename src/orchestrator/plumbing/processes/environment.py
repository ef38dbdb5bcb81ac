"""The environment that a command is given: an allow-list, so that secrets are handed over on purpose only."""

import os
from collections.abc import Mapping

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


def clean_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """The allowed part of our own environment, with values added.

    Our own settings, secrets among them, are never inherited: what a command shall know of us stands in
    `extra`, which also wins over an inherited value.
    """
    kept = {name: value for name, value in os.environ.items() if name in ALLOWED or name.startswith("LC_")}
    return kept | dict(extra)
