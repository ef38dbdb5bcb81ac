"""The first tables: work items, what is known about them, jobs, runs, leases."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

NOW = sa.text("CURRENT_TIMESTAMP")

# Those that refer to others come first, so that they can be dropped in this order.
TABLES = (
    *("keyvalue", "project_state", "transition_lease", "agent_runs", "jobs", "lessons", "approvals"),
    *("holds", "rounds", "verdicts", "transitions", "events", "job_deps", "tasks"),
)


def _instant(name: str) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), server_default=NOW, nullable=False)


def _text(name: str, default: str = "") -> sa.Column[str]:
    return sa.Column(name, sa.Text(), server_default=default, nullable=False)


def _json(name: str, default: str) -> sa.Column[object]:
    return sa.Column(name, sa.JSON(none_as_null=True), server_default=default, nullable=False)


def _one_of(table: str, column: str, values: str) -> sa.CheckConstraint:
    named = ", ".join(f"'{value}'" for value in values.split())
    return sa.CheckConstraint(f"{column} IN ({named})", name=op.f(f"ck_{table}_{column}"))


def _only_among(name: str, table: str, column: str, condition: str) -> None:
    where = sa.text(condition)
    op.create_index(name, table, column.split(), unique=True, sqlite_where=where, postgresql_where=where)


def upgrade() -> None:
    _tasks()
    _job_deps()
    _events()
    _transitions()
    _verdicts()
    _rounds()
    _holds()
    _approvals()
    _lessons()
    _jobs()
    _agent_runs()
    _transition_lease()
    _project_state()
    _keyvalue()


def downgrade() -> None:
    for table in TABLES:
        op.drop_table(table)


def _tasks() -> None:
    op.create_table(
        "tasks",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("plane_id", sa.Text(), nullable=False),
        sa.Column("work_item_id", sa.Text(), nullable=False),
        sa.Column("repo", sa.Text(), nullable=False),
        sa.Column("branch", sa.Text(), nullable=False),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("epoch", sa.Integer(), server_default="1", nullable=False),
        _text("title"),
        _text("description"),
        _text("track", "full"),
        _text("base", "main"),
        _json("labels", "[]"),
        sa.Column("head", sa.Text()),
        sa.Column("code", sa.Text()),
        sa.Column("pull_request", sa.Integer()),
        sa.Column("merged", sa.Text()),
        sa.Column("branch_attempt", sa.Integer(), server_default="1", nullable=False),
        sa.Column("fence", sa.Integer(), server_default="0", nullable=False),
        _instant("created_at"),
        _instant("entered_at"),
        _instant("updated_at"),
        _one_of(
            "tasks",
            "stage",
            "created analysis architecture development review testing deploy-staging deploy done cancelled",
        ),
        _one_of("tasks", "track", "full bug"),
        sa.PrimaryKeyConstraint("id", name="pk_tasks"),
        sa.UniqueConstraint("plane_id", name="uq_tasks_plane_id"),
        sa.UniqueConstraint("repo", "work_item_id", name="uq_tasks_repo_work_item_id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_tasks_repo_branch", "tasks", ["repo", "branch"])


def _job_deps() -> None:
    op.create_table(
        "job_deps",
        sa.Column("task_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("depends_on_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.CheckConstraint("task_id <> depends_on_id", name=op.f("ck_job_deps_other")),
        sa.ForeignKeyConstraint(["depends_on_id"], ["tasks.id"], name="fk_job_deps_depends_on_id_tasks"),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name="fk_job_deps_task_id_tasks"),
        sa.PrimaryKeyConstraint("task_id", "depends_on_id", name="pk_job_deps"),
    )


def _events() -> None:
    op.create_table(
        "events",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        _instant("received_at"),
        _json("payload", "{}"),
        sa.Column("content_key", sa.Text(), nullable=False),
        sa.Column("task_id", sa.Integer()),
        _text("outcome"),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name="fk_events_task_id_tasks"),
        sa.PrimaryKeyConstraint("id", name="pk_events"),
        sa.UniqueConstraint("content_key", name="uq_events_content_key"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_events_task_id", "events", ["task_id"])


def _transitions() -> None:
    op.create_table(
        "transitions",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("task_id", sa.Integer(), nullable=False),
        _instant("at"),
        sa.Column("from_stage", sa.Text(), nullable=False),
        sa.Column("to_stage", sa.Text(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        _text("kind"),
        _text("reason"),
        _text("trigger"),
        sa.Column("commit", sa.Text()),
        _json("evidence", "{}"),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name="fk_transitions_task_id_tasks"),
        sa.PrimaryKeyConstraint("id", name="pk_transitions"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_transitions_task_id", "transitions", ["task_id"])


def _verdicts() -> None:
    op.create_table(
        "verdicts",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("task_id", sa.Integer(), nullable=False),
        sa.Column("gate", sa.Text(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("stage", sa.Text(), nullable=False),
        _instant("at"),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("code", sa.Text()),
        sa.Column("commit", sa.Text()),
        _text("reason"),
        _json("findings", "[]"),
        _json("optional", "[]"),
        _json("evidence", "{}"),
        sa.Column("failure", sa.Text()),
        sa.Column("waits_for", sa.Text()),
        sa.Column("retry_after_us", sa.BigInteger()),
        _one_of("verdicts", "answer", "passed failed inconclusive"),
        sa.CheckConstraint(
            "answer = 'inconclusive' OR (code IS NOT NULL AND \"commit\" IS NOT NULL)",
            name=op.f("ck_verdicts_bound_to_code"),
        ),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name="fk_verdicts_task_id_tasks"),
        sa.PrimaryKeyConstraint("id", name="pk_verdicts"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_verdicts_task_id_epoch", "verdicts", ["task_id", "epoch"])


def _rounds() -> None:
    op.create_table(
        "rounds",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("task_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("source_gate", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        _text("reason"),
        _json("findings", "[]"),
        _json("optional", "[]"),
        _text("link"),
        sa.Column("code", sa.Text()),
        _text("fingerprint"),
        sa.Column("spent", sa.Boolean(), nullable=False),
        _instant("created_at"),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name="fk_rounds_task_id_tasks"),
        sa.PrimaryKeyConstraint("id", name="pk_rounds"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_rounds_task_id", "rounds", ["task_id"])


def _holds() -> None:
    op.create_table(
        "holds",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("task_id", sa.Integer(), nullable=False),
        _text("reason"),
        _instant("since"),
        _text("who_can_unblock"),
        sa.Column("failure", sa.Text()),
        sa.Column("released_at", sa.DateTime(timezone=True)),
        _text("released_by"),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name="fk_holds_task_id_tasks"),
        sa.PrimaryKeyConstraint("id", name="pk_holds"),
        sqlite_autoincrement=True,
    )
    _only_among("uq_holds_open", "holds", "task_id", "released_at IS NULL")


def _approvals() -> None:
    op.create_table(
        "approvals",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("task_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("granted", sa.Boolean(), nullable=False),
        sa.Column("decided_by", sa.Text(), nullable=False),
        _instant("at"),
        _text("comment"),
        _one_of("approvals", "kind", "analysis deploy"),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name="fk_approvals_task_id_tasks"),
        sa.PrimaryKeyConstraint("id", name="pk_approvals"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_approvals_task_id", "approvals", ["task_id"])


def _lessons() -> None:
    op.create_table(
        "lessons",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("task_id", sa.Integer()),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        _text("text"),
        _instant("created_at"),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name="fk_lessons_task_id_tasks"),
        sa.PrimaryKeyConstraint("id", name="pk_lessons"),
        sqlite_autoincrement=True,
    )


def _jobs() -> None:
    op.create_table(
        "jobs",
        sa.Column("id", sa.Integer(), nullable=False),
        _text("kind", "produce"),
        _text("agent"),
        _text("repo"),
        sa.Column("task_id", sa.Integer()),
        _text("task_content"),
        _text("status", "queued"),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("max_attempts", sa.Integer(), server_default="3", nullable=False),
        sa.Column("retries", sa.Integer(), server_default="0", nullable=False),
        _instant("available_at"),
        sa.Column("pid", sa.Integer()),
        sa.Column("owner_boot", sa.Text()),
        _text("error"),
        sa.Column("stage", sa.Text()),
        sa.Column("epoch", sa.Integer()),
        sa.Column("commit", sa.Text()),
        sa.Column("code", sa.Text()),
        _json("data", "{}"),
        _json("result", "{}"),
        sa.Column("dedup", sa.Text()),
        sa.Column("priority", sa.Integer(), server_default="0", nullable=False),
        _instant("created_at"),
        sa.Column("started_at", sa.DateTime(timezone=True)),
        sa.Column("finished_at", sa.DateTime(timezone=True)),
        _one_of("jobs", "kind", "intake look produce watch tracker notify cleanup"),
        _one_of("jobs", "status", "queued running done failed cancelled"),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name="fk_jobs_task_id_tasks"),
        sa.PrimaryKeyConstraint("id", name="pk_jobs"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_jobs_status_priority_id", "jobs", ["status", "priority", "id"])
    op.create_index("ix_jobs_task_id", "jobs", ["task_id"])
    _only_among("uq_jobs_dedup", "jobs", "dedup", "status = 'queued' AND dedup IS NOT NULL")
    _only_among(
        "uq_jobs_open_work",
        "jobs",
        "task_id stage epoch",
        "kind = 'produce' AND status IN ('queued', 'running')",
    )


def _agent_runs() -> None:
    op.create_table(
        "agent_runs",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("task_id", sa.Integer(), nullable=False),
        sa.Column("job_id", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("stage", sa.Text()),
        sa.Column("model", sa.Text()),
        sa.Column("effort", sa.Text()),
        sa.Column("input_tokens", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("output_tokens", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("cost_usd", sa.Float(), server_default="0", nullable=False),
        sa.Column("duration_s", sa.Float()),
        sa.Column("exit_code", sa.Integer()),
        _text("outcome"),
        _text("log_path"),
        sa.Column("start_commit", sa.Text(), nullable=False),
        _instant("started_at"),
        sa.Column("finished_at", sa.DateTime(timezone=True)),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_agent_runs_job_id_jobs"),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name="fk_agent_runs_task_id_tasks"),
        sa.PrimaryKeyConstraint("id", name="pk_agent_runs"),
        sa.UniqueConstraint("job_id", "attempt", name="uq_agent_runs_job_id_attempt"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_agent_runs_task_id", "agent_runs", ["task_id"])


def _transition_lease() -> None:
    op.create_table(
        "transition_lease",
        sa.Column("task_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Integer()),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("owner_pid", sa.Integer(), nullable=False),
        sa.Column("owner_boot_id", sa.Text(), nullable=False),
        _instant("acquired_at"),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name="fk_transition_lease_task_id_tasks"),
        sa.PrimaryKeyConstraint("task_id", name="pk_transition_lease"),
    )


def _project_state() -> None:
    op.create_table(
        "project_state",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("settings", sa.JSON(none_as_null=True)),
        sa.Column("frozen", sa.Text()),
        sa.Column("coverage_baseline", sa.Float()),
        sa.Column("merge_task_id", sa.Integer()),
        sa.Column("merge_owner_pid", sa.Integer()),
        sa.Column("merge_owner_boot_id", sa.Text()),
        sa.Column("merge_acquired_at", sa.DateTime(timezone=True)),
        sa.ForeignKeyConstraint(["merge_task_id"], ["tasks.id"], name="fk_project_state_merge_task_id_tasks"),
        sa.PrimaryKeyConstraint("name", name="pk_project_state"),
    )


def _keyvalue() -> None:
    op.create_table(
        "keyvalue",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        _instant("updated_at"),
        sa.PrimaryKeyConstraint("key", name="pk_keyvalue"),
    )
