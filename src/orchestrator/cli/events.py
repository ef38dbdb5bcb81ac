"""`orch events`: the facts from outside, as they were stored before anything was done about them."""

from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli.output import AsJson, Json, moment, print_json, print_table
from orchestrator.cli.session import perform

if TYPE_CHECKING:
    from orchestrator.bootstrap import App
    from orchestrator.ports.store import Event, Transaction

app = typer.Typer(help="The ledger of events: what people and neighbours said.", no_args_is_help=True)


@app.callback()
def _events() -> None:
    """Keep `list` a command of its own although it is the only one."""


@app.command(name="list")
def show(
    *,
    item: Annotated[
        str | None, typer.Option("--item", metavar="ID", help="Only events of this item.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="How many at most.")] = 50,
    json: AsJson = False,
) -> None:
    """List the newest events, the newest first."""

    async def read(app: "App") -> list[Json]:
        from orchestrator.engine.intake import known_item
        from orchestrator.pipeline.ids import WorkItemId

        def find(tx: "Transaction") -> list[Json]:
            if item is None:
                return [_event(tx, event) for event in tx.events.recent(limit)]
            known = known_item(tx, WorkItemId(item.upper()))
            return [_event(tx, event) for event in reversed(tx.events.of_item(known.task_id))][:limit]

        return await app.store.transact(find)

    rows = perform(read)
    if json:
        print_json(rows)
        return
    print_table(
        ("Event", "At (UTC)", "From", "Kind", "Item", "Outcome"),
        [
            (row["id"], moment(row["at"]), row["source"], row["kind"], row["work_item"], row["outcome"])
            for row in rows
        ],
        empty="no events yet",
    )


def _event(tx: "Transaction", event: "Event") -> Json:
    from orchestrator.plumbing.redaction import redact

    known = tx.items.get(event.task_id) if event.task_id is not None else None
    return {
        "id": event.id,
        "at": event.received_at.isoformat(),
        "source": event.source,
        "kind": event.kind,
        "work_item": known.id if known is not None else None,
        "outcome": event.outcome,
        "payload": {
            name: redact(value) if isinstance(value, str) else value for name, value in event.payload.items()
        },
    }
