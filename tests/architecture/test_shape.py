"""The shape of the source holds, and each rule on it can fail."""

import pytest

from tests.architecture import shape

MODULE_LINES = 400
FUNCTION_LINES = 50
TEST_FILE_LINES = 400
INTERNAL_IMPORTS = 12

# The error boundaries: the only modules that may catch everything, and why.
BOUNDARIES = {
    "cli/main.py": "the command line turns a bug into one line, a log entry and exit code 70",
    "jobs/worker.py": "the worker turns a bug in a handler into a retry or a dead job, logged once",
}
# Modules that bring many others together, and why that is all they do.
GATHERERS = {
    "bootstrap/agents.py": "the part of the composition root that makes agents and their producers",
    "bootstrap/app.py": "the composition root names every concrete class",
    "bootstrap/delivery.py": "the part of the composition root below gates and producers",
    "bootstrap/foundation.py": "the part of the composition root that opens the neighbours",
    "cli/tree.py": "the command tree names every command",
    "gates/__init__.py": "the registry names every gate",
}
# Who may start a process. What a person runs in the demo is started through plumbing as well.
SPAWNERS = ("plumbing/",)

MODULES = shape.modules()


def test_only_the_listed_boundaries_catch_everything():
    catching = {path for path, source in MODULES.items() if shape.broad_excepts(source)}
    assert catching == set(BOUNDARIES)


@pytest.mark.parametrize(
    "handler",
    [
        "except:",
        "except Exception:",
        "except BaseException as error:",
        "except (ValueError, Exception):",
        "except builtins.Exception:",
        "except* Exception:",
    ],
)
def test_a_broad_except_is_found(handler):
    assert shape.broad_excepts(f"try:\n    act()\n{handler}\n    raise\n") == [3]


def test_suppressing_everything_is_found():
    assert shape.broad_excepts("with contextlib.suppress(Exception):\n    act()\n") == [1]


def test_a_narrow_except_and_a_decorated_error_handler_are_no_boundaries():
    source = (
        "@app.exception_handler(Exception)\ndef show(error):\n    try: act()\n    except ValueError: raise\n"
    )
    assert shape.broad_excepts(source) == []


def test_modules_are_short():
    lines = {path: shape.length(source) for path, source in MODULES.items()}
    assert {path: count for path, count in lines.items() if count > MODULE_LINES} == {}


def test_functions_are_short():
    found = {path: shape.long_functions(source, limit=FUNCTION_LINES) for path, source in MODULES.items()}
    assert {path: functions for path, functions in found.items() if functions} == {}


def test_test_files_are_short():
    files = {file.relative_to(shape.TESTS): file.read_text("utf-8") for file in shape.TESTS.rglob("*.py")}
    lines = {str(path): shape.length(source) for path, source in files.items()}
    assert {path: count for path, count in lines.items() if count > TEST_FILE_LINES} == {}


def test_a_long_function_is_found():
    body = "    act()\n" * FUNCTION_LINES
    assert shape.long_functions(f"async def carry():\n{body}", limit=FUNCTION_LINES) == ["carry: 51 lines"]
    assert shape.long_functions(f"def carry():\n{body[10:]}", limit=FUNCTION_LINES) == []


def test_a_last_line_without_an_end_counts():
    assert shape.length("one\ntwo") == 2


def test_modules_depend_on_few_others():
    counts = {
        path: len(shape.internal_imports(source)) for path, source in MODULES.items() if path not in GATHERERS
    }
    assert {path: count for path, count in counts.items() if count > INTERNAL_IMPORTS} == {}


def test_imports_are_counted_by_module():
    source = (
        "import json\nfrom orchestrator.nowhere import one, two\nfrom orchestrator import __version__\n"
        "def late():\n    import orchestrator.elsewhere\n"
    )
    assert shape.internal_imports(source) == {"orchestrator.nowhere", "orchestrator"}


def test_names_say_what_a_module_is():
    found = {path: shape.bad_name(path) for path in MODULES}
    assert {path: fault for path, fault in found.items() if fault} == {}


@pytest.mark.parametrize(
    ("path", "fault"),
    [
        ("web/utils.py", "utils names no thing"),
        ("helpers/text.py", "helpers names no thing"),
        ("trackers/plane/plane_client.py", "plane_client repeats the name of its folder"),
        ("gates/coverage_gate.py", "coverage_gate repeats the name of its folder"),
        ("trackers/plane/client.py", ""),
        ("gates/__init__.py", ""),
    ],
)
def test_an_empty_name_and_a_stutter_are_found(path, fault):
    assert shape.bad_name(path) == fault


def test_processes_are_started_in_plumbing_only():
    found = {
        path: shape.process_starts(source)
        for path, source in MODULES.items()
        if not path.startswith(SPAWNERS)
    }
    assert {path: starts for path, starts in found.items() if starts} == {}


@pytest.mark.parametrize(
    ("source", "start"),
    [
        ("import subprocess", "subprocess"),
        ("from subprocess import run", "subprocess.run"),
        ("from asyncio import create_subprocess_exec", "asyncio.create_subprocess_exec"),
        ("await asyncio.create_subprocess_shell(line)", "asyncio.create_subprocess_shell"),
        ("asyncio.subprocess.create_subprocess_exec('ls')", "asyncio.subprocess.create_subprocess_exec"),
        ("os.execvp('ls', ['ls'])", "os.execvp"),
        ("psutil.Popen(['ls'])", "psutil.Popen"),
    ],
)
def test_a_process_start_is_found(source, start):
    assert start in shape.process_starts(source)


def test_the_rules_use_the_standard_library_only():
    own = ("orchestrator.pipeline", "orchestrator.errors")
    found = {
        path: shape.foreign_imports(source, allowed=own)
        for path, source in MODULES.items()
        if path.startswith("pipeline/")
    }
    assert {path: names for path, names in found.items() if names} == {}


def test_a_foreign_import_is_found():
    source = (
        "import json, httpx\nfrom orchestrator.ports import clock\nfrom orchestrator.pipeline import ids\n"
    )
    found = shape.foreign_imports(source, allowed=("orchestrator.pipeline",))
    assert found == {"httpx", "orchestrator.ports.clock"}


def test_no_machine_is_written_into_the_source():
    found = {path: shape.host_literals(source) for path, source in shape.texts().items()}
    assert {path: literals for path, literals in found.items() if literals} == {}


@pytest.mark.parametrize(
    ("source", "literals"),
    [
        ("HOME = '/home/anna/app'", ["/home/"]),
        ("open('/root/.netrc')", ["/root/"]),
        ("HOST = '10.20.30.40'", ["10.20.30.40"]),
        ("URL = 'http://192.168.0.7:3000/api'", ["192.168.0.7"]),
        ("HOST = '127.0.0.1'; ANY = '0.0.0.0'; NET = '127.0.0.0/8'", []),
        ("VERSION = '1.2.3.4.5'; OTHER = '1.2.3'; AREA = '999.1.1.1'", []),
        ("URL = '/web/home/page'", []),
    ],
)
def test_a_literal_of_some_machine_is_found(source, literals):
    assert shape.host_literals(source) == literals
