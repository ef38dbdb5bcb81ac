"""Watching agents in a real browser: live, after the end, by keyboard, on a phone, without scripts."""

import pytest
from playwright.async_api import expect

from orchestrator.pipeline.ids import RunId
from orchestrator.pipeline.stages import Stage
from orchestrator.ports.agent import Usage
from tests.browser import sample
from tests.browser.test_dashboard import CONTRAST, PHONE
from tests.unit.web.stories import Story
from tests.unit.web.transcripts import DEVELOPING, line

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

ATTACKS = line(
    ("command", "echo <script>window.bitten = 1</script>", "</pre><script>window.bitten = 1</script>"),
    ("text", '"><img src=x onerror="window.bitten = 1">', ""),
    ("edit", "<b>bold</b>", "<iframe src='javascript:window.bitten=1'></iframe>"),
)


class Run:
    """A run that is under way, and its log."""

    def __init__(self, site, story, number):
        self.story, self.id = story, number
        self.log = site.house.logs / f"{number}.log"

    def write(self, text):
        with self.log.open("a") as log:
            log.write(text)

    async def end(self):
        await self.story.tell(
            lambda tx: tx.runs.end(RunId(self.id), exit_code=0, outcome="finished", usage=Usage(900, 90, 0.5))
        )


@pytest.fixture
def begin(site):
    async def begin(log=""):
        story = await Story.begin(site.house, "Watch this run")
        await story.advance(Stage.ANALYSIS)
        return Run(site, story, await story.start_run(await story.order(), log))

    return begin


async def test_a_run_is_watched_while_it_goes_on_and_stays_when_it_ends(open_page, begin):
    run = await begin("one\n")
    page = await open_page(f"/items/{run.story.id}")
    events = page.locator(".events .event-words")
    await expect(events).to_have_text(["one"])
    run.write("two\n" + line(("edit", "src/a.py", "+x = 1"), ("cost", "7 tokens", "")))
    await expect(events).to_have_text(["one", "two", "src/a.py", "7 tokens"])
    await expect(page.locator(".event-edit .event-detail")).to_have_text("+x = 1")
    await run.end()
    await expect(page.locator(".run summary").first).to_contain_text("finished in")
    await expect(page.locator(".run summary").first).to_contain_text("990 tokens")
    await expect(events).to_have_text(["one", "two", "src/a.py", "7 tokens"])


async def test_a_run_that_begins_is_followed_on_the_open_page(open_page, site):
    story = await Story.begin(site.house, "Begin while somebody looks")
    await story.advance(Stage.ANALYSIS)
    page = await open_page(f"/items/{story.id}")
    await expect(page.locator("#live-text")).to_have_text("live")
    run = Run(site, story, await story.start_run(await story.order(), "one\n"))
    await expect(page.locator(".events .event-words")).to_have_text(["one"])
    run.write("two\n")
    await expect(page.locator(".events .event-words")).to_have_text(["one", "two"])


async def test_a_finished_run_is_read_when_it_is_unfolded(open_page, site):
    page = await open_page(f"/items/{site.day['testing'].id}")
    row = page.locator("details.run", has_text="finished in").first
    await expect(row.locator(".event")).to_have_count(0)
    await row.locator("summary").focus()
    await page.keyboard.press("Enter")
    await expect(row.locator(".event-words")).to_have_text(["thinking …", "writing files", "done"])


async def test_what_was_before_is_read_by_keyboard(open_page, begin):
    run = await begin("".join(f"event {number} of many\n" for number in range(450)))
    page = await open_page(f"/items/{run.story.id}")
    await expect(page.locator(".event")).to_have_count(200)
    await page.get_by_role("link", name="Earlier events").focus()
    await page.keyboard.press("Enter")
    await expect(page.locator(".event")).to_have_count(400)
    await page.keyboard.press("Enter")
    await expect(page.locator(".event")).to_have_count(450)
    await expect(page.get_by_role("link", name="Earlier events")).to_be_hidden()
    await expect(page.locator(".event-words").first).to_have_text("event 0 of many")
    await expect(page.locator(".events")).to_be_focused()


