"""One place starts model CLIs, and no module speaks to a model itself (LLM usage policy, rule 5)."""

import ast

import pytest

from tests.architecture import shape

# What would be a second transport: SDKs of providers, gateways to them, and wrappers of agent CLIs.
SDKS = frozenset(
    {
        *("anthropic", "openai", "google.genai", "google.generativeai", "vertexai", "mistralai", "cohere"),
        *("boto3", "litellm", "langchain", "langchain_core", "llama_index", "ollama", "transformers"),
        *("claude_agent_sdk", "claude_code_sdk", "agents", "aider", "minisweagent"),
    }
)
MODULES = shape.modules()


def imported(source: str) -> set[str]:
    """The modules that a source imports, by their full names."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found.update({node.module, *(f"{node.module}.{alias.name}" for alias in node.names)})
    return found


def sdks_in(source: str) -> set[str]:
    """Imported packages that speak to models."""
    return {sdk for sdk in SDKS for name in imported(source) if name == sdk or name.startswith(f"{sdk}.")}


def calls(source: str, name: str) -> bool:
    """Whether a source calls something of that name."""
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
        for node in ast.walk(ast.parse(source))
    )


def test_no_module_imports_what_speaks_to_a_model():
    assert {path: found for path, source in MODULES.items() if (found := sdks_in(source))} == {}


@pytest.mark.parametrize(
    "line",
    ["import anthropic", "from openai import OpenAI", "from google import genai", "import litellm.utils"],
)
def test_such_an_import_is_found(line):
    assert sdks_in(line)


def test_our_own_packages_are_no_sdks():
    assert sdks_in("from orchestrator.agents import transport\nimport orchestrator.agents.clis") == set()


def test_only_the_transport_makes_processes_of_agents():
    """The kinds of CLI say what is to be started; `Versions`, which asks for one, is the transport's own."""
    making = {path for path, source in MODULES.items() if path.startswith("agents/") and starts(source)}
    assert making == {"agents/transport.py", "agents/versions.py"}


def starts(source: str) -> bool:
    return calls(source, "CommandSpec")


def test_only_the_transport_and_the_composition_root_know_the_kinds():
    knowing = {
        path
        for path, source in MODULES.items()
        if any(name.startswith("orchestrator.agents.clis") for name in imported(source))
    }
    outside = {path for path in knowing if not path.startswith("agents/")}
    assert {path.split("/")[0] for path in outside} <= {"bootstrap"}
    assert "agents/transport.py" in knowing


def test_what_is_to_be_started_is_said_by_the_kinds_and_the_sandbox_alone():
    saying = {path for path, source in MODULES.items() if calls(source, "Launch")}
    assert all(path.startswith(("agents/clis/", "agents/sandbox/")) for path in saying)
    assert saying
