"""Agents that are shell scripts."""

from pathlib import Path


def script(home: Path, text: str, name: str = "agent") -> str:
    """An executable script in the home; its name as the settings give it."""
    file = home / "bin" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return f"bin/{name}"
