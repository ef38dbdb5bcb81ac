"""The local forge's tables: what git itself does not keep about hosted projects."""

from typing import Final

from sqlalchemy import (
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from orchestrator.plumbing.sqlite import Instant, Schema

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

SCHEMA: Final = Schema("forge", 1, metadata)
"""What the file holds; the version grows with each change of it."""
