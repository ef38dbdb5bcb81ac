import json

import pytest

from orchestrator.engine.item_view import item_view
from tests.browser import sample
from tests.unit.web.stories import Story


async def test_items_are_filtered_by_project_stage_and_state(client, house):
    here = await Story.begin(house, "Here")
    there = await Story.begin(house, "There", project="shop")
    gone = await Story.begin(house, "Gone")
    await house.services.desk.stop(gone.id, by="anna")

    async def numbers(**sought):
        listed = (await client.get("/api/v1/items", params=sought)).json()["items"]
        return [item["work_item"] for item in listed]

    assert await numbers() == [there.id, here.id]
    assert await numbers(project="shop") == [there.id]
    assert await numbers(state="all") == [gone.id, there.id, here.id]
    assert await numbers(stage="cancelled") == [gone.id]
    assert await numbers(stage="analysis") == []
    assert await numbers(limit=1) == [there.id]


async def test_details_tell_the_same_as_the_engine(client, house):
    story = await sample.reviewed_twice(house)
    now, policy = house.clock.now(), house.services.policy
    view = await house.store.transact(lambda tx: item_view(tx, story.id, policy, now))
    details = (await client.get(f"/api/v1/items/{story.id}")).json()
    view = json.loads(json.dumps(view).replace("+00:00", "Z"))
    assert set(details) == set(view)
    for name in ("work_item", "stage", "round", "branch", "head", "pull_request", "rounds", "runs", "cost"):
        assert details[name] == view[name]
    for told, shown in zip(view["timeline"], details["timeline"], strict=True):
        assert {name: shown[name] for name in told if name != "evidence"} == {
            name: value for name, value in told.items() if name != "evidence"
        }
        assert shown["evidence"] == told.get("evidence", {})


async def test_an_item_is_found_in_any_case_of_letters(client, house):
    await Story.begin(house, "Find me")
    assert (await client.get("/api/v1/items/orch-1")).json()["work_item"] == "ORCH-1"


@pytest.mark.parametrize("route", ["", "/explain", "/artifacts", "/artifacts/01-brd.md", "/runs"])
async def test_an_unknown_item_is_answered_with_404(client, route):
    answer = await client.get(f"/api/v1/items/ORCH-99{route}")
    assert answer.status_code == 404
    assert answer.json() == {"error": "unknown work item ORCH-99"}


async def test_explain_says_why_since_when_and_who(client, house):
    story = await sample.on_hold(house)
    told = (await client.get(f"/api/v1/items/{story.id}/explain")).json()
    assert told["waits_for"] == "person"
    assert told["why"].startswith("no progress")
    assert told["who_can_unblock"] == "an operator (orch item retry, or stop)"
    assert [line["gate"] for line in told["gates"]] == ["check_reviewer_verdict"]


async def test_documents_are_listed_with_stage_and_writer(client, house):
    story = await sample.awaiting_approval(house)
    rows = (await client.get(f"/api/v1/items/{story.id}/artifacts")).json()["artifacts"]
    assert [(row["path"], row["stage"], row["writer"]) for row in rows] == [
        ("01-brd.md", "analysis", "analyst"),
        ("02-trz.md", "analysis", "analyst"),
        ("03-acceptance-criteria.md", "analysis", "analyst"),
        ("04-test-plan.yaml", "analysis", "analyst"),
    ]


async def test_a_document_is_given_as_it_is_committed(client, house):
    story = await sample.awaiting_approval(house)
    answer = await client.get(f"/api/v1/items/{story.id}/artifacts/04-test-plan.yaml")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.text == sample.PLAN


async def test_logs_that_went_to_the_base_after_the_merge_are_found(client, house):
    story = await sample.reviewed_twice(house)
    log = f"docs/work-items/{story.id}/14-deploy-log.md"
    await story.merge({log: "deployed", f"docs/work-items/{story.id}/12-review.md": "older"})
    base = await client.get(f"/api/v1/items/{story.id}/artifacts/14-deploy-log.md")
    own = await client.get(f"/api/v1/items/{story.id}/artifacts/12-review.md")
    assert base.text == "deployed"
    assert "verdict: APPROVED" in own.text


@pytest.mark.parametrize(
    "path",
    [
        "../../../README.md",
        "..%2F..%2F..%2FREADME.md",
        "%2e%2e/%2e%2e/%2e%2e/README.md",
        "/etc/passwd",
        "%2Fetc%2Fpasswd",
        "01-brd.md/../../ORCH-1/01-brd.md",
        "../SHOP-10/01-brd.md",
        "01-brd.md%00.txt",
        "",
    ],
)
async def test_no_path_leads_out_of_the_directory_of_the_item(client, house, path):
    story = await sample.awaiting_approval(house)
    house.shelf.put(story.item.branch, {"docs/work-items/SHOP-10/01-brd.md": "of another", "README.md": "x"})
    answer = await client.get(f"/api/v1/items/{story.id}/artifacts/{path}")
    assert answer.status_code == 404
    assert list(answer.json()) == ["error"]


async def test_a_repository_that_does_not_answer_is_503(client, house):
    story = await Story.begin(house, "Wait")
    house.shelf.broken = True
    answer = await client.get(f"/api/v1/items/{story.id}/artifacts")
    assert answer.status_code == 503
    assert answer.json() == {"error": "the repository does not answer"}


async def test_runs_are_listed_with_their_cost(client, house):
    story = await sample.reviewed_twice(house)
    runs = (await client.get(f"/api/v1/items/{story.id}/runs")).json()["runs"]
    assert [run["role"] for run in runs] == [
        *("analyst", "architect", "developer", "reviewer", "developer", "reviewer"),
    ]
    assert runs[0]["input_tokens"] == 41_200
    assert runs[0]["cost_usd"] == 0.42
