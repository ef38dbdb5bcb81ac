"""The dashboard in a real browser: read, pressed, kept fresh, on a screen and on a phone."""

import pytest
from playwright.async_api import expect

from orchestrator.pipeline.gates import GateName
from orchestrator.pipeline.stages import Stage
from tests.browser import sample
from tests.unit.web.stories import Story

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

PAGES = (
    "/",
    "/items/{testing}",
    "/items/{approval}",
    "/items/{hold}",
    "/items/{developing}",
    "/items/new",
    "/dashboard/queue",
)
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}

# Contrast of every text with what lies under it, by the formula of WCAG 2; the browser resolves colours.
CONTRAST = """() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return canvas.getImageData(0, 0, 1, 1).data;
  };
  const luminance = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const over = (top, under) => [0, 1, 2].map((i) => (top[i] * top[3] + under[i] * (255 - top[3])) / 255);
  const ground = (element) => {
    const own = rgba(getComputedStyle(element).backgroundColor);
    if (own[3] === 255) return own;
    return over(own, element.parentElement ? ground(element.parentElement) : [255, 255, 255]);
  };
  const poor = [];
  for (const element of document.querySelectorAll("body *")) {
    const texts = [...element.childNodes].filter((node) => node.nodeType === 3 && node.data.trim());
    if (!texts.length || !element.checkVisibility() || element.closest(".hidden, .skip")) continue;
    const style = getComputedStyle(element);
    const [a, b] = [luminance(rgba(style.color)), luminance(ground(element))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const large = parseFloat(style.fontSize) >= 24;
    if (ratio < (large ? 3 : 4.5)) poor.push(`${texts[0].data.trim().slice(0, 40)}: ${ratio.toFixed(2)}`);
  }
  return poor;
}"""


def address(path, site):
    return path.format(**{name: story.id for name, story in site.day.items()})


async def test_the_board_shows_a_column_for_each_stage_and_the_cards_in_them(open_page, site):
    page = await open_page("/")
    await expect(page.locator(".column h2 .column-name")).to_have_text(
        [
            *("Created", "Analysis", "Architecture", "Development", "Review", "Testing", "Deploy staging"),
            *("Deploy", "Done"),
        ]
    )
    testing = page.get_by_role("region", name="Testing")
    await expect(
        testing.get_by_role("link", name="Give all payment clients one retry budget")
    ).to_be_visible()
    await expect(testing).to_contain_text("round 2")
    await expect(page.get_by_role("region", name="Review")).to_contain_text("hold")


async def test_a_card_leads_to_the_item_and_its_timeline(open_page, site):
    page = await open_page("/")
    await page.locator(f".card[data-key={site.day['testing'].id}]").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text(
        "Give all payment clients one retry budget"
    )
    moves = page.locator(".entry-move strong")
    await expect(moves.first).to_contain_text("review")
    await expect(moves).to_have_count(7)
    await page.get_by_text("Review", exact=True).and_(page.locator(".paper-title")).click()
    await expect(page.get_by_text("The lock is there.")).to_be_visible()


async def test_the_analysis_is_approved_by_a_click(open_page, site):
    story = await sample.awaiting_approval(site.house)
    page = await open_page(f"/items/{story.id}")
    await page.get_by_role("button", name="Approve analysis").click()
    await expect(page.get_by_role("status").filter(has_text="Approved.")).to_be_visible()
    (approval,) = await site.house.store.transact(lambda tx: tx.facts.approvals(story.item.task_id))
    assert approval.granted
    assert approval.subject == await site.house.services.desk.analysis_subject(story.item)
    await expect(page).to_have_url(f"{site.address}/items/{story.id}")


