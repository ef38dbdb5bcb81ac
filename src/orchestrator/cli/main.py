"""The entry point `orch`, and the one place where an error of a command ends.

Exit codes: 0 done, 1 the answer is no (or a neighbour refused), 2 the request cannot be used,
3 a neighbour does not answer, 70 a bug of ours, 130 interrupted.
"""

import sys
from collections.abc import Sequence
from typing import Final

from orchestrator import __version__
from orchestrator.errors import BadInput, OrchestratorError, Unavailable

NEGATIVE: Final = 1
BAD_INPUT: Final = 2
NEIGHBOUR: Final = 3
BUG: Final = 70
INTERRUPTED: Final = 130


def run() -> None:
    """Carry out the command line of this process and end it with the exit code."""
    sys.exit(outcome(sys.argv[1:]))


def outcome(arguments: Sequence[str]) -> int:
    """Carry out ``arguments``: every error becomes one clear line, and the exit code says of which kind."""
    if list(arguments) == ["--version"]:
        # Scripts ask this at every turn: it must not cost the import of the whole tree.
        sys.stdout.write(f"orch {__version__}\n")
        return 0
    from orchestrator.cli import tree

    try:
        code = tree.carry_out(list(arguments))
    except OrchestratorError as error:
        return _refused(arguments, str(error), _code(error))
    except KeyboardInterrupt:
        code = INTERRUPTED
    except tree.UsageError as error:
        return _refused(arguments, _usage(error), BAD_INPUT)
    except Exception as error:
        import logging

        log = logging.getLogger("orchestrator.cli")
        log.exception("bug in orch %s", " ".join(arguments[:2]))
        return _refused(arguments, f"this is a bug of the orchestrator: {type(error).__name__}: {error}", BUG)

    # Typer answers an interrupt with this code instead of raising it.
    return _refused(arguments, "interrupted", code) if code == INTERRUPTED else code


def _code(error: OrchestratorError) -> int:
    match error:
        case BadInput():
            return BAD_INPUT
        case Unavailable():
            return NEIGHBOUR
    return NEGATIVE


def _usage(error: Exception) -> str:
    """Typer's own complaint on one line, with the command whose help says more; empty after that help."""
    format_message = getattr(error, "format_message", None)
    message = " ".join((format_message() if callable(format_message) else str(error)).split()).rstrip(".")
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "orch"
    return f"{message}; '{path} --help' says how" if message else ""


def _refused(arguments: Sequence[str], message: str, code: int) -> int:
    from orchestrator.cli.output import print_json, remark

    line = " ".join(message.split())
    if "--json" in arguments:
        print_json({"ok": False, "error": line or "a command is missing"})
    if line:
        remark(line)
    return code
