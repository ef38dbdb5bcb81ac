"""Markdown of artifacts as HTML that cannot do anything: agents and strangers write it.

HTML in the text is shown as text, images become links (a page loads nothing from elsewhere), and no element
gets a style of its own (the content policy forbids it).
"""

from collections.abc import Mapping
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

_ALIGNMENTS: Final[Mapping[str, str]] = {
    "text-align:left": "align-left",
    "text-align:center": "align-center",
    "text-align:right": "align-right",
}
_HEADINGS: Final[Mapping[str, str]] = {"h1": "h4", "h2": "h5", "h3": "h6", "h4": "h6", "h5": "h6"}
"""A document is a part of a page: its headings stand below those of the page."""

_PARSER: Final = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def render(text: str) -> Markup:
    """``text`` as HTML."""
    tokens = _PARSER.parse(text)
    for token in tokens:
        _tame(token)
    return Markup(_PARSER.renderer.render(tokens, _PARSER.options, {}))  # noqa: S704 — html is off, see above.


def _tame(token: Token) -> None:
    token.tag = _HEADINGS.get(token.tag, token.tag)
    style = token.attrs.pop("style", None)
    if style is not None:
        token.attrJoin("class", _ALIGNMENTS.get(str(style), ""))
    if token.type == "link_open":
        token.attrSet("rel", "noopener noreferrer nofollow")
    if token.children is not None:
        token.children = [part for child in token.children for part in _without_image(child)]


def _without_image(token: Token) -> list[Token]:
    if token.type != "image":
        _tame(token)
        return [token]
    link = Token(
        "link_open", "a", 1, attrs={"href": token.attrs.get("src", ""), "rel": "noopener noreferrer"}
    )
    return [link, Token("text", "", 0, content=token.content or "image"), Token("link_close", "a", -1)]
