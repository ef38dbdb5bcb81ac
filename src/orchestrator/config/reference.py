"""The documentation of the settings, made from their declarations; run as a module it writes the files."""

import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pydantic import BaseModel

from orchestrator.config.effect import WITHOUT_EFFECT
from orchestrator.config.fields import env_name, shown, tolerance
from orchestrator.config.settings import GROUPS, Settings

_INTRODUCTION: Final = """\
# Settings

This page is made from the declarations in `src/orchestrator/config/groups/`; after a change there, write it
anew with `python -m orchestrator.config.reference`.

A setting is taken from the first of these that has it: an option of the command line, the environment, `.env`
in the current directory, `orchestrator.toml` in the data directory (its keys are the names below, without a
table), the default. An empty variable counts as not set. `orch config --json` prints each value and where it
came from, with secrets masked.

A value that cannot be used stops the program with one line that says what is allowed. A *tolerant* setting
falls back to its default with a warning instead. A default marked † is a choice of this project, made where
nothing else fixes it.
"""

_ENV_INTRODUCTION: Final = """\
# Settings of the orchestrator. Copy this file to `.env` and uncomment what you need: without any line the
# built-in board, local git repositories and SQLite are used. `orch config` prints every setting, its value
# and its origin; docs/settings.md says the same as this file.
"""


def as_markdown() -> str:
    """The page `docs/settings.md`."""
    return "\n".join([_INTRODUCTION, *_markdown_lines()]).rstrip("\n") + "\n"


def as_env_example() -> str:
    """The file `.env.example`: every variable, commented out, with its meaning and its default."""
    lines = [_ENV_INTRODUCTION]
    for group in GROUPS:
        lines.append(f"# --- {_title(group)}")
        for name, field in group.model_fields.items():
            lines.extend(
                textwrap.wrap(
                    (field.description or "").removesuffix(" †"),
                    110,
                    initial_indent="# ",
                    subsequent_indent="# ",
                )
            )
            lines.append(f"#{env_name(name)}={_default(name)}")
        lines.append("")
    return "\n".join(lines)


def write(root: Path) -> None:
    """Write both files below ``root``."""
    (root / "docs").mkdir(exist_ok=True)
    (root / "docs" / "settings.md").write_text(as_markdown(), encoding="utf-8")
    (root / ".env.example").write_text(as_env_example(), encoding="utf-8")


def _markdown_lines() -> Iterator[str]:
    for group in GROUPS:
        yield f"\n## {_title(group)}\n"
        yield "| Setting | Variable | Default | Meaning |"
        yield "|---|---|---|---|"
        for name, field in group.model_fields.items():
            default = f"`{_default(name)}`" if _default(name) else "empty"
            meaning = (field.description or "").replace("|", r"\|")
            tolerant = " *Tolerant.*" if tolerance(name) else ""
            idle = " *Without effect in this version.*" if name in WITHOUT_EFFECT else ""
            yield f"| `{name}` | `{env_name(name)}` | {default} | {meaning}{tolerant}{idle} |"


def _title(group: type[BaseModel]) -> str:
    return (group.__doc__ or "").rstrip(".")


def _default(name: str) -> str:
    value = shown(name, Settings.model_fields[name].default)
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
    return str(value)


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
