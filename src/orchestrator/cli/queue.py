"""`orch queue`: what is being worked on, what waits, and how the mechanisms around it stand."""

from typing import TYPE_CHECKING

from orchestrator.cli.output import AsJson, Json, moment, print_json, print_table, say
from orchestrator.cli.session import perform

if TYPE_CHECKING:
    from orchestrator.bootstrap import App


def queue(*, json: AsJson = False) -> None:
    """Show the queue: counts, the newest jobs, leases, and which item has the place in each project."""

    async def read(app: "App") -> Json:
        return await app.overview.queue()

    blocks = perform(read)
    if json:
        print_json(blocks)
        return
    counts = _mapping(blocks["counts"])
    say("Jobs: " + (", ".join(f"{number} {status}" for status, number in counts.items()) or "none yet"))
    _print_jobs(blocks["recent"])
    _print_places(_mapping(_mapping(blocks["serial_gate"]).get("projects")))
    _print_blocks(blocks)


def _print_jobs(jobs: object) -> None:
    rows = [job for job in jobs if isinstance(job, dict)] if isinstance(jobs, list) else []
    if rows:
        say()
        print_table(
            ("Job", "Kind", "For", "Project", "Stage", "Status", "Seconds"),
            [
                (*(job[key] for key in ("id", "kind", "agent", "project", "stage", "status")), job["seconds"])
                for job in rows
            ],
        )


def _print_places(projects: Json) -> None:
    if projects:
        say()
        print_table(
            ("Project", "Active", "Waiting", "Frozen"),
            [
                (
                    name,
                    _mapping(state).get("active_task"),
                    ", ".join(map(str, _sequence(_mapping(state).get("waiting")))),
                    _mapping(state).get("frozen"),
                )
                for name, state in projects.items()
            ],
        )


def _print_blocks(blocks: Json) -> None:
    """The mechanisms that are switched on or off, each on a line of its own."""
    rows = []
    for name, block in blocks.items():
        facts = _mapping(block)
        if "enabled" in facts:
            told = [
                f"{key}: {moment(value) if key.endswith('_at') else value}" for key, value in facts.items()
            ]
            detail = "; ".join(line for line in told if not line.startswith(("enabled:", "projects:")))
            rows.append((name, "on" if facts["enabled"] else "off", detail[:110]))
    say()
    print_table(("Mechanism", "", "Detail"), rows)


def _mapping(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def _sequence(value: object) -> list[object]:
    return value if isinstance(value, list) else []
