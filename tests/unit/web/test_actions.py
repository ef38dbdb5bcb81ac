from orchestrator.pipeline.items import ApprovalKind
from orchestrator.pipeline.stages import Stage
from tests.browser import sample
from tests.unit.web.stories import Story


async def approvals(house, story):
    return await house.store.transact(lambda tx: tx.facts.approvals(story.item.task_id))


async def test_an_item_is_filed_and_started(client, house):
    body = {"project": "sample", "title": "File me", "labels": ["Bug"], "by": "ben"}
    answer = await client.post("/api/v1/items", json=body)
    assert answer.status_code == 201
    assert answer.json() == {"work_item": "ORCH-1", "stage": "created", "outcome": "started", "fresh": True}
    item = await house.services.desk.item("ORCH-1")
    assert (item.title, item.track) == ("File me", "bug")


async def test_an_item_of_an_unknown_project_is_refused(client):
    answer = await client.post("/api/v1/items", json={"project": "nowhere", "title": "File me"})
    assert answer.status_code == 400
    assert "nowhere" in answer.json()["error"]


async def test_a_body_that_is_wrong_is_explained_in_one_line(client):
    answer = await client.post("/api/v1/items", json={"project": "sample", "colour": "red"})
    assert answer.status_code == 400
    assert answer.json() == {"error": "title: Field required; colour: Extra inputs are not permitted"}


async def test_an_approval_is_bound_to_what_was_seen(client, house):
    story = await sample.awaiting_approval(house)
    answer = await client.post(f"/api/v1/items/{story.id}/approve", json={"seen": "digest", "by": "ben"})
    assert answer.json()["outcome"] == "approved"
    (approval,) = await approvals(house, story)
    assert (approval.kind, approval.subject, approval.by) == (ApprovalKind.ANALYSIS, "digest", "ben")


async def test_an_approval_without_body_is_about_the_documents_as_they_are(client, house):
    story = await sample.awaiting_approval(house)
    await client.post(f"/api/v1/items/{story.id}/approve")
    (approval,) = await approvals(house, story)
    assert approval.subject == await house.services.desk.analysis_subject(story.item)


async def test_a_rejection_needs_a_comment(client, house):
    story = await sample.awaiting_approval(house)
    refused = await client.post(f"/api/v1/items/{story.id}/reject", json={})
    assert refused.status_code == 400
    await client.post(f"/api/v1/items/{story.id}/reject", json={"comment": "what about gift cards?"})
    (approval,) = await approvals(house, story)
    assert (approval.granted, approval.comment) == (False, "what about gift cards?")


async def test_what_the_stage_does_not_allow_is_refused_and_changes_nothing(client, house):
    story = await Story.begin(house, "Too early")
    for action in ("approve", "confirm-deploy", "retry"):
        answer = await client.post(f"/api/v1/items/{story.id}/{action}")
        assert answer.status_code == 400
        assert answer.json()["error"].startswith(f"{story.id} is")
    assert await approvals(house, story) == []


async def test_a_deploy_is_confirmed_for_the_merged_commit(client, house):
    story = await sample.awaiting_confirm(house)
    answer = await client.post(f"/api/v1/items/{story.id.lower()}/confirm-deploy", json={"by": "ben"})
    assert answer.status_code == 200
    (approval,) = await approvals(house, story)
    assert approval.subject == story.item.merged


async def test_stop_cancels_for_good(client, house):
    story = await Story.begin(house, "Stop me")
    answer = await client.post(f"/api/v1/items/{story.id}/stop", json={"reason": "no need"})
    assert answer.json()["stage"] == Stage.CANCELLED
    again = await client.post(f"/api/v1/items/{story.id}/stop")
    assert again.status_code == 400


async def test_retry_releases_the_hold(client, house):
    story = await sample.on_hold(house)
    answer = await client.post(f"/api/v1/items/{story.id}/retry", json={"by": "ben"})
    assert answer.json()["stage"] == Stage.DEVELOPMENT
    assert (await client.get(f"/api/v1/items/{story.id}")).json()["hold"] is None


async def test_an_action_on_an_unknown_item_is_404(client):
    answer = await client.post("/api/v1/items/ORCH-99/stop")
    assert answer.status_code == 404
