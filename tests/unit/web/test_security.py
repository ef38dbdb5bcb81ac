from dataclasses import replace

import httpx
import pytest
from structlog.testing import capture_logs

from orchestrator.errors import Conflict
from orchestrator.pipeline.stages import Stage
from orchestrator.web.app import create_app
from orchestrator.web.forms import COOKIE
from orchestrator.web.security import BODY_LIMIT, host_name
from tests.browser import sample
from tests.unit.web.forms import forms
from tests.unit.web.stories import Story


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8500", 200),
        ("127.0.0.1", 200),
        ("[::1]:8500", 200),
        ("orch.localhost:8500", 200),
        ("build.example", 200),
        ("BUILD.example:8500", 200),
        ("evil.example", 421),
        ("localhost.evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("", 421),
    ],
)
async def test_the_server_answers_to_its_own_names_only(house, host, status):
    app = create_app(replace(house.services, hosts=frozenset({"build.example"})))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        answer = await client.get("/health", headers={"Host": host})
    assert answer.status_code == status


def test_a_host_is_known_without_its_port():
    assert [host_name(host) for host in ("A.b:80", "[::1]:80", "[::1]", "a")] == ["a.b", "::1", "::1", "a"]


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:9999"},
        {"Origin": "http://localhost:8500.evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
async def test_a_page_of_another_site_cannot_post(client, house, headers):
    story = await Story.begin(house, "Keep me")
    answer = await client.post(f"/api/v1/items/{story.id}/stop", headers=headers)
    assert answer.status_code == 403
    assert (await house.services.desk.item(story.id)).stage == "created"


async def test_our_own_page_and_a_script_can_post(client, house):
    own = {"Origin": "http://localhost:8500", "Sec-Fetch-Site": "same-origin"}
    for headers in (own, {}):
        story = await Story.begin(house, "Stop me")
        assert (await client.post(f"/api/v1/items/{story.id}/stop", headers=headers)).status_code == 200


@pytest.mark.parametrize("token", [None, "", "guess", "id1." + "0" * 64])
async def test_a_form_without_the_token_of_its_browser_changes_nothing(browser, house, token):
    story = await Story.begin(house, "Keep me")
    await browser.get("/")
    given = {} if token is None else {"token": token}
    answer = await browser.post(f"/items/{story.id}/stop", data=given)
    assert answer.status_code == 403
    assert "older than the server" in answer.text
    assert (await house.services.desk.item(story.id)).stage == "created"


async def test_a_token_that_we_did_not_sign_is_refused_even_when_the_cookie_agrees(browser, house):
    story = await Story.begin(house, "Keep me")
    forged = "id1." + "f" * 64
    browser.cookies.set(COOKIE, forged)
    answer = await browser.post(f"/items/{story.id}/stop", data={"token": forged})
    assert answer.status_code == 403


async def test_the_token_of_another_process_is_replaced_by_a_page_and_refused_by_a_form(house):
    story = await Story.begin(house, "Keep me")
    before = create_app(replace(house.services, secret=b"an earlier process"))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(before), base_url="http://localhost") as old:
        held = forms(await old.get(f"/items/{story.id}"))[f"/items/{story.id}/stop"]["token"]
    after = httpx.ASGITransport(create_app(house.services))
    async with httpx.AsyncClient(transport=after, base_url="http://localhost") as new:
        new.cookies.set(COOKIE, held)
        refused = await new.post(f"/items/{story.id}/stop", data={"token": held})
        fresh = forms(await new.get(f"/items/{story.id}"))[f"/items/{story.id}/stop"]["token"]
    assert refused.status_code == 403
    assert fresh != held


async def test_the_cookie_is_kept_from_scripts_and_from_other_sites(browser):
    cookie = (await browser.get("/")).headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie


async def test_every_answer_carries_the_security_headers(client, house):
    app = create_app(house.services)

    @app.get("/broken")
    async def broken() -> None:
        raise ZeroDivisionError("a secret detail")

    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    with capture_logs():
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as own:
            answers = [
                await own.get(path) for path in ("/", "/health", "/nothing", "/static/style.css", "/broken")
            ]
            answers.append(await own.get("/", headers={"Host": "evil.example"}))
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"


