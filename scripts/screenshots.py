"""Takes the pictures of the dashboard for the documentation: `python scripts/screenshots.py [directory]`."""

import asyncio
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from playwright.async_api import Browser

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.browser.serving import Site, chromium, serve  # noqa: E402 — the sample day lives among the tests.


@dataclass(frozen=True)
class Shot:
    """One picture: of which page, in which scheme, on a screen of which size."""

    name: str
    path: str
    scheme: str
    width: int
    height: int
    scale: int = 1


SHOTS = (
    Shot("board-light", "/", "light", 1440, 860),
    Shot("board-dark", "/", "dark", 1440, 860),
    Shot("item-light", "/items/{testing}", "light", 1440, 1180),
    Shot("item-phone", "/items/{hold}", "light", 390, 844, scale=2),
)


async def take(browser: Browser, site: Site, shot: Shot, directory: Path) -> Path:
    """The picture, as a file in ``directory``."""
    context = await browser.new_context(
        viewport={"width": shot.width, "height": shot.height},
        color_scheme="dark" if shot.scheme == "dark" else "light",
        device_scale_factor=shot.scale,
        reduced_motion="reduce",
    )
    page = await context.new_page()
    await page.goto(site.address + shot.path.format(**{name: story.id for name, story in site.day.items()}))
    await page.locator("#live[data-state=live]").wait_for()
    file = directory / f"{shot.name}.png"
    await page.screenshot(path=file)
    await context.close()
    return file


async def main(directory: Path) -> None:
    """Take all pictures."""
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        async with serve(Path(home)) as site, chromium() as browser:
            for shot in SHOTS:
                print(await take(browser, site, shot, directory))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images"))
