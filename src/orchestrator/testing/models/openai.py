"""The Responses API of OpenAI, as far as the CLI ``codex`` uses it."""

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import ClassVar, Final, TypeAlias

from starlette.routing import Route

from orchestrator.testing.models.api import Arrival, ModelApi, chunks, new_id
from orchestrator.testing.models.delivery import Piece
from orchestrator.testing.models.documents import mappings, text, texts
from orchestrator.testing.models.scripts import (
    HttpError,
    ModelRequest,
    StreamError,
    TokenUsage,
    ToolCall,
    Turn,
)

ERROR_TYPES: Final[Mapping[int, tuple[str, str]]] = {
    400: ("invalid_request_error", "invalid_value"),
    401: ("invalid_request_error", "invalid_api_key"),
    403: ("invalid_request_error", "permission_denied"),
    404: ("invalid_request_error", "not_found"),
    429: ("requests", "rate_limit_exceeded"),
}
"""Type and code that the API gives an error of an HTTP status; any other is a ``server_error``."""

_CWD = re.compile(r"<cwd>\s*(.*?)\s*</cwd>", re.DOTALL)
_ELEMENT = re.compile(r"\s*<(\w+)[^>]*>.*</\1>\s*", re.DOTALL)
_INSTRUCTIONS = "# AGENTS.md instructions"
_ANSWERS = frozenset({"custom_tool_call", "function_call", "local_shell_call", "reasoning"})
_RESULTS = frozenset({"custom_tool_call_output", "function_call_output", "local_shell_call_output"})

_Fields: TypeAlias = dict[str, object]


class ResponsesApi(ModelApi):
    """``POST /v1/responses``, streamed or not."""

    content: ClassVar = frozenset(
        {
            "response.custom_tool_call_input.delta",
            "response.function_call_arguments.delta",
            "response.output_text.delta",
        }
    )
    closing: ClassVar = frozenset({"response.completed", "response.incomplete", "response.output_item.done"})

    def routes(self) -> list[Route]:
        """The address that the API has, after whatever stands before ``/v1``."""
        return [Route("/{before:path}v1/responses", self.answer, methods=["POST"])]

    def parsed(self, arrival: Arrival) -> ModelRequest:
        """What the CLI asks; context that it adds in the user's name opens no task."""
        items = mappings(arrival.body.get("input"))
        start = max((at for at, one in enumerate(items) if _asked(one)), default=0)
        system = "\n".join(
            [
                *texts(arrival.body.get("instructions")),
                *(said for one in items if _is_system(one) for said in texts(one.get("content"))),
            ]
        )
        conversation = tuple(said for one in items for said in _all_texts(one))
        places = _CWD.findall("\n".join(conversation))
        results = [said for one in items[start:] for said in _results(one)]
        return ModelRequest(
            path=arrival.path,
            headers=arrival.headers,
            model=arrival.model,
            stream=arrival.streams,
            turn=_answers(items[start:]),
            system=system,
            task="\n".join(_asked(items[start])) if items else "",
            texts=conversation,
            cwd=places[-1] if places else ".",
            last=results[-1] if results else "",
            tools=tuple(_tool_name(tool) for tool in mappings(arrival.body.get("tools"))),
        )

    def events(self, request: ModelRequest, turn: Turn) -> Iterator[Piece]:
        """The answer as a stream; only its last event tells the usage."""
        answer, number = _response(request, turn), itertools.count()
        begun = {**answer, "status": "in_progress", "output": [], "usage": None}
        yield _event("response.created", next(number), response=begun)
        for index, item in enumerate(mappings(answer["output"])):
            for name, fields in _item_events(item):
                yield _event(name, next(number), output_index=index, **fields)
        last = _event(f"response.{answer['status']}", next(number), response=answer)
        yield replace(last, usage=_told(turn.usage))

    def whole(self, request: ModelRequest, turn: Turn) -> Piece:
        """The answer in one document."""
        return Piece(_response(request, turn), usage=_told(turn.usage))

    def failure(self, error: StreamError) -> Piece:
        """The event that tells an error in mid-stream."""
        told = {"code": error.type, "message": error.message}
        response = {"id": new_id("resp"), "object": "response", "status": "failed", "error": told}
        return Piece({"type": "response.failed", "response": response}, "response.failed")

    def refusal(self, error: HttpError) -> dict[str, object]:
        """The body of an HTTP error."""
        kind, code = ERROR_TYPES.get(error.status, ("server_error", "server_error"))
        told = {"type": error.type or kind, "code": error.type or code, "param": None}
        return {"error": {**told, "message": error.message or code.replace("_", " "), **error.details}}


