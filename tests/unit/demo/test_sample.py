"""The sample service: its suite, and its operation with real processes."""

import fcntl
import json
import socket
import subprocess
from pathlib import Path

import pytest
import yaml

from orchestrator.config.contract import parse_contract
from tests.unit.demo.workbench import DEMO, PYTHON, Bench

AILING_IN_PRODUCTION = ('"production": 100_000', '"elsewhere": 100_000')


def test_the_suite_of_the_sample_is_green(bench: Bench):
    done = bench.suite()
    assert (done.returncode, done.stderr) == (0, "")
    assert " passed" in done.stdout


def test_the_contract_is_valid_and_names_commands_that_exist():
    text = (DEMO / "sample" / ".orchestrator.yml").read_text()
    assert parse_contract(text).declares("deploy")
    contract = yaml.safe_load(text)
    assert set(contract) == {"test", "staging", "deploy", "post_deploy", "merge"}
    commands = [contract["test"]["run"], *contract["staging"].values()]
    commands += [contract["deploy"][key] for key in ("run", "rollback", "revision")]
    assert all(command.startswith("python ") for command in commands)
    assert contract["deploy"]["health"] == contract["post_deploy"]["health"]


def test_staging_starts_is_checked_and_stops(bench: Bench):
    started = bench.operate("start", "--name", "staging")
    assert started.returncode == 0, started.stdout
    checked = bench.operate("check", "--name", "staging")
    assert (checked.returncode, "FAIL" in checked.stdout) == (0, False)
    status = bench.status("staging")
    assert (status["revision"], status["status"], status["port"]) == ("one", "ok", bench.ports["staging"])
    assert bench.operate("stop", "--name", "staging").returncode == 0
    assert (bench.status("staging")["pid"], bench.processes()) == (None, [])


def test_a_check_for_another_revision_fails(bench: Bench):
    bench.operate("start", "--name", "staging")
    checked = bench.operate("check", "--name", "staging", revision="two")
    assert checked.returncode == 1
    assert "FAIL /health runs two" in checked.stdout


def test_an_endpoint_that_fails_is_found_by_the_check(bench: Bench):
    bench.edit("tally/scores.py", "max(points, default=0.0)", "max(points)")
    bench.operate("start", "--name", "staging")
    checked = bench.operate("check", "--name", "staging")
    assert checked.returncode == 1
    assert "FAIL GET /highest" in checked.stdout


def test_a_deploy_is_healthy_and_can_be_repeated(bench: Bench):
    assert bench.operate("deploy").returncode == 0
    pid = bench.status("production")["pid"]
    assert bench.operate("deploy").returncode == 0
    assert bench.status("production")["pid"] == pid


def test_code_that_does_not_compile_never_reaches_production(bench: Bench):
    bench.operate("deploy")
    bench.edit("tally/app.py", "class Tally:", "class Tally")
    refused = bench.operate("deploy", revision="two")
    assert (refused.returncode, bench.status("production")["revision"]) == (1, "one")


def test_a_port_of_somebody_else_is_refused(bench: Bench):
    assert bench.operate("start", "--name", "staging").returncode == 0
    bench.ports["production"] = bench.ports["staging"]
    refused = bench.operate("deploy", revision="two")
    assert (refused.returncode, "not ours" in refused.stdout) == (1, True)
    assert bench.status("staging")["revision"] == "one"


def test_a_checkout_of_another_commit_is_refused(bench: Bench):
    head = bench.commit()
    assert bench.operate("deploy", revision="0" * 40).returncode == 1
    assert bench.status("production")["pid"] is None
    assert bench.operate("deploy", revision=head).returncode == 0


def test_two_changes_at_once_are_refused(bench: Bench):
    (bench.state / "production").mkdir()
    with (bench.state / "production" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        refused = bench.operate("deploy")
    assert (refused.returncode, "under way" in refused.stdout) == (1, True)


def test_an_unhealthy_deploy_puts_the_previous_release_back(bench: Bench):
    bench.operate("deploy")
    bench.edit("tally/settings.py", *AILING_IN_PRODUCTION)
    failed = bench.operate("deploy", revision="two")
    assert failed.returncode == 2
    assert "KeyError: 'production'" in failed.stdout
    assert "rolled back to one" in failed.stdout
    assert bench.status("production")["revision"] == "one"


def test_an_unhealthy_first_deploy_leaves_nothing_running(bench: Bench):
    bench.edit("tally/settings.py", *AILING_IN_PRODUCTION)
    failed = bench.operate("deploy")
    assert (failed.returncode, bench.status("production")["pid"], bench.processes()) == (2, None, [])


def test_a_service_that_never_answers_is_given_up(bench: Bench):
    bench.edit(
        "tally/server.py",
        "super().__init__",
        "__import__('threading').Event().wait()\n        super().__init__",
    )
    failed = bench.operate("deploy", "--within", "0.3")
    assert (failed.returncode, "does not become healthy" in failed.stdout) == (2, True)
    assert bench.processes() == []


def test_a_rollback_returns_to_the_previous_release_once(bench: Bench):
    bench.operate("deploy")
    bench.operate("deploy", revision="two")
    assert bench.operate("rollback").returncode == 0
    assert bench.status("production")["revision"] == "one"
    assert bench.operate("rollback").returncode == 1
    assert bench.status("production")["revision"] == "one"


def test_stopping_spares_a_process_that_has_inherited_the_id(bench: Bench):
    listener = socket.create_server(("127.0.0.1", 0))
    with listener, subprocess.Popen([PYTHON, "-c", "input()"], stdin=subprocess.PIPE) as other:
        identity = bench.state / "staging" / "service.json"
        identity.parent.mkdir()
        identity.write_text(json.dumps({"pid": other.pid, "started": "long ago"}))
        assert bench.operate("stop", "--name", "staging").returncode == 0
        assert other.poll() is None
        other.communicate(b"\n")


@pytest.mark.parametrize("words", [["deploy", "--revision", "../../etc"], ["deploy", "--revision", "a/b"]])
def test_a_revision_cannot_name_a_place_elsewhere(bench: Bench, words: list[str]):
    refused = bench.operate(*words)
    assert (refused.returncode, "is not a revision" in refused.stdout) == (1, True)
    assert list(Path(bench.state / "production" / "releases").iterdir()) == []
