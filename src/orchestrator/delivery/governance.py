"""Which files govern the pipeline itself: a change to them is for a person to let in (product §4)."""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Final

from orchestrator.config.contract import CONTRACT_FILE, Contract

GOVERNED: Final = (CONTRACT_FILE, ".gitea/workflows", ".github/workflows", ".openclaw")
"""The contract, the CI files (Gitea reads both folders) and the prompts."""


def governed_paths(changed: Iterable[str], contract: Contract | None) -> tuple[str, ...]:
    """Those of ``changed`` that decide how work is judged, or that the contract protects."""
    patterns = (*GOVERNED, *(contract.protected_paths if contract is not None else ()))
    return tuple(path for path in changed if any(_covers(pattern, path) for pattern in patterns))


def _covers(pattern: str, path: str) -> bool:
    """A file, everything below a folder, or a pattern with ``*``."""
    plain = pattern.rstrip("/")
    return path == plain or path.startswith(f"{plain}/") or fnmatchcase(path, pattern)
