"""Where the orchestrator runs, where it keeps its data, who may call it, and how fast it goes."""

from datetime import tzinfo
from pathlib import Path
from typing import Annotated, Final, Literal
from zoneinfo import ZoneInfoNotFoundError

from pydantic import BaseModel, Field, SecretStr, ValidationInfo, field_validator

from orchestrator.config.kinds import Interval, Port, zone_of

TOKEN_ROLES: Final = ("viewer", "operator", "admin")


class Service(BaseModel):
    """The service itself."""

    home: Path = Field(
        Path("~/.local/share/orchestrator"),
        description="Data directory: database, repositories, worktrees, runs and logs are below it. "
        "With XDG_DATA_HOME set, the default is $XDG_DATA_HOME/orchestrator.",
    )
    host: str = Field(
        "127.0.0.1",
        min_length=1,
        description="Address to listen on. Anything but loopback is refused: nobody has to log in yet.",
    )
    port: Port = Field(8500, description="Port of the service.")
    staging_port: Port = Field(8501, description="Port of the staging instance; never the same as `port`.")
    database_url: SecretStr = Field(
        SecretStr(""),
        description="Database. Empty: the SQLite file `db_path`. Several machines: a PostgreSQL URL.",
    )
    db_path: Path = Field(
        Path("orchestrator.db"),
        description="SQLite file, used while `database_url` is empty; a relative path is below `home`.",
    )
    repos_dir: Path = Field(
        Path("repos"), description="Clones of the projects' repositories; a relative path is below `home`."
    )
    worktrees_dir: Path = Field(
        Path("worktrees"), description="Worktrees of the work items; a relative path is below `home`."
    )
    api_tokens: SecretStr = Field(
        SecretStr(""),
        description="Who may call the API: name:role:hash, separated by commas or spaces; "
        "the roles are viewer, operator and admin.",
    )
    notify_urls: SecretStr = Field(
        SecretStr(""), description="Where alerts go: Apprise URLs separated by spaces. Empty: the log only."
    )
    language: Literal["en", "ru"] = Field("en", description="Language of tracker comments and alerts.")
    time_zone: str = Field(
        "UTC", description="Time zone in which a day of a budget begins, such as Europe/Berlin."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="Least level that is logged."
    )
    max_concurrency: Annotated[int, Field(ge=1, le=64)] = Field(
        1, description="How many jobs run at the same time."
    )
    poll_interval: Interval = Field(
        0.5,
        description="Seconds between looks at the queue when nothing wakes the worker up. †",
    )

    @field_validator("home")
    @classmethod
    def _home_is_absolute(cls, value: Path) -> Path:
        return _expanded(value).absolute()

    @field_validator("db_path", "repos_dir", "worktrees_dir")
    @classmethod
    def _below_home(cls, value: Path, info: ValidationInfo) -> Path:
        home: Path = info.data.get("home", Path())
        return home / _expanded(value)

    @field_validator("time_zone")
    @classmethod
    def _zone_is_known(cls, value: str) -> str:
        try:
            zone_of(value)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError(
                "must be a time zone of the IANA database, such as UTC or Europe/Berlin"
            ) from None
        return value

    @field_validator("api_tokens")
    @classmethod
    def _tokens_are_complete(cls, value: SecretStr) -> SecretStr:
        names = [_token_name(entry) for entry in value.get_secret_value().replace(",", " ").split()]
        if len(names) != len(set(names)):
            raise ValueError("must give each token another name")
        return value

    @property
    def zone(self) -> tzinfo:
        """The time zone in which a day of a budget begins."""
        return zone_of(self.time_zone)

    @property
    def notify_targets(self) -> tuple[str, ...]:
        """The Apprise URLs one by one; they contain secrets."""
        return tuple(self.notify_urls.get_secret_value().split())

    @property
    def effective_database_url(self) -> str:
        """The URL for SQLAlchemy, which may contain a password; PostgreSQL is reached through psycopg."""
        scheme, separator, rest = self.database_url.get_secret_value().partition("://")
        if not separator:
            return f"sqlite:///{self.db_path}"
        return f"{_DRIVERS.get(scheme, scheme)}://{rest}"

    @property
    def runs_dir(self) -> Path:
        """Logs, exit records and inputs of the runs."""
        return self.home / "runs"

    @property
    def checkouts_dir(self) -> Path:
        """Clean checkouts in which tests and gates run."""
        return self.home / "checkouts"

    @property
    def state_dir(self) -> Path:
        """Sentinels of deployments and monitors."""
        return self.home / "state"

    @property
    def forge_dir(self) -> Path:
        """Data of the built-in forge."""
        return self.home / "forge"

    @property
    def board_path(self) -> Path:
        """SQLite file of the built-in board."""
        return self.home / "board.db"

    @field_validator("database_url")
    @classmethod
    def _database_is_known(cls, value: SecretStr) -> SecretStr:
        scheme = value.get_secret_value().partition("://")[0]
        if scheme and _DRIVERS.get(scheme, scheme) not in {"sqlite", "postgresql+psycopg"}:
            raise ValueError("must be empty or begin with sqlite:/// or postgresql://")
        return value


_DRIVERS: Final = {"postgres": "postgresql+psycopg", "postgresql": "postgresql+psycopg"}


def _expanded(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError:
        raise ValueError("begins with ~, but this user has no home directory; write the whole path") from None


def _token_name(entry: str) -> str:
    """The name in ``name:role:hash``."""
    name, _, rest = entry.partition(":")
    role, _, digest = rest.partition(":")
    if not (name and digest and role in TOKEN_ROLES):
        raise ValueError(f"must be entries name:role:hash with a role of {', '.join(TOKEN_ROLES)}")
    return name
