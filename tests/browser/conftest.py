import os

import pytest_asyncio

from tests.browser.serving import CHROMIUM, chromium, serve

# Without a browser these tests are not there, unless somebody said that they must run.
collect_ignore_glob = [] if CHROMIUM or os.environ.get("ORCH_REQUIRE_BROWSER") == "1" else ["test_*.py"]


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser():
    async with chromium() as launched:
        yield launched


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def site(tmp_path_factory):
    async with serve(tmp_path_factory.mktemp("site")) as served:
        yield served


@pytest_asyncio.fixture(loop_scope="session")
async def open_page(browser, site):
    """Opens pages of the site; at the end of the test, nothing may have gone wrong or left the site."""
    contexts, troubles = [], []

    def look_at(request):
        if not request.url.startswith(site.address):
            troubles.append(f"left the site: {request.url}")

    async def open_at(path, **options):
        context = await browser.new_context(**({"viewport": {"width": 1440, "height": 900}} | options))
        contexts.append(context)
        page = await context.new_page()
        page.set_default_timeout(10_000)
        page.on(
            "console", lambda said: troubles.append(said.text) if said.type in {"error", "warning"} else None
        )
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("request", look_at)
        await page.goto(site.address + path)
        return page

    yield open_at
    for context in contexts:
        await context.close()
    assert troubles == []