async def test_a_bug_is_told_by_its_number_in_the_log_without_details(house):
    app = create_app(house.services)

    @app.get("/api/v1/broken")
    async def broken() -> None:
        raise ZeroDivisionError("a secret detail")

    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    with capture_logs() as log:
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as own:
            answer = await own.get("/api/v1/broken")
    assert answer.status_code == 500
    (entry,) = log
    assert answer.json() == {"error": f"a bug in the orchestrator; the log has it as {entry['incident']}"}
    assert isinstance(entry["exc_info"], ZeroDivisionError)
    assert "secret" not in answer.text


async def test_a_lost_race_is_409(house):
    app = create_app(house.services)

    @app.get("/api/v1/raced")
    async def raced() -> None:
        raise Conflict("somebody else was first")

    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as own:
        answer = await own.get("/api/v1/raced")
    assert (answer.status_code, answer.json()) == (409, {"error": "somebody else was first"})


async def test_pages_are_not_stored_and_static_files_are_kept(browser):
    page = await browser.get("/")
    address = page.text.partition('<link rel="stylesheet" href="')[2].partition('"')[0]
    style = await browser.get(address)
    assert page.headers["cache-control"] == "no-store"
    assert style.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert "?v=" in address


async def test_a_large_body_is_refused_whether_it_is_announced_or_not(client):
    big = b'{"project": "' + b"x" * BODY_LIMIT + b'"}'

    async def chunks():
        for start in range(0, len(big), 65_536):
            yield big[start : start + 65_536]

    headers = {"Content-Type": "application/json"}
    announced = await client.post("/api/v1/items", content=big, headers=headers)
    chunked = await client.post("/api/v1/items", content=chunks(), headers=headers)
    assert (announced.status_code, chunked.status_code) == (413, 413)
    assert "1024 KiB" in chunked.json()["error"]


async def test_an_unknown_address_is_json_below_the_api_and_a_page_elsewhere(client, browser):
    for caller in (client, browser):
        answer = await caller.get("/api/v1/nothing")
        assert (answer.status_code, answer.json()) == (404, {"error": "there is nothing at this address"})
    page = await browser.get("/nothing")
    assert page.status_code == 404
    assert "there is nothing at this address" in page.text
    assert page.headers["content-type"].startswith("text/html")


@pytest.mark.parametrize("path", ["../app.py", "%2e%2e/views.py", "..%2f..%2fapp.py", "/etc/passwd"])
async def test_static_files_are_the_only_ones_served(client, path):
    assert (await client.get(f"/static/{path}")).status_code in (400, 404)


ATTACK = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'><svg/onload=alert(1)>"


async def test_what_others_wrote_is_shown_as_text_everywhere(browser, house):
    story = await Story.begin(house, f"A {ATTACK[:70]}", description=ATTACK, labels=[ATTACK])
    await story.advance(Stage.ANALYSIS)
    await story.commit(
        sample.analysis(story.id) | {"12-review.md": f"---\nverdict: '{ATTACK[:25]}'\n---\n{ATTACK}"}
    )
    await story.commit({f"{ATTACK[:7]}.txt": ATTACK, "x.md": "[click](javascript:alert(1)) <b>bold</b>"})
    await story.hold(ATTACK)
    for address in ("/", f"/items/{story.id}", "/dashboard/queue", f"/items/new?project={ATTACK}"):
        page = await browser.get(address)
        assert page.status_code == 200
        for live in ("<script>", "<img", "<svg/", "<b>bold", 'href="javascript', 'onerror=alert(1)>"'):
            assert live not in page.text


async def test_an_address_is_shown_as_text_on_the_error_page(browser):
    page = await browser.get("/items/%3Cscript%3Ealert(1)%3C%2Fscript%3E")
    assert page.status_code == 404
    assert "<script>alert" not in page.text


async def test_no_page_holds_script_or_style_of_its_own(browser, house):
    await sample.in_testing(house)
    for address in ("/", "/items/ORCH-1", "/items/new", "/dashboard/queue", "/nothing"):
        page = (await browser.get(address)).text
        assert "<style" not in page
        assert "style=" not in page
        assert page.count("<script") == page.count("<script src=") == 1
        assert " onclick" not in page
