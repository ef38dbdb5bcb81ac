"""What agents are given and what they consume: CLI and version, cached tokens, ceilings, approved texts."""

import hashlib

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

RUNS = ("cli", "cli_version", "cache_read_tokens", "cache_write_tokens", "ceiling")
ITEMS = ("author", "text_approved")


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), server_default="", nullable=False)


def _tokens(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), server_default="0", nullable=False)


def upgrade() -> None:
    op.add_column("agent_runs", _text("cli"))
    op.add_column("agent_runs", _text("cli_version"))
    op.add_column("agent_runs", _tokens("cache_read_tokens"))
    op.add_column("agent_runs", _tokens("cache_write_tokens"))
    op.add_column("agent_runs", sa.Column("ceiling", sa.JSON(), server_default="{}", nullable=False))
    for name in ITEMS:
        op.add_column("tasks", _text(name))
    _approve_what_is_there()


def _approve_what_is_there() -> None:
    """Items that were let in under the rules of before may go on with the texts that they have.

    The digest is that of `pipeline.untrusted.text_digest`, written out because a migration does not change
    with the program.
    """
    connection = op.get_bind()
    tasks = sa.table("tasks", *(sa.column(name) for name in ("id", "title", "description", "text_approved")))
    for row in connection.execute(sa.select(tasks.c.id, tasks.c.title, tasks.c.description)).all():
        digest = hashlib.sha256(f"{row.title}\n\n{row.description}".encode("utf-8", "replace")).hexdigest()
        connection.execute(tasks.update().where(tasks.c.id == row.id).values(text_approved=digest))


def downgrade() -> None:
    for name in RUNS:
        op.drop_column("agent_runs", name)
    for name in ITEMS:
        op.drop_column("tasks", name)
