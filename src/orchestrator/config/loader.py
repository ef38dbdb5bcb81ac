"""The only reader of environment and files: settings from their layers, a contract from its file."""

import difflib
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import ValidationError
from pydantic_settings import DotEnvSettingsSource, EnvSettingsSource

from orchestrator.config.effect import WITHOUT_EFFECT
from orchestrator.config.fields import allowed, env_name, shown, tolerance
from orchestrator.config.groups.agents import ROLES, timeout_overrides
from orchestrator.config.settings import ENV_PREFIX, Settings
from orchestrator.errors import BadInput

SETTINGS_FILE: Final = "orchestrator.toml"
DEFAULT: Final = "default"

# Given to agents and to a contract's commands, and so possibly inherited, but no settings.
_NO_SETTINGS: Final = ("ORCH_PORT_",)


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """The settings, what had to be put right while loading them, and where each one came from.

    An origin is ``argument``, ``environment``, ``CLAUDE_BIN``, ``.env``, ``orchestrator.toml`` or
    ``default``.
    """

    settings: Settings
    warnings: tuple[str, ...]
    origins: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Layer:
    origin: str
    values: Mapping[str, object]


def load_settings(overrides: Mapping[str, object] | None = None) -> LoadedSettings:
    """Load the settings: ``overrides``, environment, ``.env`` here, ``orchestrator.toml`` in the home.

    An override of ``None`` and an empty variable count as not given.

    Raises:
        BadInput: a value or a file cannot be used; the message names it, and what is allowed.
    """
    warnings: list[str] = []
    layers = _layers(overrides or {}, warnings)
    values: dict[str, object] = {"home": _default_home()}
    origins = dict.fromkeys(Settings.model_fields, DEFAULT)
    for layer in reversed(layers):
        values.update(layer.values)
        origins.update(dict.fromkeys(layer.values, layer.origin))
    _add_claude_path(values, origins)
    settings = _validated(values, origins, warnings)
    warnings.extend(_doubts(settings, origins))
    warnings.extend(_idle(settings))
    return LoadedSettings(settings, tuple(warnings), origins)


def _idle(settings: Settings) -> Iterator[str]:
    """What somebody set to no avail; the default itself is what happens anyway."""
    for name in sorted(WITHOUT_EFFECT):
        if getattr(settings, name) != Settings.model_fields[name].default:
            yield f"{env_name(name)} has no effect in this version"


def _layers(overrides: Mapping[str, object], warnings: list[str]) -> list[_Layer]:
    given = {name: value for name, value in overrides.items() if value is not None}
    _refuse_unknown(given, "the arguments")
    variables = [name for name in os.environ if name.startswith(ENV_PREFIX)]
    warnings.extend(_misspelt(variables, "the environment"))
    layers = [
        _Layer("argument", given),
        _Layer("environment", EnvSettingsSource(Settings)()),
        _Layer(".env", _read_dotenv(warnings)),
    ]
    chosen = (layer.values["home"] for layer in layers if "home" in layer.values)
    home = Path(str(next(chosen, _default_home())))
    return [*layers, _Layer(SETTINGS_FILE, _read_settings_file(home))]


def _default_home() -> Path:
    data = os.environ.get("XDG_DATA_HOME", "")
    return Path(data, "orchestrator") if data else Path(Settings.model_fields["home"].default)


def _read_dotenv(warnings: list[str]) -> dict[str, object]:
    try:
        lines = DotEnvSettingsSource(Settings, env_file=Path(".env")).env_vars
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f".env in {Path.cwd()} cannot be read as UTF-8 text: {error}") from error
    variables = {name.upper(): value for name, value in lines.items() if value}
    warnings.extend(_misspelt((name for name in variables if name.startswith(ENV_PREFIX)), ".env"))
    return {name: variables[env_name(name)] for name in Settings.model_fields if env_name(name) in variables}


