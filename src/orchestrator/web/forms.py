"""Form tokens: a form is accepted only from a page that this process gave to the same browser."""

import hashlib
import hmac
from typing import Annotated, Final

from fastapi import Form, Request, Response

from orchestrator.errors import OrchestratorError
from orchestrator.web.services import Given, WebServices

COOKIE: Final = "orch_form"


class ForeignForm(OrchestratorError):
    """A form came without the token of its browser."""


def token_for(request: Request, services: WebServices) -> str:
    """The browser's token, or a new one when it has none that this process signed."""
    held = request.cookies.get(COOKIE, "")
    return held if _is_ours(held, services.secret) else _signed(services.ids.new(), services.secret)


def remember(response: Response, token: str, *, secure: bool) -> None:
    """Give the browser its token; no script can read it and no other site can make the browser send it."""
    response.set_cookie(COOKIE, token, httponly=True, samesite="strict", secure=secure, path="/")


def own_form(request: Request, services: Given, token: Annotated[str, Form()] = "") -> None:
    """Let a form through whose token is the browser's own (signed double submit).

    Raises:
        ForeignForm: it is not; nothing was changed.
    """
    held = request.cookies.get(COOKIE, "")
    same = hmac.compare_digest(token.encode(), held.encode())
    if not (same and _is_ours(held, services.secret)):
        raise ForeignForm("this page is older than the server; load it again and repeat what you did")


def _signed(nonce: str, secret: bytes) -> str:
    return f"{nonce}.{hmac.new(secret, nonce.encode(), hashlib.sha256).hexdigest()}"


def _is_ours(token: str, secret: bytes) -> bool:
    nonce, dot, _ = token.partition(".")
    return bool(dot and nonce) and hmac.compare_digest(token.encode(), _signed(nonce, secret).encode())
