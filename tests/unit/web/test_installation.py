from orchestrator.engine.overview import BLOCK_NAMES
from orchestrator.pipeline.gates import GateName
from tests.browser import sample
from tests.unit.web.stories import Story


async def test_health_names_the_service_and_its_version(client):
    answer = await client.get("/health")
    assert answer.json() == {"status": "ok", "service": "orchestrator", "version": "1.2.3"}


async def test_status_lists_active_items_only(client, house):
    active = await Story.begin(house, "Stay")
    gone = await Story.begin(house, "Leave")
    await house.services.desk.stop(gone.id, by="anna")
    status = (await client.get("/status")).json()
    assert status["active"] == 1
    assert [item["work_item"] for item in status["items"]] == [active.id]


async def test_the_queue_has_every_block_and_says_which_is_not_there(client):
    blocks = (await client.get("/queue")).json()
    assert sorted(blocks) == sorted(BLOCK_NAMES)
    assert blocks["resilience"] == {"breaker": "closed", "preflight": "ok"}
    assert blocks["max_concurrency"] == 2
    assert blocks["auto_labels"]["enabled"] is False


async def test_metrics_are_prometheus_text(client, house):
    await sample.reviewed_twice(house)
    answer = await client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = answer.text.splitlines()
    assert 'orchestrator_items{stage="testing"} 1.0' in lines
    assert 'orchestrator_agent_runs{model="claude-opus-4",role="developer"} 2.0' in lines
    assert 'orchestrator_agent_output_tokens{model="claude-opus-4",role="developer"} 42800.0' in lines


async def test_costs_are_added_up_beside_the_budgets(client, house):
    story = await sample.reviewed_twice(house)
    report = (await client.get("/api/v1/costs", params={"by": "role"})).json()
    (row,) = [row for row in report["rows"] if row["key"] == "developer"]
    assert (row["runs"], row["output_tokens"]) == (2, 42800)
    assert report["total"]["cost_usd"] == round(sum(row["cost_usd"] for row in report["rows"]), 6)
    standing = {(row["scope"], row["of"]): row for row in report["budgets"]}
    assert standing["item", story.id]["spent"] == report["total"]["cost_usd"]
    assert standing["day", ""]["limit"] == 9


async def test_costs_of_what_is_unknown_are_refused(client):
    assert (await client.get("/api/v1/costs", params={"project": "nobody"})).status_code == 400
    assert (await client.get("/api/v1/costs", params={"by": "mood"})).status_code in {400, 422}


async def test_metrics_are_json_for_who_asks_for_it(client, house):
    await Story.begin(house, "Count me")
    figures = (await client.get("/metrics", headers={"Accept": "application/json"})).json()
    assert figures["items_by_stage"]["created"] == 1
    assert figures["runs"] == []
    assert {row["scope"] for row in figures["budgets"]} == {"item", "day"}


async def test_projects_are_listed_with_their_state(client, house):
    await house.services.desk.freeze("shop", "inventory week")
    projects = (await client.get("/api/v1/projects")).json()["projects"]
    assert [(row["name"], row["prefix"], row["frozen"]) for row in projects] == [
        ("sample", "ORCH", None),
        ("shop", "SHOP", "inventory week"),
    ]


async def test_all_fourteen_gates_are_listed_in_their_order(client):
    gates = (await client.get("/api/v1/gates")).json()["gates"]
    assert {gate["name"] for gate in gates} == set(GateName)
    staging = [gate["name"] for gate in gates if gate["stage"] == "deploy-staging"]
    assert staging == [
        "check_staging_status",
        "check_security_gate",
        "check_branch_mergeable",
        "check_coverage_gate",
        "check_staging_image_fresh",
    ]


async def test_jobs_and_events_are_listed_newest_first(client, house):
    await Story.begin(house, "First")
    second = await Story.begin(house, "Second")
    events = (await client.get("/api/v1/events")).json()["events"]
    jobs = (await client.get("/api/v1/jobs", params={"limit": 1})).json()["jobs"]
    assert [event["payload"]["title"] for event in events] == ["Second", "First"]
    assert events[0]["outcome"] == "started"
    assert len(jobs) == 1
    assert jobs[0]["kind"] == "look"
    assert second.id == events[0]["payload"]["id"]


async def test_secrets_in_events_are_masked(client, house):
    await Story.begin(house, "Rotate", description="API_TOKEN=hunter2hunter2 is in the old file")
    answer = await client.get("/api/v1/events")
    assert "hunter2" not in answer.text


PATHS = {
    "/health": "get",
    "/status": "get",
    "/queue": "get",
    "/metrics": "get",
    "/api/v1/projects": "get",
    "/api/v1/gates": "get",
    "/api/v1/items": "get post",
    "/api/v1/items/{item_id}": "get",
    "/api/v1/items/{item_id}/explain": "get",
    "/api/v1/items/{item_id}/artifacts": "get",
    "/api/v1/items/{item_id}/artifacts/{path}": "get",
    "/api/v1/items/{item_id}/runs": "get",
    "/api/v1/runs/{run_id}/log": "get",
    "/api/v1/runs/{run_id}/events": "get",
    "/api/v1/runs/{run_id}/stream": "get",
    "/api/v1/items/{item_id}/approve": "post",
    "/api/v1/items/{item_id}/reject": "post",
    "/api/v1/items/{item_id}/confirm-deploy": "post",
    "/api/v1/items/{item_id}/stop": "post",
    "/api/v1/items/{item_id}/retry": "post",
    "/api/v1/costs": "get",
    "/api/v1/jobs": "get",
    "/api/v1/events": "get",
    "/api/v1/stream": "get",
}


async def test_the_schema_names_exactly_these_routes(client):
    schema = (await client.get("/api/v1/openapi.json")).json()
    assert {path: " ".join(sorted(routes)) for path, routes in schema["paths"].items()} == PATHS


async def test_the_schema_says_what_an_item_and_a_problem_look_like(client):
    schema = (await client.get("/api/v1/openapi.json")).json()
    route = schema["paths"]["/api/v1/items/{item_id}"]["get"]
    answers = {code: row["content"]["application/json"]["schema"] for code, row in route["responses"].items()}
    assert answers["200"] == {"$ref": "#/components/schemas/ItemDetails"}
    assert answers["404"] == {"$ref": "#/components/schemas/Problem"}
    fields = schema["components"]["schemas"]["ItemDetails"]["properties"]
    assert {"work_item", "hold", "timeline", "verdicts", "runs", "cost"} <= set(fields)
