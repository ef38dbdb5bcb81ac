"""The rules on the shape of the source, each a function from a source text to the places that break it."""

import ast
import ipaddress
import re
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "orchestrator"
TESTS = ROOT / "tests"

# The sample service is data of the demo: a program of somebody else, as far as these rules go.
SAMPLES = "demo/sample/"

BANNED_NAMES = frozenset(
    {"base", "common", "core", "helper", "helpers", "manager", "managers", "misc", "util", "utils"}
)
PROCESS_MODULES = frozenset({"multiprocessing", "pty", "subprocess"})
PROCESS_CALLS = frozenset(
    {
        "asyncio.create_subprocess_exec",
        "asyncio.create_subprocess_shell",
        "os.fork",
        "os.forkpty",
        "os.popen",
        "os.posix_spawn",
        "os.posix_spawnp",
        "os.system",
        "psutil.Popen",
    }
)
PROCESS_CALL_FAMILIES = ("os.exec", "os.spawn")
HOME_PATH = re.compile(r"(?<![\w.])/(?:home|root|Users)/")
DOTTED_QUAD = re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.]*\d)")


def modules() -> dict[str, str]:
    """Every Python module of the package: its path below the package, and its text."""
    return {path: text for path, text in texts().items() if path.endswith(".py")}


def texts() -> dict[str, str]:
    """Every text file of the package that is run or shown: its path below the package, and its text."""
    kinds = {".css", ".html", ".js", ".md", ".py", ".sh", ".toml", ".yaml", ".yml"}
    files = sorted(
        file for file in PACKAGE.rglob("*") if file.suffix in kinds and "__pycache__" not in file.parts
    )
    named = {file.relative_to(PACKAGE).as_posix(): file for file in files}
    return {
        path: file.read_text(encoding="utf-8") for path, file in named.items() if not path.startswith(SAMPLES)
    }


def dotted(node: ast.expr) -> str:
    """The dotted name that an expression spells, or an empty string when it spells none."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=owner, attr=name):
            prefix = dotted(owner)
            return f"{prefix}.{name}" if prefix else ""
    return ""


def broad_excepts(source: str) -> list[int]:
    """Lines that catch or suppress everything: bare, `Exception` or `BaseException`, also in a tuple."""
    lines = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.ExceptHandler(type=None):
                lines.append(node.lineno)
            case ast.ExceptHandler(type=ast.expr() as caught) if _is_broad(caught):
                lines.append(node.lineno)
            case ast.Call(func=called, args=caught_types) if dotted(called).rpartition(".")[2] == "suppress":
                lines.extend(node.lineno for caught in caught_types if _is_broad(caught))
    return lines


def _is_broad(caught: ast.expr) -> bool:
    options = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any(
        dotted(option).removeprefix("builtins.") in {"Exception", "BaseException"} for option in options
    )


def length(source: str) -> int:
    """How many lines a file has."""
    return len(source.splitlines())


def long_functions(source: str, *, limit: int) -> list[str]:
    """Functions that have more lines than the limit, from `def` to the last line."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > limit:
                found.append(f"{node.name}: {lines} lines")
    return found


def imports(source: str) -> Iterator[str]:
    """Each name that a module imports, wherever it does so; `from a import b` gives `a.b`."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module), names=names):
                yield from (f"{module}.{alias.name}" for alias in names)


VOCABULARY = ("orchestrator.pipeline", "orchestrator.errors")


def internal_imports(source: str) -> set[str]:
    """The modules of this package that a module leans on; a name out of a module counts as the module.

    The rules and the errors are the vocabulary that everybody speaks: they do not count.
    """
    ours = {_module_of(name) for name in imports(source) if name.split(".")[0] == "orchestrator"}
    return {name for name in ours if not name.startswith(VOCABULARY)}


def _module_of(name: str) -> str:
    below = PACKAGE.joinpath(*name.split(".")[1:])
    is_module = below.with_suffix(".py").is_file() or (below / "__init__.py").is_file()
    return name if is_module else name.rpartition(".")[0]


def foreign_imports(source: str, *, allowed: tuple[str, ...]) -> set[str]:
    """What a module imports besides the standard library and the allowed packages."""
    names = {name for name in imports(source) if name.split(".")[0] not in sys.stdlib_module_names}
    return {name for name in names if not any(name == own or name.startswith(f"{own}.") for own in allowed)}


def bad_name(path: str) -> str:
    """What is wrong with the name of a module or of its folders, or an empty string."""
    pure = PurePosixPath(path)
    words = {pure.stem, *pure.parts[:-1]} & BANNED_NAMES
    if words:
        return f"{min(words)} names no thing"
    folder = pure.parent.name
    if folder and {folder, folder.removesuffix("s")} & set(pure.stem.split("_")):
        return f"{pure.stem} repeats the name of its folder"
    return ""


def process_starts(source: str) -> list[str]:
    """Imports and calls by which a module could start a process by itself."""
    starts = {
        name for name in imports(source) if name.split(".")[0] in PROCESS_MODULES or _starts_process(name)
    }
    calls = (dotted(node) for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute))
    return sorted(starts | {name for name in calls if _starts_process(name)})


def _starts_process(name: str) -> bool:
    plain = name.replace("asyncio.subprocess.", "asyncio.")
    return plain in PROCESS_CALLS or plain.startswith(PROCESS_CALL_FAMILIES)


def host_literals(source: str) -> list[str]:
    """Home directories and addresses of some particular machine; loopback and 0.0.0.0 are nobody's."""
    return HOME_PATH.findall(source) + [text for text in DOTTED_QUAD.findall(source) if _is_somebodys(text)]


def _is_somebodys(text: str) -> bool:
    try:
        address = ipaddress.IPv4Address(text)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified)
