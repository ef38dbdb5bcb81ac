"""The Messages API of Anthropic, as far as the CLI ``claude`` uses it."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import ClassVar, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from orchestrator.testing.models.api import Arrival, ModelApi, arrived, chunks, new_id
from orchestrator.testing.models.delivery import Piece
from orchestrator.testing.models.documents import mappings, text, texts
from orchestrator.testing.models.scripts import (
    NOTHING,
    HttpError,
    ModelRequest,
    StreamError,
    TokenUsage,
    ToolCall,
    Turn,
)

ERROR_TYPES: Final[Mapping[int, str]] = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
"""What the API calls an error of an HTTP status; any other is an ``api_error``."""

MODELS: Final = ("claude-opus-5-5", "claude-sonnet-5", "claude-haiku-4-5")

_REMINDER = re.compile(r"<system-reminder>.*?(?:</system-reminder>|\Z)", re.DOTALL)
_CWD = re.compile(r"(?:[Ww]orking directory|cwd): *(\S.*?)\s*$", re.MULTILINE)
_OWN_WORDS = ("[Request interrupted", "Output token limit hit")
"""How texts begin that the CLI writes in the user's name within a task."""

_BYTES_PER_TOKEN = 4
_SIGNATURE = "ZmFrZQ=="


class MessagesApi(ModelApi):
    """``POST /v1/messages``, streamed or not, and beside it the counting of tokens and the list of models."""

    content: ClassVar = frozenset({"content_block_delta"})
    closing: ClassVar = frozenset({"content_block_stop", "message_delta"})

    def routes(self) -> list[Route]:
        """The addresses that the API has, after whatever stands before ``/v1``."""
        return [
            Route("/{before:path}v1/messages", self.answer, methods=["POST"]),
            Route("/{before:path}v1/messages/count_tokens", self._count, methods=["POST"]),
            Route("/{before:path}v1/models", self._models, methods=["GET"]),
        ]

    def parsed(self, arrival: Arrival) -> ModelRequest:
        """What the CLI asks; ``messages`` may have items of the role ``system``."""
        messages = mappings(arrival.body.get("messages"))
        start = max((at for at, one in enumerate(messages) if _asked(one)), default=0)
        system = "\n".join(
            [
                *texts(arrival.body.get("system")),
                *(
                    said
                    for one in messages
                    if one.get("role") == "system"
                    for said in texts(one.get("content"))
                ),
            ]
        )
        conversation = tuple(said for one in messages for said in _all_texts(one))
        places = _CWD.findall(system) or _CWD.findall("\n".join(conversation))
        results = [said for one in messages[start:] for said in _results(one)]
        return ModelRequest(
            path=arrival.path,
            headers=arrival.headers,
            model=arrival.model,
            stream=arrival.streams,
            turn=sum(one.get("role") == "assistant" for one in messages[start:]),
            system=system,
            task="\n".join(_asked(messages[start])) if messages else "",
            texts=conversation,
            cwd=places[-1] if places else ".",
            last=results[-1] if results else "",
            tools=tuple(text(tool, "name") for tool in mappings(arrival.body.get("tools"))),
        )

    def events(self, request: ModelRequest, turn: Turn) -> Iterator[Piece]:
        """The answer as a stream: its start tells the input and one token, its end all of the output."""
        first = replace(turn.usage, output=min(turn.usage.output, 1))
        blocks = _blocks(turn)
        start = {**_message(request, turn), "content": [], "stop_reason": None, "usage": _figures(first)}
        yield _event("message_start", first, message=start)
        yield _event("ping")
        for index, block in enumerate(blocks):
            yield _event("content_block_start", index=index, content_block=_opened(block))
            for delta in _deltas(block):
                yield _event("content_block_delta", index=index, delta=delta)
            yield _event("content_block_stop", index=index)
        yield _event(
            "message_delta",
            TokenUsage(output=turn.usage.output - first.output),
            delta={"stop_reason": _stop(turn), "stop_sequence": None},
            usage={"output_tokens": turn.usage.output},
        )
        yield _event("message_stop")

    def whole(self, request: ModelRequest, turn: Turn) -> Piece:
        """The answer in one document."""
        return Piece(_message(request, turn), usage=turn.usage)

    def failure(self, error: StreamError) -> Piece:
        """The event that tells an error in mid-stream."""
        return _event("error", error={"type": error.type, "message": error.message})

    def refusal(self, error: HttpError) -> dict[str, object]:
        """The body of an HTTP error."""
        kind = error.type or ERROR_TYPES.get(error.status, "api_error")
        message = error.message or kind.replace("_", " ").capitalize()
        told = {"type": kind, "message": message, **error.details}
        return {"type": "error", "error": told, "request_id": new_id("req")}

    async def _count(self, http: Request) -> Response:
        self.record(await arrived(http))
        size = len(await http.body())
        return JSONResponse({"input_tokens": max(1, size // _BYTES_PER_TOKEN)})

    async def _models(self, http: Request) -> Response:
        self.record(await arrived(http))
        known = [{"type": "model", "id": name, "display_name": name} for name in MODELS]
        return JSONResponse(
            {"data": known, "has_more": False, "first_id": MODELS[0], "last_id": MODELS[-1]},
        )


def _asked(message: Mapping[str, object]) -> list[str]:
    """The texts by which a user opens a task: neither tool results nor what the CLI itself adds."""
    if message.get("role") != "user":
        return []
    said = (_REMINDER.sub("", one).strip() for one in texts(message.get("content")))
    return [one for one in said if one and not one.startswith(_OWN_WORDS)]


def _results(message: Mapping[str, object]) -> Iterator[str]:
    for part in mappings(message.get("content")):
        if part.get("type") == "tool_result":
            yield "".join(texts(part.get("content")))


def _all_texts(message: Mapping[str, object]) -> list[str]:
    return [*texts(message.get("content")), *_results(message)]


def _event(name: str, usage: TokenUsage = NOTHING, /, **fields: object) -> Piece:
    return Piece({"type": name, **fields}, name, usage)


def _stop(turn: Turn) -> str:
    return turn.stop or ("tool_use" if turn.tools else "end_turn")


def _message(request: ModelRequest, turn: Turn) -> dict[str, object]:
    return {
        "id": new_id("msg"),
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "content": _blocks(turn),
        "stop_reason": _stop(turn),
        "stop_sequence": None,
        "usage": _figures(turn.usage),
    }


def _figures(usage: TokenUsage) -> dict[str, object]:
    return {
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_creation,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output,
        "service_tier": "standard",
    }


def _blocks(turn: Turn) -> list[dict[str, object]]:
    blocks: list[dict[str, object]] = []
    if turn.thinking:
        blocks.append({"type": "thinking", "thinking": turn.thinking, "signature": _SIGNATURE})
    if turn.text:
        blocks.append({"type": "text", "text": turn.text})
    return blocks + [_tool_use(tool) for tool in turn.tools]


def _tool_use(tool: ToolCall) -> dict[str, object]:
    given = {"input": tool.input} if isinstance(tool.input, str) else dict(tool.input)
    return {"type": "tool_use", "id": new_id("toolu"), "name": tool.name, "input": given}


def _opened(block: Mapping[str, object]) -> dict[str, object]:
    """A block as it is announced, before anything is in it."""
    empty: dict[str, object] = {"thinking": "", "signature": "", "text": "", "input": {}}
    return {name: empty.get(name, value) for name, value in block.items()}


def _deltas(block: Mapping[str, object]) -> list[dict[str, object]]:
    match block["type"]:
        case "thinking":
            parts = chunks(text(block, "thinking"))
            signed: dict[str, object] = {"type": "signature_delta", "signature": _SIGNATURE}
            return [*({"type": "thinking_delta", "thinking": part} for part in parts), signed]
        case "tool_use":
            parts = chunks(json.dumps(block["input"]))
            return [{"type": "input_json_delta", "partial_json": part} for part in parts]
    return [{"type": "text_delta", "text": part} for part in chunks(text(block, "text"))]
