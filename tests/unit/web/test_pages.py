import re
from datetime import timedelta

import pytest

from orchestrator.pipeline.gates import GateName
from orchestrator.pipeline.items import ApprovalKind
from orchestrator.pipeline.stages import Stage
from tests.browser import sample
from tests.unit.web.forms import forms, press
from tests.unit.web.stories import Story


def words(page) -> str:
    """What a page says, in one line."""
    return " ".join(re.sub(r"<[^>]+>", " ", page.text).split())


async def approvals(house, story):
    return await house.store.transact(lambda tx: tx.facts.approvals(story.item.task_id))


async def test_the_board_has_a_column_for_each_stage_in_order(browser, house):
    page = await browser.get("/")
    columns = re.findall(r'id="column-([a-z-]+)"', page.text)
    assert columns == [stage for stage in Stage if stage is not Stage.CANCELLED]
    assert "Nothing here yet" in page.text


async def test_a_card_says_what_its_item_waits_for_and_since_when(browser, house):
    first = await Story.begin(house, "Goes first", started=timedelta(hours=3))
    await first.advance(Stage.ANALYSIS)
    await first.order()
    await Story.begin(house, "Goes second", started=timedelta(minutes=5))
    said = words(await browser.get("/"))
    assert (
        "ORCH-2 Goes second Waits for another item: ORCH-1 is active in this project sample 5 min ago" in said
    )
    assert "ORCH-1 Goes first At work: analyst is at work sample 3 h ago" in said
    assert "1 at work 0 need a person 1 waiting" in said


async def test_what_needs_a_person_stands_above_the_board(browser, house):
    await sample.on_hold(house)
    page = await browser.get("/")
    needs = page.text.partition('class="needs"')[2].partition("</section>")[0]
    assert "ORCH-1" in needs
    assert "no progress" in needs
    assert "1 needs a person" in words(page)


async def test_the_board_can_be_read_for_one_project(browser, house):
    await Story.begin(house, "Of sample")
    await Story.begin(house, "Of shop", project="shop")
    page = await browser.get("/", params={"project": "shop"})
    assert "Of shop" in page.text
    assert "Of sample" not in page.text
    assert (await browser.get("/", params={"project": "nowhere"})).status_code == 404


async def test_cancelled_items_are_folded_away(browser, house):
    story = await Story.begin(house, "Given up")
    await house.services.desk.stop(story.id, by="anna")
    page = await browser.get("/")
    folded = page.text.partition('<details class="cancelled"')[2]
    assert "Given up" in folded
    assert "Given up" not in page.text.partition('<details class="cancelled"')[0]


async def test_an_item_is_filed_by_the_form(browser, house):
    page = await press(browser, "/items/new", "/items/new", project="shop", title="File me", labels="Bug, ui")
    assert page.url.path == "/items/SHOP-1"
    assert "Filed." in words(page)
    item = await house.services.desk.item("SHOP-1")
    assert item.labels == ("Bug", "ui")


async def test_a_form_that_cannot_be_used_comes_back_as_it_was_filled_in(browser):
    page = await press(
        browser,
        "/items/new",
        "/items/new",
        project="shop",
        title="Wait",
        blocked_by="orch-9",
        description="Why",
    )
    assert page.status_code == 400
    assert 'role="alert"' in page.text
    assert 'value="Wait"' in page.text
    assert "<option selected>shop</option>" in page.text


async def test_an_approval_carries_the_digest_of_the_documents_on_the_page(browser, house):
    story = await sample.awaiting_approval(house)
    address = f"/items/{story.id}"
    page = await browser.get(address)
    assert "Customers ask for <strong>refunds by line</strong>" in page.text
    seen = forms(page)[f"{address}/approve"]["seen"]
    assert seen == await house.services.desk.analysis_subject(story.item)
    await story.commit({"02-trz.md": "changed while the person was reading"})
    done = await browser.post(f"{address}/approve", data=forms(page)[f"{address}/approve"])
    assert "Approved." in words(done)
    (approval,) = await approvals(house, story)
    assert (approval.subject, approval.by) == (seen, "anna")
    assert approval.subject != await house.services.desk.analysis_subject(story.item)


async def test_a_rejection_needs_a_comment(browser, house):
    story = await sample.awaiting_approval(house)
    address = f"/items/{story.id}"
    refused = await press(browser, address, f"{address}/reject", comment="  ")
    assert refused.status_code == 400
    assert "say in a comment" in refused.text
    assert f'href="{address}"' in refused.text
    await press(browser, address, f"{address}/reject", comment="What about gift cards?")
    (approval,) = await approvals(house, story)
    assert (approval.granted, approval.comment) == (False, "What about gift cards?")


async def test_a_deploy_is_confirmed_for_the_commit_on_the_page_only(browser, house):
    story = await sample.awaiting_confirm(house)
    address = f"/items/{story.id}"
    offered = forms(await browser.get(address))[f"{address}/confirm-deploy"]
    refused = await browser.post(f"{address}/confirm-deploy", data=offered | {"commit": "another"})
    assert refused.status_code == 400
    await browser.post(f"{address}/confirm-deploy", data=offered)
    (approval,) = await approvals(house, story)
    assert (approval.kind, approval.subject) == (ApprovalKind.DEPLOY, story.item.merged)


