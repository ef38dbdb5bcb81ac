"""The tables, the same on SQLite and PostgreSQL; what must never happen is forbidden here.

Names of tables and columns that the inventory gives (§6) are contracts: ``tasks`` are work items,
``plane_id`` is the reference in whichever tracker is used, ``repo`` the project, ``task_content`` a text.
"""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from orchestrator.pipeline.items import ApprovalKind
from orchestrator.pipeline.stages import Stage, Track
from orchestrator.pipeline.verdicts import Answer
from orchestrator.ports.queue import JobKind, JobStatus
from orchestrator.store.columns import Instant, Prose

METADATA: Final = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _one_of(column: str, values: Iterable[StrEnum]) -> CheckConstraint:
    named = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({named})", name=column)


def _key() -> Column[int]:
    return Column("id", Integer, primary_key=True)


def _item(*, nullable: bool = False) -> Column[int]:
    return Column("task_id", ForeignKey("tasks.id"), nullable=nullable)


def _text(name: str, default: str | None = "") -> Column[str]:
    """A text that is never NULL; without a default it has to be given."""
    return Column(name, Prose, nullable=False, server_default=default)


def _count(name: str, default: int = 0) -> Column[int]:
    return Column(name, Integer, nullable=False, server_default=str(default))


def _tokens(name: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False, server_default="0")


def _instant(name: str) -> Column[datetime]:
    return Column(name, Instant, nullable=False, server_default=text("CURRENT_TIMESTAMP"))


def _json(name: str, default: str) -> Column[Any]:
    return Column(name, JSON(none_as_null=True), nullable=False, server_default=default)


tasks: Final = Table(
    "tasks",
    METADATA,
    _key(),
    Column("plane_id", Text, nullable=False, unique=True),
    Column("work_item_id", Text, nullable=False),
    Column("repo", Text, nullable=False),
    Column("branch", Text, nullable=False),
    Column("stage", Text, nullable=False),
    _count("epoch", 1),
    _text("title"),
    _text("description"),
    _text("track", Track.FULL),
    _text("base", "main"),
    _json("labels", "[]"),
    Column("head", Text),
    Column("code", Text),
    Column("pull_request", Integer),
    Column("merged", Text),
    _count("branch_attempt", 1),
    _count("fence"),
    _text("author"),
    _text("text_approved"),
    _instant("created_at"),
    _instant("entered_at"),
    _instant("updated_at"),
    _one_of("stage", Stage),
    _one_of("track", Track),
    UniqueConstraint("repo", "work_item_id"),
    Index(None, "repo", "branch"),
    sqlite_autoincrement=True,
)

job_deps: Final = Table(
    "job_deps",
    METADATA,
    Column("task_id", ForeignKey("tasks.id"), primary_key=True, autoincrement=False),
    Column("depends_on_id", ForeignKey("tasks.id"), primary_key=True, autoincrement=False),
    CheckConstraint("task_id <> depends_on_id", name="other"),
)

events: Final = Table(
    "events",
    METADATA,
    _key(),
    _text("source", None),
    _text("kind", None),
    _instant("received_at"),
    _json("payload", "{}"),
    Column("content_key", Text, nullable=False, unique=True),
    _item(nullable=True),
    _text("outcome"),
    Index(None, "task_id"),
    sqlite_autoincrement=True,
)

transitions: Final = Table(
    "transitions",
    METADATA,
    _key(),
    _item(),
    _instant("at"),
    Column("from_stage", Text, nullable=False),
    Column("to_stage", Text, nullable=False),
    Column("epoch", Integer, nullable=False),
    _text("kind"),
    _text("reason"),
    _text("trigger"),
    Column("commit", Text),
    _json("evidence", "{}"),
    Index(None, "task_id"),
    sqlite_autoincrement=True,
)

