"""The scripted agent, run as the executable that it is."""

import json
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from orchestrator.plumbing.documents import Document, parse_document
from tests.unit.demo.workbench import DEMO, PYTHON, Bench

TICKET = tomllib.loads((DEMO / "playbook" / "ticket.toml").read_text())
COMMON = {"work_item", "stage", "author_agent", "status", "created_at", "model_used"}
ROUNDS = 4


def read_document(path: Path) -> Document:
    document = parse_document(path.read_text())
    assert document.problems == ()
    return document


class Agent:
    """Starts one role after the other on a bench."""

    def __init__(self, bench: Bench, fail: str = "") -> None:
        self.bench = bench
        self.fail = fail
        self.artifacts = bench.root / "docs" / "work-items" / "ORCH-7"
        self.base = bench.commit()

    def run(self, role: str, order: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
        task_file = self.bench.root / f".task-{'dev' if role == 'developer' else role}.md"
        task_file.write_text(f"# ORCH-7\n\n{order}\n")
        asked = {
            "ORCH_ROLE": role,
            "ORCH_WORK_ITEM": "ORCH-7",
            "ORCH_TITLE": TICKET["title"],
            "ORCH_TASK_FILE": str(task_file),
            "ORCH_ARTIFACT_DIR": str(self.artifacts),
            "ORCH_BRANCH": "feature/ORCH-7",
            "ORCH_BASE": "main",
            "ORCH_ROUND": "1",
            "ORCH_RUN_ID": "run-1",
            "ORCH_DEMO_FAIL": self.fail,
            **variables,
        }
        done = self.bench.command(str(DEMO / "agent.py"), **asked)
        task_file.unlink()
        return done

    def works(self, role: str, order: str = "", **variables: str) -> str:
        """Run a role that succeeds; what the code differs from the base in afterwards."""
        done = self.run(role, order, **variables)
        assert (done.returncode, done.stderr) == (0, "")
        self.bench.git("add", "-A")
        return self.bench.git("diff", "--cached", self.base, "--", "tally", "tests", "README.md")

    def review(self) -> tuple[str, str]:
        """Run the reviewer: its verdict and its P1 finding."""
        self.works("reviewer")
        document = read_document(self.artifacts / "12-review.md")
        must_fix = document.body.split("### P1 — Must fix")[1].split("###")[0].strip()
        return str(document.meta["verdict"]), must_fix.removeprefix("- ")


def test_a_ticket_goes_through_all_roles(bench: Bench):
    agent = Agent(bench)
    for role in ("analyst", "architect", "developer"):
        agent.works(role)
    assert bench.suite().returncode == 0, "the slip must not be one that the tests find"
    verdict, finding = agent.review()
    assert (verdict, finding.startswith("`average([])` raises ZeroDivisionError")) == (
        "REQUEST_CHANGES",
        True,
    )
    agent.works("developer", finding)
    assert agent.review() == ("APPROVED", "")
    agent.works("tester")
    report = read_document(agent.artifacts / "13-test-report.md")
    assert (report.meta["result"], report.meta["status"]) == ("PASS", "complete")
    assert "| TC-3 | `tests/test_scores.py::test_nothing_recorded_averages_to_zero` | PASSED |" in report.body


def test_the_deployer_runs_the_commands(bench: Bench):
    agent = Agent(bench)
    agent.works("developer")
    revision = bench.commit()
    agent.works("deployer", "Write 15-staging-log.md.", ORCH_REVISION=revision)
    staging = read_document(agent.artifacts / "15-staging-log.md")
    # Staging asks every endpoint before anything is recorded: it would have found the slip as well.
    assert (staging.meta["staging_status"], staging.meta["exit_code"]) == ("FAILED", "1")
    assert "FAIL GET /average" in staging.body
    agent.works("deployer", "Write 14-deploy-log.md.", ORCH_REVISION=revision)
    deployed = read_document(agent.artifacts / "14-deploy-log.md")
    assert (deployed.meta["deploy_status"], deployed.meta["hook_exit_code"]) == ("SUCCESS", "0")
    assert bench.status("production")["revision"] == revision


def test_documents_carry_the_common_frontmatter(bench: Bench):
    agent = Agent(bench)
    for role in ("analyst", "architect", "developer", "reviewer"):
        agent.works(role)
    documents = sorted(agent.artifacts.rglob("*.md"))
    names = [path.name for path in documents]
    assert names == [
        "01-brd.md",
        "02-trz.md",
        "03-acceptance-criteria.md",
        "ADR-001-average-on-request.md",
        "10-tech-risks.md",
        "12-review.md",
    ]
    assert all(set(read_document(path).meta) >= COMMON for path in documents)
    plan = yaml.safe_load((agent.artifacts / "04-test-plan.yaml").read_text())
    assert COMMON | {"title", "framework", "scope", "notes", "tests"} == set(plan)
    assert plan["title"] == TICKET["title"]


@pytest.mark.parametrize(
    "order",
    [
        "",
        "The reviewer asks for changes; see 12-review.md.",
        "`average([])` raises ZeroDivisionError.",
        "average([]) raises an error, so GET /average fails while nothing is recorded; return 0.0.",
    ],
)
def test_what_the_work_file_does_not_say_is_not_mended(bench: Bench, order: str):
    agent = Agent(bench)
    draft = agent.works("developer")
    assert agent.works("developer", order) == draft
    assert agent.review()[0] == "REQUEST_CHANGES"


def test_a_quoted_and_wrapped_finding_is_mended_once(bench: Bench):
    agent = Agent(bench)
    agent.works("developer")
    finding = agent.review()[1]
    half = finding.index(" so ")
    quoted = f"## Must fix\n\n> - **P1** {finding[:half]}\n>   {finding[half + 1 :]}\n"
    mended = agent.works("developer", quoted)
    assert "+def test_nothing_recorded_averages_to_zero() -> None:" in mended
    assert agent.works("developer", quoted) == mended
    assert bench.suite().returncode == 0


def test_a_failing_review_finds_something_else_each_round(bench: Bench):
    agent = Agent(bench, "review")
    found: list[str] = []
    diffs = {agent.works("developer")}
    for _ in range(ROUNDS):
        verdict, finding = agent.review()
        assert verdict == "REQUEST_CHANGES"
        found.append(finding)
        diffs.add(agent.works("developer", finding))
    assert (len(set(found)), len(diffs)) == (ROUNDS, ROUNDS + 1)
    known = {
        flaw["finding"] for flaw in tomllib.loads((DEMO / "playbook" / "changes.toml").read_text())["flaw"]
    }
    assert set(found) <= known


# Both targets take the same list of mistakes, so all rounds of one and the first two of the other will do.
@pytest.mark.parametrize(("target", "rounds"), [("staging", ROUNDS), ("deploy", 2)])
def test_a_failing_environment_fails_each_round_in_another_way(bench: Bench, target: str, rounds: int):
    agent = Agent(bench, target)
    diffs = set()
    for _ in range(rounds):
        diffs.add(agent.works("developer"))
        revision = bench.commit()
        staged = bench.operate("start", "--name", "staging", revision=revision)
        if target == "staging":
            assert (staged.returncode, "Error: " in staged.stdout) == (1, True)
        else:
            deployed = bench.operate("deploy", revision=revision)
            assert (staged.returncode, deployed.returncode) == (0, 2)
            assert "Error: " in deployed.stdout
    assert len(diffs) == rounds
    assert agent.review()[0] == "APPROVED"
    assert bench.suite().returncode == 0


def test_failing_tests_pass_once_and_never_again(bench: Bench):
    agent = Agent(bench, "tests")
    diffs = set()
    call = "suite.test_the_average_is_reported_once()"
    twice = f"import tests.test_server as suite\n{call}\nprint('once')\n{call}\nprint('twice')"
    for _ in range(ROUNDS):
        diffs.add(agent.works("developer"))
        done = bench.command(PYTHON, "-c", twice)
        assert (done.returncode, done.stdout) == (1, "once\n")
    assert len(diffs) == ROUNDS
    assert bench.suite().returncode == 1


def test_the_last_line_says_what_was_used(bench: Bench):
    printed = Agent(bench).run("analyst").stdout.splitlines()
    assert json.loads(printed[-1]) == {"usage": {"input": 0, "output": 0, "cost_usd": 0}}


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({"ORCH_TITLE": "Add /median"}, "knows one work item"),
        ({"ORCH_ROLE": "poet"}, "no role 'poet'"),
        ({"ORCH_ARTIFACT_DIR": ""}, "not set: ORCH_ARTIFACT_DIR"),
        ({"ORCH_DEMO_FAIL": "sometimes"}, "ORCH_DEMO_FAIL is one of"),
    ],
)
def test_work_that_is_not_its_own_is_refused(bench: Bench, variables: dict[str, str], reason: str):
    refused = Agent(bench).run("analyst", **variables)
    assert refused.returncode == 1
    assert reason in refused.stderr


def test_the_title_fits_the_intake(bench: Bench):
    assert len(TICKET["title"]) <= 80
