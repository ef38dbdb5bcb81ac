#!/usr/bin/env python3
"""A script agent of few words: leaves what its role owes, and writes down each start in the ledger.

Files in the ledger beside it steer it: `hold-<role>` keeps it at work, `touch` names the file it changes,
`grandchild` lets it start a process of another session, `merge` or `rebase` lets it do so first,
`always-change` makes each run leave something else,
`request-changes` lets the reviewer ask for another round (once for each line).
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

LEDGER = Path(__file__).resolve().parent / "ledger"
ROLE, ITEM = os.environ["ORCH_ROLE"], os.environ["ORCH_WORK_ITEM"]
ROUND = os.environ["ORCH_ROUND"]
PLACE = Path(os.environ["ORCH_ARTIFACT_DIR"])


def note(name: str, *words: object) -> None:
    with (LEDGER / name).open("a") as file:
        file.write(f"{' '.join(map(str, words))}\n")


def header(stage: str, **keys: str) -> str:
    fields = {
        "work_item": ITEM,
        "stage": stage,
        "author_agent": ROLE,
        "status": "ready",
        "created_at": "2025-01-31",
        "model_used": "script",
        **keys,
    }
    return "".join(f"{name}: {value}\n" for name, value in fields.items())


def document(name: str, stage: str, body: str, **keys: str) -> None:
    path = PLACE / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\n{header(stage, **keys)}---\n\n{body}\n")


def analyst() -> None:
    for name in ("01-brd.md", "02-trz.md", "03-acceptance-criteria.md"):
        document(name, "analysis", f"# {name} of {ITEM}")
    (PLACE / "04-test-plan.yaml").write_text(f"{header('analysis')}cases: []\n")


def architect() -> None:
    document("06-adr/ADR-001-decision.md", "architecture", f"# Decision about {ITEM}")
    document("10-tech-risks.md", "architecture", "# Risks\n\nNone.")


def catch_up(command: str, ours: str) -> None:
    """Bring the base in; where both changed the same lines ours win."""
    identity = ("-c", "user.name=d", "-c", "user.email=d@localhost")
    base = f"origin/{os.environ['ORCH_BASE']}"
    subprocess.run(["git", *identity, command, "-q", "-X", ours, base], check=True)


def developer() -> None:
    wanted = LEDGER / "touch"
    path = Path(wanted.read_text().strip() if wanted.exists() else f"change-{ITEM}.txt")
    if (LEDGER / "merge").exists():
        catch_up("merge", "ours")
    if (LEDGER / "rebase").exists():
        catch_up("rebase", "theirs")
    path.parent.mkdir(parents=True, exist_ok=True)
    more = f"run {os.environ['ORCH_RUN_ID']}\n" if (LEDGER / "always-change").exists() else ""
    path.write_text(f"{ITEM} round {ROUND}\n{more}")


def reviewer() -> None:
    wanted = LEDGER / "request-changes"
    verdict, finding = "APPROVED", ""
    if wanted.exists() and (lines := wanted.read_text().splitlines()):
        verdict, finding = "REQUEST_CHANGES", f"- {lines[0]}\n"
        wanted.write_text("".join(f"{line}\n" for line in lines[1:]))
    body = f"# Review, round {ROUND}\n\n## Findings\n\n### P0\n\n### P1\n\n{finding}"
    document("12-review.md", "review", body, verdict=verdict)


def tester() -> None:
    document("13-test-report.md", "testing", f"# Tests, round {ROUND}\n\nGood.", result="PASS")


def deployer() -> None:
    document("15-staging-log.md", "deploy-staging", "# Staging", staging_status="SUCCESS")
    document("14-deploy-log.md", "deploy", "# Deploy", deploy_status="SUCCESS")


def main() -> int:
    note("starts", ITEM, ROLE, ROUND, os.environ["ORCH_RUN_ID"], os.getpid())
    if (LEDGER / "grandchild").exists():
        child = subprocess.Popen(
            ["sleep", "600"], start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        note("grandchildren", child.pid)
    {"analyst": analyst, "architect": architect, "developer": developer, "reviewer": reviewer,
     "tester": tester, "deployer": deployer}[ROLE]()  # fmt: skip
    note("worked", ITEM, ROLE, ROUND)
    while (LEDGER / f"hold-{ROLE}").exists():
        time.sleep(0.02)
    usage = {"input": 10, "output": 1, "cost_usd": 0.01}
    sys.stdout.write(f"{json.dumps({'usage': usage})}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
