"""What is said to be without effect really is, and everything else is read somewhere."""

import re
from pathlib import Path

import orchestrator
from orchestrator.config.effect import WITHOUT_EFFECT
from orchestrator.config.loader import load_settings
from orchestrator.config.settings import Settings

PACKAGE = Path(orchestrator.__file__).parent
# Read through a property of the settings that gathers them.
THROUGH_PROPERTIES = {
    "budgets_json": "budgets",
    "database_url": "effective_database_url",
    "notify_urls": "notify_targets",
    "time_zone": "zone",
}
# Settings with one name for each role, and the code that reads the right one.
LADDERS = {
    "agent_timeout": "settings.agent_timeout(",
    "agent_model": 'f"agent_model_{role.value}"',
    "agent_effort": 'f"agent_effort_{role.value}"',
}


def read_somewhere(name: str, source: str) -> bool:
    wanted = THROUGH_PROPERTIES.get(name, name)
    ladder = next((code for start, code in LADDERS.items() if name.startswith(start)), None)
    return bool(re.search(rf"settings\.{wanted}\b", source)) or (ladder is not None and ladder in source)


def test_the_settings_without_effect_are_exactly_those_that_no_code_reads():
    readers = [path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] != "config"]
    source = "\n".join(path.read_text() for path in readers)
    assert {name for name in Settings.model_fields if not read_somewhere(name, source)} == WITHOUT_EFFECT


def test_a_setting_that_is_read_is_found():
    assert read_somewhere("home", "x = settings.home\n")
    assert not read_somewhere("home", "x = settings.homes\n")


def test_whoever_sets_one_is_told_that_it_does_nothing(monkeypatch):
    monkeypatch.setenv("ORCH_SERIAL_GATE_STRICT", "true")
    warnings = [warning for warning in load_settings().warnings if "ORCH_SERIAL_GATE_STRICT" in warning]
    assert warnings == ["ORCH_SERIAL_GATE_STRICT has no effect in this version"]
