"""A whole item from created to done with a real CLI at every role, and a fake model that does good work."""

import json
import os
import subprocess
import sys
from typing import Any

from orchestrator.testing.models import model_server
from tests.real_agents.lodging import CANARIES, MODEL_KEY, RATES, puppet
from tests.real_clis import claude
from tests.scenario.test_demo import ROAD, processes_below


def demo(place, *words: str, **settings: str) -> tuple[int, dict[str, Any], str]:
    """Run `orch demo --agent claude --json` in an empty HOME; exit code, object, progress."""
    (place / "home").mkdir(parents=True)
    environment = {
        **{name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ},
        **CANARIES,
        **settings,
        "HOME": str(place / "home"),
        "TMPDIR": str(place),
        "ORCH_HOME": str(place / "own-home"),
    }
    run = subprocess.run(
        [sys.executable, "-m", "orchestrator.cli", "demo", "--agent", "claude", "--json", *words],
        env=environment,
        cwd=place,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert run.stdout.count("\n") == 1, run.stdout + run.stderr
    return run.returncode, json.loads(run.stdout), run.stderr


def test_the_demo_runs_from_created_to_done_with_claude(tmp_path):
    with model_server(puppet(tmp_path)) as model:
        code, said, progress = demo(
            tmp_path / "place",
            "--home",
            str(tmp_path / "place" / "demo"),
            ORCH_AGENT_COMMAND=str(claude()),
            ORCH_AGENT_BASE_URL=model.base_url,
            ORCH_AGENT_API_KEY=MODEL_KEY,
        )
        assert (code, said["ok"]) == (0, True), (said, progress)
        charged = model.cost(RATES)
        assert model.total == model.account.total
    stages = [step["stage"] for step in said["stages"]]
    assert list(dict.fromkeys(stages)) == [*ROAD, "post-deploy"]
    assert said["rounds"] == 1
    verdicts = [step["verdict"] for step in said["stages"] if step["stage"] == "review"]
    assert verdicts == ["REQUEST_CHANGES", "APPROVED"]
    assert said["merged_commit"] == said["production_revision"]
    assert abs(said["cost_usd"] - charged) < 1e-6
    assert processes_below(tmp_path) == []
    for path in (tmp_path / "place" / "demo" / "home" / "runs").rglob("*"):
        if path.is_file():
            text = path.read_text(encoding="utf-8", errors="replace")
            assert not [name for name, canary in CANARIES.items() if canary in text], path


def test_a_cli_that_is_not_there_is_told_in_one_line(tmp_path):
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "ORCH_HOME": str(tmp_path / "home")}
    run = subprocess.run(
        [sys.executable, "-m", "orchestrator.cli", "demo", "--agent", "claude"],
        env={**environment, "ORCH_AGENT_COMMAND": "no-such-claude"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode != 0
    assert "the agent CLI 'no-such-claude' is not on PATH; install it with" in run.stderr
    assert "Traceback" not in run.stderr
