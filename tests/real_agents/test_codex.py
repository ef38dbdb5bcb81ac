"""The same road with codex, which knows a shell only and names no cost."""

from tests.scenario.house import git


def test_an_item_is_analysed_and_developed_with_codex(lodge):
    lodging = lodge("codex", ORCH_AGENT_MODEL_DEFAULT="gpt-5")
    item = lodging.file()
    lodging.until_analysed(item)
    lodging.house.drive(item, lambda view: view["stage"] == "review", within=60)
    assert lodging.outcomes() == ["finished"] * 3
    assert {run["cli"] for run in lodging.runs()} == {"codex"}
    assert {run["model"] for run in lodging.runs()} == {"gpt-5"}
    log = git(lodging.house.forge(), "log", "--format=%s by %an <%ae>", lodging.house.view(item)["branch"])
    assert "Work of the developer by developer <developer@orchestrator.invalid>" in log.splitlines()
    assert all("0.171.0" in run["cli_version"] for run in lodging.runs())