def _read_settings_file(home: Path) -> dict[str, object]:
    path = home / SETTINGS_FILE
    try:
        path = path.expanduser()
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except RuntimeError:
        raise BadInput(
            f"{env_name('home')}={home}: this user has no home directory; write the whole path"
        ) from None
    except NotADirectoryError as error:
        raise BadInput(f"{env_name('home')}={home}: something that is no directory is in the way") from error
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} cannot be read as UTF-8 text: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{path}: {error}") from error
    if "home" in values:
        raise BadInput(
            f"{path}: home cannot be set here, because this file is found through it; set ORCH_HOME"
        )
    _refuse_unknown(values, str(path))
    return {name: value for name, value in values.items() if value != ""}


def _refuse_unknown(values: Iterable[str], source: str) -> None:
    for name in values:
        if name not in Settings.model_fields:
            near = difflib.get_close_matches(name, Settings.model_fields, n=1)
            hint = f"did you mean {near[0]}?" if near else "`orch config` lists them all"
            raise BadInput(f"{source}: {name!r} is no setting; {hint}")


def _misspelt(variables: Iterable[str], source: str) -> list[str]:
    """Warnings for variables that are nearly a setting; the others are somebody else's and left alone."""
    known = [env_name(name) for name in Settings.model_fields]
    found: list[str] = []
    for variable in variables:
        if variable.upper() in known or variable.upper().startswith(_NO_SETTINGS):
            continue
        near = difflib.get_close_matches(variable.upper(), known, n=1, cutoff=0.85)
        found.extend(f"{variable} in {source} is no setting; did you mean {name}?" for name in near)
    return found


def _add_claude_path(values: dict[str, object], origins: dict[str, str]) -> None:
    """Honour the older variable of the CLI's path, while nobody uses the newer one."""
    path = os.environ.get("CLAUDE_BIN", "")
    if path and "agent_command" not in values and values.get("agent_cli", "claude") == "claude":
        values["agent_command"] = path
        origins["agent_command"] = "CLAUDE_BIN"


def _validated(values: dict[str, object], origins: dict[str, str], warnings: list[str]) -> Settings:
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        faults = _faults(error)
    refused = [_refusal(name, values, why) for name, why in faults.items() if not (name and tolerance(name))]
    if refused:
        raise BadInput("\n".join(refused))
    for name, why in faults.items():
        mark = tolerance(name)
        bad = _refusal(name, values, why)
        del values[name]
        origins[name] = DEFAULT
        fallback = Settings.model_fields[name].default
        if mark and mark.fallback is not None:
            fallback = values[name] = mark.fallback
        warnings.append(f"{bad}; {fallback} is used")
    return Settings.model_validate(values)


def _faults(error: ValidationError) -> dict[str, str]:
    """What is wrong, by setting; the empty name stands for settings that do not go together."""
    found: dict[str, str] = {}
    for fault in error.errors(include_url=False, include_input=False):
        name = str(fault["loc"][0]) if fault["loc"] else ""
        own = fault.get("ctx", {}).get("error") if fault["type"] == "value_error" else None
        found.setdefault(name, str(own) if own else f"must be {allowed(name)}")
    return found


def _refusal(name: str, values: Mapping[str, object], why: str) -> str:
    return f"{env_name(name)}={shown(name, values[name])}: {why}" if name else why


def _doubts(settings: Settings, origins: Mapping[str, str]) -> list[str]:
    """What can be used, but is hardly meant."""
    _, faults = timeout_overrides(settings.agent_timeout_overrides_json)
    found = [f"ORCH_AGENT_TIMEOUT_OVERRIDES_JSON: {fault}; it is ignored" for fault in faults]
    if DEFAULT not in (origins["database_url"], origins["db_path"]):
        found.append("ORCH_DB_PATH is ignored, because ORCH_DATABASE_URL names the database")
    longest = max(settings.agent_timeout(role) for role in ROLES).total_seconds()
    needed = int(longest) + settings.agent_kill_grace_seconds
    if settings.reaper_max_running_s <= needed:
        found.append(
            f"ORCH_REAPER_MAX_RUNNING_S={settings.reaper_max_running_s}: the reaper may end living runs; "
            f"it must exceed {needed}, the longest agent limit and its grace (ORCH-065)"
        )
    return found
