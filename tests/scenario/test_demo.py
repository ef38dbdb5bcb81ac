"""The demonstration itself: a fresh process drives a work item from created to done, or shows a failure."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

ROAD = ["analysis", "architecture", "development", "review", "testing", "deploy-staging", "deploy"]


def demo(directory: Path, *words: str) -> tuple[int, dict[str, Any], str]:
    """Run `orch demo --json` with its temporary files in ``directory``; exit code, object, progress."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("ORCH_")}
    run = subprocess.run(
        [sys.executable, "-m", "orchestrator.cli", "demo", "--json", "--deadline", "80", *words],
        env={**ours, "TMPDIR": str(directory), "ORCH_HOME": str(directory / "own-home")},
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert run.stdout.count("\n") == 1, run.stdout + run.stderr
    return run.returncode, json.loads(run.stdout), run.stderr


def processes_below(directory: Path) -> list[str]:
    """Living processes whose command or directory is below ``directory``."""
    found = []
    for process in psutil.process_iter(["cmdline", "cwd", "status"]):
        places = [process.info["cwd"] or "", *(process.info["cmdline"] or ())]
        living = process.info["status"] != psutil.STATUS_ZOMBIE
        if living and any(place.startswith(str(directory)) for place in places):
            found.append(" ".join(process.info["cmdline"] or ()))
    return found


def test_the_whole_road_is_driven_in_one_command(tmp_path):
    code, said, progress = demo(tmp_path)
    assert (code, said["ok"]) == (0, True), (said, progress)
    stages = [step["stage"] for step in said["stages"]]
    assert list(dict.fromkeys(stages)) == [*ROAD, "post-deploy"]
    assert stages.count("development") == stages.count("review") == 2
    assert said["rounds"] == 1
    verdicts = [step["verdict"] for step in said["stages"] if step["stage"] == "review"]
    assert verdicts == ["REQUEST_CHANGES", "APPROVED"]
    assert said["stages"][-1]["verdict"] == "HEALTHY"
    assert said["merged_commit"] == said["production_revision"]
    assert said["work_item"] == "DEMO-1"
    assert said["events"] >= 3
    assert said["dashboard"].startswith("http://127.0.0.1:")
    assert "the demo approves the analysis on your behalf" in progress
    assert "average([])" in progress
    assert processes_below(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("fail", "stages"),
    [
        ("tests", {"development", "review", "testing"}),
        ("review", {"review", "development"}),
        ("staging", {"deploy-staging", "development"}),
        ("deploy", {"deploy", "development"}),
    ],
)
def test_a_failure_ends_on_hold_with_its_reason(tmp_path, fail, stages):
    code, said, progress = demo(tmp_path, "--fail", fail)
    assert (code, said["ok"]) == (1, False), (said, progress)
    assert said["hold"]["stage"] in stages
    assert said["hold"]["reason"] in said["error"]
    assert said["hold"]["who_can_unblock"]
    assert said["rounds"] >= 1
    assert processes_below(tmp_path) == []
    assert list(tmp_path.iterdir()) == []
