import httpx
import pytest

from orchestrator.web.app import create_app
from tests.unit.web.house import build


@pytest.fixture
async def house(tmp_path):
    built = await build(tmp_path, "sample", "shop")
    yield built
    built.close()


@pytest.fixture
async def client(house):
    """A script: what curl would be."""
    transport = httpx.ASGITransport(create_app(house.services), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost:8500") as script:
        yield script


@pytest.fixture
async def browser(house):
    """A browser without scripts: asks for pages, sends what browsers send with a form, follows redirects."""
    headers = {"Accept": "text/html", "Sec-Fetch-Site": "same-origin"}
    transport = httpx.ASGITransport(create_app(house.services), raise_app_exceptions=False)
    async with httpx.AsyncClient(
        transport=transport, base_url="http://localhost:8500", headers=headers, follow_redirects=True
    ) as person:
        yield person