@pytest.mark.parametrize(
    ("tell", "buttons"),
    [
        (sample.awaiting_approval, {"approve", "reject", "stop"}),
        (sample.awaiting_confirm, {"confirm-deploy", "stop"}),
        (sample.on_hold, {"retry", "stop"}),
        (sample.in_testing, {"stop"}),
    ],
)
async def test_only_the_buttons_that_make_sense_now_are_shown(browser, house, tell, buttons):
    story = await tell(house)
    offered = forms(await browser.get(f"/items/{story.id}"))
    assert set(offered) == {f"/items/{story.id}/{button}" for button in buttons}


async def test_an_ended_item_has_no_buttons(browser, house):
    story = await Story.begin(house, "Stop me")
    address = f"/items/{story.id}"
    page = await press(browser, address, f"{address}/stop", reason="no need")
    assert "Stopped." in words(page)
    assert "no need" in words(page)
    assert forms(page) == {}
    assert "stopped here" in page.text


async def test_the_page_tells_the_way_with_skipped_and_repeated_stages(browser, house):
    bug = await sample.on_hold(house)
    twice = await sample.reviewed_twice(house)
    said = words(await browser.get(f"/items/{bug.id}"))
    assert "architecture , skipped skipped" in said
    assert "review , here now" in said
    said = words(await browser.get(f"/items/{twice.id}"))
    assert re.search(r"development , passed 12m \d+s ×2", said)
    assert "testing , here now" in said
    assert "deploy , ahead" in said


async def test_the_timeline_tells_every_transition_newest_first(browser, house):
    story = await sample.reviewed_twice(house)
    page = await browser.get(f"/items/{story.id}")
    timeline = page.text.partition('id="timeline"')[2].partition("</ol>")[0]
    moves = re.findall(
        r"<strong>([a-z]+) <span aria-hidden=\"true\">→</span>.*?to</span> ([a-z]+)</strong>", timeline
    )
    assert moves == [
        ("review", "testing"),
        ("development", "review"),
        ("review", "development"),
        ("development", "review"),
        ("architecture", "development"),
        ("analysis", "architecture"),
        ("created", "analysis"),
    ]
    assert timeline.count("2 of 3 checks are pending") == 2, "a gate that repeats itself is told once"
    assert "×4" in timeline
    assert story.item.head is not None
    assert f">{story.item.head[:8]}<" in timeline


async def test_findings_of_a_round_are_shown_word_for_word(browser, house):
    story = await sample.reviewed_twice(house)
    page = await browser.get(f"/items/{story.id}")
    assert f"<li>{sample.FINDING}</li>" in page.text


async def test_a_workspace_that_does_not_answer_costs_the_documents_only(browser, house):
    story = await sample.awaiting_approval(house)
    house.shelf.broken = True
    page = await browser.get(f"/items/{story.id}")
    assert page.status_code == 200
    assert "the repository does not answer" in page.text
    assert f"/items/{story.id}/approve" not in forms(page), "nobody approves what is not shown"


async def test_documents_follow_the_branch(browser, house):
    story = await sample.awaiting_approval(house)
    address = f"/items/{story.id}"
    await browser.get(address)
    await story.commit({"01-brd.md": "# Other words\n\n![a picture](http://elsewhere.example/x.png)"})
    page = await browser.get(address)
    assert "<h4>Other words</h4>" in page.text
    assert "<img" not in page.text
    assert 'href="http://elsewhere.example/x.png" rel="noopener noreferrer">a picture</a>' in page.text


async def test_a_running_agent_shows_its_last_events(browser, house):
    story = await sample.developing_on(house, "sample")
    page = await browser.get(f"/items/{story.id}")
    assert "Amounts need two decimals." in page.text
    assert re.search(r'data-stream="/api/v1/runs/\d+/stream" data-after="\d\d+">', page.text)


async def test_the_queue_page_shows_jobs_and_every_mechanism(browser, house):
    await sample.on_hold(house)
    said = words(await browser.get("/dashboard/queue"))
    assert "analyst sample analysis 3m 0s four documents" in said
    assert "Resilience breaker closed preflight ok" in said
    assert "not part of this version" in said
    assert "Nobody holds a lease" in said


async def test_gates_are_shown_by_word_and_not_by_colour_alone(browser, house):
    story = await sample.awaiting_approval(house)
    await story.failed(GateName.ANALYSIS_COMPLETE, "03 is missing")
    page = await browser.get(f"/items/{story.id}")
    chips = re.findall(
        r'<span class="chip chip-([a-z-]+)"><svg.*?</svg>([a-z ]+)</span>', page.text, re.DOTALL
    )
    assert chips
    assert all(colour == word.replace(" ", "-") for colour, word in chips)