verdicts: Final = Table(
    "verdicts",
    METADATA,
    _key(),
    _item(),
    Column("gate", Text, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("stage", Text, nullable=False),
    _instant("at"),
    Column("answer", Text, nullable=False),
    Column("code", Text),
    Column("commit", Text),
    _text("reason"),
    _json("findings", "[]"),
    _json("optional", "[]"),
    _json("evidence", "{}"),
    Column("failure", Text),
    Column("waits_for", Text),
    Column("retry_after_us", BigInteger),
    _one_of("answer", Answer),
    CheckConstraint(
        "answer = 'inconclusive' OR (code IS NOT NULL AND \"commit\" IS NOT NULL)", name="bound_to_code"
    ),
    Index(None, "task_id", "epoch"),
    sqlite_autoincrement=True,
)

rounds: Final = Table(
    "rounds",
    METADATA,
    _key(),
    _item(),
    Column("number", Integer, nullable=False),
    Column("source_gate", Text, nullable=False),
    Column("role", Text, nullable=False),
    _text("reason"),
    _json("findings", "[]"),
    _json("optional", "[]"),
    _text("link"),
    Column("code", Text),
    _text("fingerprint"),
    Column("spent", Boolean, nullable=False),
    _instant("created_at"),
    Index(None, "task_id"),
    sqlite_autoincrement=True,
)

holds: Final = Table(
    "holds",
    METADATA,
    _key(),
    _item(),
    _text("reason"),
    _instant("since"),
    _text("who_can_unblock"),
    Column("failure", Text),
    Column("released_at", Instant),
    _text("released_by"),
    Index(
        "uq_holds_open",
        "task_id",
        unique=True,
        sqlite_where=text("released_at IS NULL"),
        postgresql_where=text("released_at IS NULL"),
    ),
    sqlite_autoincrement=True,
)

approvals: Final = Table(
    "approvals",
    METADATA,
    _key(),
    _item(),
    Column("kind", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("granted", Boolean, nullable=False),
    _text("decided_by", None),
    _instant("at"),
    _text("comment"),
    _one_of("kind", ApprovalKind),
    Index(None, "task_id"),
    sqlite_autoincrement=True,
)

lessons: Final = Table(
    "lessons",
    METADATA,
    _key(),
    _item(nullable=True),
    _text("type", None),
    _text("status", None),
    _text("text"),
    _instant("created_at"),
    sqlite_autoincrement=True,
)

QUEUED: Final = "status = 'queued' AND dedup IS NOT NULL"
"""The rows among which a ``dedup`` key is unique."""

_OPEN_WORK = "kind = 'produce' AND status IN ('queued', 'running')"

jobs: Final = Table(
    "jobs",
    METADATA,
    _key(),
    _text("kind", JobKind.PRODUCE),
    _text("agent"),
    _text("repo"),
    _item(nullable=True),
    _text("task_content"),
    _text("status", JobStatus.QUEUED),
    _count("attempts"),
    _count("max_attempts", 3),
    _count("retries"),
    _instant("available_at"),
    Column("pid", Integer),
    Column("owner_boot", Text),
    _text("error"),
    Column("stage", Text),
    Column("epoch", Integer),
    Column("commit", Text),
    Column("code", Text),
    _json("data", "{}"),
    _json("result", "{}"),
    Column("dedup", Text),
    _count("priority"),
    _instant("created_at"),
    Column("started_at", Instant),
    Column("finished_at", Instant),
    _one_of("kind", JobKind),
    _one_of("status", JobStatus),
    Index("uq_jobs_dedup", "dedup", unique=True, sqlite_where=text(QUEUED), postgresql_where=text(QUEUED)),
    Index(
        "uq_jobs_open_work",
        "task_id",
        "stage",
        "epoch",
        unique=True,
        sqlite_where=text(_OPEN_WORK),
        postgresql_where=text(_OPEN_WORK),
    ),
    Index(None, "status", "priority", "id"),
    Index(None, "task_id"),
    sqlite_autoincrement=True,
)

agent_runs: Final = Table(
    "agent_runs",
    METADATA,
    _key(),
    _item(),
    Column("job_id", ForeignKey("jobs.id"), nullable=False),
    Column("attempt", Integer, nullable=False),
    _text("agent", None),
    Column("stage", Text),
    Column("model", Text),
    Column("effort", Text),
    _text("cli"),
    _text("cli_version"),
    _tokens("input_tokens"),
    _tokens("output_tokens"),
    _tokens("cache_read_tokens"),
    _tokens("cache_write_tokens"),
    Column("cost_usd", Float, nullable=False, server_default="0"),
    Column("duration_s", Float),
    Column("exit_code", Integer),
    _text("outcome"),
    _text("log_path"),
    Column("start_commit", Text, nullable=False),
    _json("ceiling", "{}"),
    _instant("started_at"),
    Column("finished_at", Instant),
    UniqueConstraint("job_id", "attempt"),
    Index(None, "task_id"),
    sqlite_autoincrement=True,
)

transition_lease: Final = Table(
    "transition_lease",
    METADATA,
    Column("task_id", ForeignKey("tasks.id"), primary_key=True, autoincrement=False),
    _text("owner", None),
    Column("run_id", Integer),
    Column("stage", Text, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("owner_pid", Integer, nullable=False),
    Column("owner_boot_id", Text, nullable=False),
    _instant("acquired_at"),
    Column("fence", Integer, nullable=False),
)

project_state: Final = Table(
    "project_state",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("settings", JSON(none_as_null=True)),
    Column("frozen", Prose),
    Column("coverage_baseline", Float),
    Column("merge_task_id", ForeignKey("tasks.id")),
    Column("merge_owner_pid", Integer),
    Column("merge_owner_boot_id", Text),
    Column("merge_acquired_at", Instant),
)

keyvalue: Final = Table(
    "keyvalue",
    METADATA,
    Column("key", Text, primary_key=True),
    _text("value", None),
    _instant("updated_at"),
)
