"""The configuration of a repository that is ours alone: what others wrote into it is taken out.

Whoever can write a repository's configuration can name programs there that git runs for us: filters, merge
and diff drivers, helpers. Most are switched off for each command; those with names of their own cannot be.
"""

import os
import re
from pathlib import Path
from typing import Final

from orchestrator.plumbing.git.failures import file_errors

# How git made the repository and what the file system can do; these name no program and no path.
_FACTS: Final = {
    "core": {"repositoryformatversion", "filemode", "ignorecase", "precomposeunicode", "symlinks"},
    "extensions": {"objectformat", "refstorage"},
}
_HEADER: Final = re.compile(r"\s*\[(\w+)\]\s*\Z", re.ASCII)
_ENTRY: Final = re.compile(r"\s*(\w+)\s*=\s*([a-z0-9]+)\s*\Z", re.ASCII)


def purify(repository: Path, *, address: str, refspec: str) -> None:
    """Bring the configuration of a bare repository back to what it has to be, with one remote, `origin`.

    Raises: Unavailable when the file cannot be read or written.
    """
    place = repository / "config"
    with file_errors():
        present = place.read_text("utf-8", "surrogateescape")
        wanted = purified(present, address=address, refspec=refspec)
        if present != wanted:
            part = repository / "config.part"
            part.unlink(missing_ok=True)
            part.write_text(wanted, "utf-8", "surrogateescape")
            os.replace(part, place)


def purified(text: str, *, address: str, refspec: str) -> str:
    """The configuration that remains of any text."""
    facts: dict[str, dict[str, str]] = {
        "core": {"repositoryformatversion": "0", "filemode": "true"},
        "extensions": {},
    }
    section = ""
    for line in text.splitlines():
        if line.lstrip().startswith("["):
            header = _HEADER.match(line)
            section = header[1].lower() if header else ""
        elif (entry := _ENTRY.match(line)) and entry[1].lower() in _FACTS.get(section, ()):
            facts[section][entry[1].lower()] = entry[2]
    facts["core"]["bare"] = "true"
    lines = []
    for name, values in facts.items():
        lines += [f"[{name}]", *(f"\t{key} = {value}" for key, value in values.items())] if values else []
    remote = ('[remote "origin"]', f"\turl = {_quoted(address)}", f"\tfetch = {_quoted(refspec)}")
    return "\n".join((*lines, *remote, ""))


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