def _asked(item: Mapping[str, object]) -> list[str]:
    """The texts by which a user opens a task: no context that the CLI writes in the user's name."""
    if item.get("role") != "user":
        return []
    said = (one.strip() for one in texts(item.get("content")))
    return [one for one in said if one and not _ELEMENT.fullmatch(one) and not one.startswith(_INSTRUCTIONS)]


def _is_system(item: Mapping[str, object]) -> bool:
    return item.get("role") in {"developer", "system"}


def _results(item: Mapping[str, object]) -> Iterator[str]:
    if item.get("type") in _RESULTS:
        yield "".join(texts(item.get("output")))


def _all_texts(item: Mapping[str, object]) -> list[str]:
    return [*texts(item.get("content")), *_results(item)]


def _answers(items: list[dict[str, object]]) -> int:
    """How many answers of the model there are: one may have come as several items in a row."""
    ours = [one.get("type") in _ANSWERS or one.get("role") == "assistant" for one in items]
    return sum(now and not before for before, now in itertools.pairwise([False, *ours]))


def _tool_name(tool: Mapping[str, object]) -> str:
    return text(tool, "name") or text(tool, "type")


def _event(name: str, number: int, /, **fields: object) -> Piece:
    return Piece({"type": name, "sequence_number": number, **fields}, name)


def _told(usage: TokenUsage) -> TokenUsage:
    """What the figures of this API say: it has none for tokens that were written to the cache."""
    return TokenUsage(usage.input + usage.cache_creation, usage.output, usage.cache_read)


def _response(request: ModelRequest, turn: Turn) -> _Fields:
    is_cut_short = turn.stop == "max_tokens"
    return {
        "id": new_id("resp"),
        "object": "response",
        "status": "incomplete" if is_cut_short else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if is_cut_short else None,
        "model": request.model,
        "output": _items(turn),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": _figures(_told(turn.usage)),
    }


def _figures(usage: TokenUsage) -> _Fields:
    return {
        "input_tokens": usage.input + usage.cache_read,
        "input_tokens_details": {"cached_tokens": usage.cache_read},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.total,
    }


def _items(turn: Turn) -> list[_Fields]:
    items: list[_Fields] = []
    if turn.thinking:
        summary = [{"type": "summary_text", "text": turn.thinking}]
        items.append({"type": "reasoning", "id": new_id("rs"), "summary": summary})
    if turn.text:
        said = {"type": "output_text", "text": turn.text, "annotations": []}
        message = {"type": "message", "id": new_id("msg"), "role": "assistant", "status": "completed"}
        items.append({**message, "content": [said]})
    return items + [_call(tool) for tool in turn.tools]


def _call(tool: ToolCall) -> _Fields:
    call: _Fields = {"call_id": new_id("call"), "name": tool.name, "status": "completed"}
    if isinstance(tool.input, str):
        return {"type": "custom_tool_call", "id": new_id("ctc"), **call, "input": tool.input}
    return {"type": "function_call", "id": new_id("fc"), **call, "arguments": json.dumps(tool.input)}


def _item_events(item: _Fields) -> Iterator[tuple[str, _Fields]]:
    """The events by which one item comes into being, without what numbers them."""
    empty: _Fields = {"content": [], "summary": [], "arguments": "", "input": ""}
    begun = {name: empty.get(name, value) for name, value in item.items()}
    yield "response.output_item.added", {"item": {**begun, "status": "in_progress"}}
    match item["type"]:
        case "message":
            said = "".join(texts(item["content"]))
            yield from _pieces("response.output_text", item, said, {"content_index": 0})
        case "function_call":
            yield from _pieces("response.function_call_arguments", item, text(item, "arguments"), {})
        case "custom_tool_call":
            yield from _pieces("response.custom_tool_call_input", item, text(item, "input"), {})
    yield "response.output_item.done", {"item": item}


def _pieces(name: str, item: _Fields, said: str, place: _Fields) -> Iterator[tuple[str, _Fields]]:
    for part in chunks(said):
        yield f"{name}.delta", {"item_id": item["id"], **place, "delta": part}
