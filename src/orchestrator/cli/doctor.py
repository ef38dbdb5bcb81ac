"""`orch doctor`: looks at everything that a real installation needs, and says how each failure is mended."""

import typer

from orchestrator.cli.output import AsJson, print_json, say
from orchestrator.cli.session import loaded


def doctor(*, json: AsJson = False) -> None:
    """Examine this installation; exit code 1 when something has to be mended."""
    import asyncio
    from dataclasses import asdict

    from orchestrator.cli import examination

    found = loaded()
    checks = asyncio.run(examination.examine(found.settings))
    healthy = all(check.ok for check in checks)
    if json:
        print_json({"ok": healthy, "checks": [asdict(check) for check in checks]})
    else:
        for check in checks:
            say(f"{'ok  ' if check.ok else 'FAIL'}  {check.name}: {check.detail}")
            if not check.ok:
                say(f"      mend: {check.mend}")
        failed = sum(not check.ok for check in checks)
        say("everything is in order" if healthy else f"{failed} of {len(checks)} checks failed")
    if not healthy:
        raise typer.Exit(1)
