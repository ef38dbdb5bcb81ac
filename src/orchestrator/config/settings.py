"""Every setting under its flat name; names and stated defaults are contracts (inventory §12)."""

from typing import Final, Self

from pydantic import BaseModel, SecretStr, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from orchestrator.config.groups.agents import Agents
from orchestrator.config.groups.delivery import Delivery
from orchestrator.config.groups.neighbours import Neighbours
from orchestrator.config.groups.runners import Runners
from orchestrator.config.groups.service import Service
from orchestrator.config.groups.upkeep import Upkeep

ENV_PREFIX: Final = "ORCH_"

GROUPS: Final[tuple[type[BaseModel], ...]] = (Service, Neighbours, Agents, Runners, Delivery, Upkeep)
"""The concerns, in the order in which a person reads them."""


class Settings(BaseSettings, Upkeep, Delivery, Runners, Agents, Neighbours, Service):
    """The settings of one process, unchangeable after load.

    The class reads nothing by itself, so a test or a simulation gets exactly what it gives; environment and
    files are read by ``config.loader`` alone.
    """

    model_config = SettingsConfigDict(
        env_prefix=ENV_PREFIX,
        env_ignore_empty=True,
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
        validate_default=True,
    )

    @classmethod
    def settings_customise_sources(  # noqa: PLR0917 - the signature is that of pydantic-settings
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only what is handed in: the loader merges the layers, and so knows where each value came from."""
        del settings_cls, env_settings, dotenv_settings, file_secret_settings
        return (init_settings,)

    def secrets(self) -> tuple[str, ...]:
        """Every secret that is set, for masking: whole values, and their parts where there are several."""
        found: list[str] = []
        for name in type(self).model_fields:
            value = getattr(self, name)
            if isinstance(value, SecretStr):
                text = value.get_secret_value()
                found += [text, *text.replace(",", " ").split()]
        return tuple(part for part in dict.fromkeys(found) if part)

    @model_validator(mode="after")
    def _ports_differ(self) -> Self:
        if self.port == self.staging_port:
            raise ValueError(
                f"ORCH_STAGING_PORT={self.staging_port}: is the port of the service; give staging its own"
            )
        return self
