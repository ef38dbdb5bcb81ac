"""The board's tables: a neighbour with a database of its own, not a part of the store."""

from typing import Final

from sqlalchemy import (
    JSON,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    text,
)

from orchestrator.plumbing.sqlite import Instant, Schema

metadata = MetaData()

board_projects = Table(
    "board_projects",
    metadata,
    Column("name", String, primary_key=True),
    Column("prefix", String, nullable=False, unique=True),
    Column("last_number", Integer, nullable=False, server_default="0"),
    Column("created_at", Instant, nullable=False),
)

board_items = Table(
    "board_items",
    metadata,
    Column("ref", String, primary_key=True),
    Column("project", ForeignKey("board_projects.name"), nullable=False),
    Column("title", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("state", String, nullable=False),
    Column("labels", JSON, nullable=False),
    Column("blocked_by", JSON, nullable=False),
    Column("author", String, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("updated_at", Instant, nullable=False),
    Column("last_change", Integer, nullable=False, server_default="0"),
    Index("board_items_by_change", "project", "updated_at", "last_change"),
)

board_comments = Table(
    "board_comments",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("ref", ForeignKey("board_items.ref"), nullable=False),
    Column("author", String, nullable=False),
    Column("text", Text, nullable=False),
    Column("key", String, nullable=False, server_default=""),
    Column("at", Instant, nullable=False),
    Column("edited_at", Instant),
    Index("board_comments_by_item", "ref", "id"),
    Index("board_comments_by_key", "ref", "key", unique=True, sqlite_where=text("key <> ''")),
)

board_changes = Table(
    "board_changes",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("ref", ForeignKey("board_items.ref"), nullable=False),
    Column("kind", String, nullable=False),
    Column("old", JSON, nullable=False),
    Column("new", JSON, nullable=False),
    Column("who", String, nullable=False),
    Column("at", Instant, nullable=False),
    Index("board_changes_by_item", "ref", "id"),
    sqlite_autoincrement=True,
)

SCHEMA: Final = Schema("board", 1, metadata)
"""What the file holds; the version grows with each change of it."""
