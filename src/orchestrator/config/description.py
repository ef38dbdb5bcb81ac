"""Every setting with its value, its origin and its meaning: what `orch config` prints."""

from dataclasses import dataclass

from orchestrator.config.fields import Shown, env_name, shown
from orchestrator.config.loader import LoadedSettings
from orchestrator.config.settings import GROUPS, Settings


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One setting; the value of a secret is masked."""

    name: str
    env: str
    value: Shown
    origin: str
    default: Shown
    help: str


def describe(loaded: LoadedSettings) -> list[SettingRow]:
    """Every setting, in the order of the documentation."""
    return [_row(name, loaded) for group in GROUPS for name in group.model_fields]


def _row(name: str, loaded: LoadedSettings) -> SettingRow:
    field = Settings.model_fields[name]
    return SettingRow(
        name=name,
        env=env_name(name),
        value=shown(name, getattr(loaded.settings, name)),
        origin=loaded.origins[name],
        default=shown(name, field.default),
        help=field.description or "",
    )
