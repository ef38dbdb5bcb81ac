"""Work items as text for a person."""

from orchestrator.cli.output import Json, moment, print_table, say

TIMELINE_LINES = 40


def print_list(rows: list[Json]) -> None:
    """One line for each item: where it is and what it waits for."""
    print_table(
        ("Item", "Project", "Stage", "Round", "Waits for", "Title"),
        [
            (row["work_item"], row["project"], row["stage"], row["round"], _waits(row), row["title"])
            for row in rows
        ],
        empty="no work items; file one with 'orch item new TITLE --project NAME'",
    )


def print_outcome(view: Json) -> None:
    """What became of a request, and where the item stands."""
    say(f"{view['work_item']}: {view['outcome']}")
    print_standing(view)


def print_standing(view: Json) -> None:
    """Where the item stands, in two lines."""
    hold, explanation = _mapping(view["hold"]), _mapping(view["explanation"])
    say(f"  stage {view['stage']}, round {view['round']}: {view['title']}")
    if hold:
        say(f"  on hold: {hold['reason']}")
        say(f"  who can unblock it: {hold['who_can_unblock']}")
    else:
        say(f"  {explanation['why']}; next: {explanation['next']}")


def print_item(view: Json) -> None:
    """Everything about one item."""
    say(f"{view['work_item']}  {view['title']}")
    say(
        f"project {view['project']}, track {view['track']}, branch {view['branch']}, "
        f"head {_short(view['head'])}, pull request {view['pull_request'] or 'none'}, "
        f"merged {_short(view['merged'])}, cost ${view['cost']}"
    )
    print_explanation(view)
    _print_timeline(_rows(view["timeline"]))
    runs = _rows(view["runs"])
    if runs:
        say()
        print_table(
            ("Run", "Role", "Stage", "Started (UTC)", "Outcome", "Exit code", "Model", "Cost $"),
            [
                (
                    run["id"],
                    run["role"],
                    run["stage"],
                    moment(run["started_at"]),
                    run["outcome"] or "running",
                    run["exit_code"],
                    run["model"],
                    str(run["cost_usd"]),
                )
                for run in runs
            ],
        )


def print_explanation(view: Json) -> None:
    """Why the item is here, since when, what is next, who can unblock it, and what its gates said."""
    told = _mapping(view["explanation"])
    say(f"stage     {told['stage']}, since {moment(told['since'])} UTC")
    say(f"why       {told['why']}")
    if told["waits_for"]:
        say(f"waits for {told['waits_for']}; who can unblock it: {told['who_can_unblock']}")
    say(f"next      {told['next']}")
    say(f"round     {told['round']}, {told['rounds_left']} more possible")
    gates = _rows(told["gates"])
    if gates:
        say()
        print_table(
            ("Gate", "Answer", "Detail"), [(row["gate"], row["answer"], row["detail"]) for row in gates]
        )


def timeline_line(row: Json) -> str:
    """One entry of the timeline."""
    head = f"{moment(row['at'])}  "
    match row["kind"]:
        case "created":
            return f"{head}{row['text']}"
        case "work":
            took = f" in {row['seconds']} s" if row["seconds"] is not None else ""
            verdict = f": {row['verdict']}" if row["verdict"] else ""
            line = f"{head}{row['stage']}: {row['producer']} {row['status']}{took}{verdict} {row['text']}"
            return line.rstrip()
        case "verdict":
            return f"{head}{row['stage']}: {row['gate']} {row['answer']} {row['text']}".rstrip()
    return f"{head}{row['from']} → {row['to']} ({row['kind']}) {row['text']}".rstrip()


def _print_timeline(rows: list[Json]) -> None:
    say()
    if len(rows) > TIMELINE_LINES:
        say(f"({len(rows) - TIMELINE_LINES} earlier entries; --json shows all)")
    for row in rows[-TIMELINE_LINES:]:
        say(timeline_line(row))


def _waits(row: Json) -> str:
    if row["hold"] is not None:
        return "a person (on hold)"
    return str(_mapping(row["explanation"])["waits_for"])


def _short(commit: object) -> str:
    return str(commit)[:10] if commit else "none"


def _mapping(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def _rows(value: object) -> list[Json]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []
