"""What Alembic runs: the revisions, on the connection and in the transaction of `schema.bring_up`."""

from alembic import context

from orchestrator.store.tables import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    transactional_ddl=True,
    render_as_batch=True,
)
context.run_migrations()
