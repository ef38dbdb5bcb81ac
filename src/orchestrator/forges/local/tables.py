"""The local forge's tables: what git itself does not keep about hosted projects."""

from datetime import UTC, datetime
from typing import Final

from sqlalchemy import (
    Column,
    Dialect,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    text,
)

SCHEMA_VERSION: Final = 1


class Instant(TypeDecorator[datetime]):
    """An aware datetime as ISO text in UTC with microseconds, so that text order is time order."""

    impl = String(32)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> str | None:
        """The text of an instant."""
        return None if value is None else value.astimezone(UTC).isoformat(timespec="microseconds")

    def process_result_value(self, value: str | None, dialect: Dialect) -> datetime | None:
        """The instant of a text."""
        return None if value is None else datetime.fromisoformat(value)


metadata = MetaData()

forge_projects = Table(
    "forge_projects",
    metadata,
    Column("name", String, primary_key=True),
    Column("base", String, nullable=False),
    Column("upstream", Text, nullable=False),
    Column("hosted_at", Instant, nullable=False),
)

forge_pulls = Table(
    "forge_pulls",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("project", ForeignKey("forge_projects.name"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("branch", String, nullable=False),
    Column("base", String, nullable=False),
    Column("head", String, nullable=False),
    Column("state", String, nullable=False),
    Column("title", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("merged_as", String),
    Column("opened_at", Instant, nullable=False),
    Column("ended_at", Instant),
    UniqueConstraint("project", "number"),
    # A branch has one pull request at most, besides those that were closed without merging.
    Index("forge_pulls_by_branch", "project", "branch", unique=True, sqlite_where=text("state <> 'closed'")),
)

forge_approvals = Table(
    "forge_approvals",
    metadata,
    Column("project", String, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("head", String, primary_key=True),
    Column("who", String, primary_key=True),
    Column("at", Instant, nullable=False),
)

forge_statuses = Table(
    "forge_statuses",
    metadata,
    Column("project", String, primary_key=True),
    Column("commit_id", String, primary_key=True),
    Column("attempt", Integer, nullable=False),
    Column("state", String, nullable=False),
    Column("description", Text, nullable=False, server_default=""),
    Column("log_tail", Text, nullable=False, server_default=""),
    Column("changed_at", Instant, nullable=False),
)
