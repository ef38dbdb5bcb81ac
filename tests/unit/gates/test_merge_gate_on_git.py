"""The merge gate and the merge after it on real git: rebase, conflict, re-test, merge."""

from datetime import timedelta
from typing import Any

import pytest

from orchestrator.config.contract import parse_contract
from orchestrator.delivery.clean_runs import CleanRuns
from orchestrator.delivery.commands import ContractCommands, Surroundings
from orchestrator.delivery.retest import Suite
from orchestrator.gates import GateTools, Limits, bind
from orchestrator.pipeline.gates import GateName
from orchestrator.pipeline.ids import JobId
from orchestrator.pipeline.items import Work, WorkState
from orchestrator.pipeline.verdicts import Failed, Inconclusive, Passed
from orchestrator.plumbing.processes import Processes
from orchestrator.ports.gate import Question
from orchestrator.ports.leases import Lease
from orchestrator.ports.merging import Merged
from tests.unit.delivery.bench import ready_to_merge

SUITE = parse_contract("test: {run: [test, -f, feature.py]}\n")


@pytest.fixture
async def bench(tmp_path):
    async with ready_to_merge(tmp_path) as ready:
        yield ready


@pytest.fixture
def ask(bench, tmp_path):
    """Ask the merge gate about the branch as it stands now."""
    commands = ContractCommands(
        Processes(), Surroundings(tmp_path / "state", lambda _: (1, 2)), grace=timedelta(milliseconds=200)
    )
    unused: Any = None
    tools = GateTools(
        workspace=bench.workspace,
        forge=bench.forge,
        projects=unused,
        store=bench.rig.store,
        suite=Suite(CleanRuns(bench.workspace, commands, root=tmp_path / "gate-runs")),
        merging=bench.service,
        measurement=bench.measurement,
        scans=unused,
        rehearsal=unused,
        limits=Limits(),
    )

    async def answer():
        bench.head = await bench.workspace.head(bench.branch)
        work = Work(JobId(1), WorkState.DONE, "deployer", code=bench.head.code)
        lease = Lease(bench.item.task_id, bench.item.stage, bench.item.epoch, 1, "us")
        question = Question(bench.item, bench.branch, bench.head, work, SUITE, lease)
        return await bind(tools)[GateName.BRANCH_MERGEABLE](question)

    return answer


async def test_a_branch_that_fell_behind_is_caught_up_tested_and_merged(bench, ask):
    bench.base_goes_on({"other.py": "theirs\n"})
    caught_up = await ask()
    assert isinstance(caught_up, Inconclusive)
    assert caught_up.retry_after == timedelta()
    tested = await ask()
    assert isinstance(tested, Passed)
    assert "re-test green" in tested.evidence.detail
    merged = await bench.merge()
    assert isinstance(merged, Merged)
    for path in ("feature.py", "other.py"):
        assert await bench.workspace.read("tally", merged.commit, path) is not None
    assert await bench.holder()


async def test_after_the_merge_the_gate_still_passes(bench, ask):
    assert isinstance(await ask(), Passed)
    await bench.merge()
    again = await ask()
    assert isinstance(again, Passed)
    assert "merged already" in again.evidence.detail


async def test_a_conflict_is_the_branchs_to_solve_and_nothing_moves(bench, ask):
    bench.base_goes_on({"feature.py": "theirs\n"})
    verdict = await ask()
    assert isinstance(verdict, Failed)
    assert verdict.findings[0].endswith("feature.py")
    assert (await bench.workspace.head(bench.branch)).commit == bench.head.commit
    assert await bench.holder()


async def test_a_governance_change_in_the_branch_waits_for_a_person(bench, ask):
    await bench.work({".orchestrator.yml": "test: {run: 'true'}\n"})
    verdict = await ask()
    assert isinstance(verdict, Inconclusive)
    assert ".orchestrator.yml" in verdict.reason
    assert await bench.holder()


async def test_another_items_lease_makes_the_gate_wait(bench, ask):
    other = await bench.rig.item(2)
    await bench.rig.leases.take_merge("tally", other.task_id)
    verdict = await ask()
    assert isinstance(verdict, Inconclusive)
    assert "ORCH-2 is merging" in verdict.reason


async def test_a_closed_pull_request_calls_a_person(bench, ask):
    await bench.forge.close("tally", bench.item.pull_request)
    verdict = await ask()
    assert isinstance(verdict, Inconclusive)
    assert verdict.retry_after is None
