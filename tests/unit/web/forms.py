"""Finding and sending the forms of a page, as a browser does."""

from html.parser import HTMLParser

import httpx


class _Forms(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, dict[str, str]] = {}
        self._fields: dict[str, str] | None = None

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag == "form":
            self._fields = self.found.setdefault(given["action"] or "", {})
        elif self._fields is not None and tag in {"input", "textarea", "select"}:
            self._fields[given["name"] or ""] = given.get("value") or ""

    def handle_endtag(self, tag):
        if tag == "form":
            self._fields = None


def forms(page: httpx.Response) -> dict[str, dict[str, str]]:
    """The forms of a page by their action, with the values that they hold."""
    parser = _Forms()
    parser.feed(page.text)
    return parser.found


async def press(browser: httpx.AsyncClient, address: str, button: str, **typed: str) -> httpx.Response:
    """Open the page at ``address``, fill in its form ``button``, and send it."""
    offered = forms(await browser.get(address))
    return await browser.post(button, data=offered[button] | typed)