async def test_an_item_is_stopped_by_keyboard_alone(open_page, site):
    story = await Story.begin(site.house, "Stop me without a mouse")
    page = await open_page(f"/items/{story.id}")
    for _ in range(20):
        await page.keyboard.press("Tab")
        if await page.evaluate("document.activeElement.textContent.trim() === 'Stop'"):
            break
    outline = await page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    await page.keyboard.press("Enter")
    await page.keyboard.press("Tab")
    await page.keyboard.type("changed our minds")
    await page.keyboard.press("Enter")
    await expect(page.locator("#explain-title")).to_have_text("Cancelled")
    await expect(page.locator("#timeline")).to_contain_text("changed our minds")
    assert outline == "solid"


async def test_an_item_is_filed_through_the_form(open_page, site):
    page = await open_page("/")
    await page.get_by_role("link", name="New item").click()
    await page.get_by_label("Project").select_option("billing")
    await page.get_by_label("Title").fill("Round tips to five cents")
    await page.get_by_role("button", name="File and start").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Round tips to five cents")
    await expect(page.get_by_role("status").filter(has_text="Filed.")).to_be_visible()


async def test_a_change_arrives_without_reloading(open_page, site):
    story = await Story.begin(site.house, "Move while somebody looks")
    page = await open_page("/")
    await expect(page.locator("#live-text")).to_have_text("live")
    await page.evaluate("window.kept = 'the same page'")
    await expect(page.get_by_role("region", name="Created")).to_contain_text("Move while somebody looks")
    await story.advance(Stage.ANALYSIS)
    await expect(page.get_by_role("region", name="Analysis")).to_contain_text("Move while somebody looks")
    await expect(page.get_by_role("region", name="Created")).not_to_contain_text("Move while somebody looks")
    assert await page.evaluate("window.kept") == "the same page"


async def test_a_change_keeps_what_the_person_is_doing(open_page, site):
    story = await sample.awaiting_approval(site.house)
    page = await open_page(f"/items/{story.id}")
    await expect(page.locator("#live-text")).to_have_text("live")
    await page.locator("summary", has_text="Reject").click()
    comment = page.get_by_label("What does the analysis lack?")
    await comment.fill("What about gift")
    await page.evaluate("window.scrollTo(0, 300)")
    await story.commit({"12-review.md": "# News\n\nA document that was not there before."})
    # The documents have moved on, so the gate has answered about them again.
    await story.passed(GateName.ANALYSIS_COMPLETE, "01 to 04 are there and complete", "01-brd.md")
    await expect(page.locator(".paper")).to_have_count(5)
    await expect(comment).to_be_focused()
    await page.keyboard.type(" cards?")
    await expect(comment).to_have_value("What about gift cards?")
    assert await page.evaluate("window.scrollY") == 300


async def test_pages_and_buttons_work_without_scripts(open_page, site):
    story = await sample.awaiting_approval(site.house)
    page = await open_page(f"/items/{story.id}", java_script_enabled=False)
    await expect(page.get_by_text("Customers ask for refunds by line")).to_be_visible()
    await page.get_by_role("button", name="Approve analysis").click()
    await expect(page.get_by_text("Approved.")).to_be_visible()


async def test_no_page_is_wider_than_a_phone(open_page, site):
    page = await open_page("/", **PHONE)
    for path in PAGES:
        await page.goto(site.address + address(path, site))
        assert await page.evaluate("document.documentElement.scrollWidth") <= 390, path


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_every_text_has_enough_contrast(open_page, site, scheme):
    page = await open_page("/", color_scheme=scheme, reduced_motion="reduce")
    for path in PAGES:
        await page.goto(site.address + address(path, site))
        await page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true })")
        assert await page.evaluate(CONTRAST) == [], path


async def test_dark_is_dark(open_page, site):
    page = await open_page("/", color_scheme="dark")
    red, green, blue = await page.evaluate(
        "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number)"
    )
    assert max(red, green, blue) < 40


async def test_the_first_tab_offers_to_skip_to_the_content(open_page, site):
    page = await open_page("/")
    await page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the content")
    await expect(skip).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.locator("#main")).to_be_focused()