async def test_only_who_looks_at_the_end_is_taken_along(open_page, begin):
    run = await begin("".join(f"event {number}\n" for number in range(150)))
    page = await open_page(f"/items/{run.story.id}")
    events = page.locator(".events")
    at_end = "list => list.scrollTop + list.clientHeight >= list.scrollHeight - 2"
    assert await events.evaluate(at_end)
    run.write("more\n" * 20)
    await expect(page.locator(".event")).to_have_count(170)
    assert await events.evaluate(at_end)
    await events.evaluate("list => { list.scrollTop = 100 }")
    run.write("more\n" * 20)
    await expect(page.locator(".event")).to_have_count(190)
    assert await events.evaluate("list => list.scrollTop") == 100


async def test_a_long_run_does_not_fill_the_memory(open_page, begin):
    run = await begin("first\n")
    page = await open_page(f"/items/{run.story.id}")
    await expect(page.locator(".event")).to_have_count(1)
    run.write("".join(f"event {number}\n" for number in range(2000)))
    await expect(page.locator(".event-words").last).to_have_text("event 1999")
    await expect(page.locator(".event")).to_have_count(600)
    await page.get_by_role("link", name="Earlier events").click()
    await expect(page.locator(".event")).to_have_count(800)
    await expect(page.locator(".event-words").nth(0)).to_have_text("event 1200")


async def test_a_stream_that_broke_goes_on_where_it_was(open_page, begin, site):
    run = await begin("one\n")
    page = await open_page(f"/items/{run.story.id}")
    run.write("two\n")
    events = page.locator(".events .event-words")
    await expect(events).to_have_text(["one", "two"])
    site.house.closed.append(True)
    await expect(page.locator("#live-text")).to_have_text("offline")
    run.write("three\n")
    site.house.closed.clear()
    await expect(events).to_have_text(["one", "two", "three"])


async def test_nothing_in_a_log_is_carried_out(open_page, begin):
    run = await begin(ATTACKS)
    page = await open_page(f"/items/{run.story.id}")
    run.write(ATTACKS)
    await expect(page.locator(".event")).to_have_count(6)
    await expect(page.locator(".event-words").nth(4)).to_have_text(
        '"><img src=x onerror="window.bitten = 1">'
    )
    await page.goto(f"{page.url}/runs/{run.id}")
    await expect(page.locator(".event")).to_have_count(6)
    assert await page.evaluate("window.bitten") is None
    assert await page.locator(".events :is(script, img, iframe, b)").count() == 0


async def test_runs_are_read_without_scripts(open_page, begin, site):
    run = await begin("one\n" + DEVELOPING)
    page = await open_page(f"/items/{run.story.id}", java_script_enabled=False)
    await expect(page.get_by_text("Amounts need two decimals.")).to_be_visible()
    await page.goto(f"{site.address}/items/{site.day['testing'].id}")
    row = page.locator("details.run", has_text="finished in").first
    await row.locator("summary").click()
    await row.get_by_role("link", name="Events on a page of their own").click()
    await expect(page.get_by_text("writing files")).to_be_visible()


async def test_every_kind_is_told_apart_by_shape_and_by_word(open_page, begin):
    kinds = ["text", "tool", "edit", "command", "output", "cost", "note", "error"]
    run = await begin(line(*((kind, f"a {kind}", "") for kind in kinds)))
    page = await open_page(f"/items/{run.story.id}")
    await expect(page.locator(".event")).to_have_count(8)
    marks = page.locator(".event-mark")
    assert await marks.evaluate_all("marks => marks.map((mark) => mark.textContent.trim())") == [
        f"{kind}:" for kind in kinds
    ]
    assert len(set(await marks.evaluate_all("marks => marks.map((mark) => mark.innerHTML)"))) == 8


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_the_page_of_a_run_is_readable_on_a_phone(open_page, site, scheme):
    story = await sample.developing_on(site.house, "shop")
    page = await open_page(f"/items/{story.id}", **PHONE, color_scheme=scheme, reduced_motion="reduce")
    for path in (page.url, f"{page.url}/runs/{await _last_run(site, story)}"):
        await page.goto(path)
        await page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true })")
        assert await page.evaluate("document.documentElement.scrollWidth") <= 390
        assert await page.evaluate(CONTRAST) == []


async def _last_run(site, story):
    runs = await site.house.store.transact(lambda tx: tx.runs.of_item(story.item.task_id))
    return runs[-1].id
