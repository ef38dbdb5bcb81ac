"""What people read of a run of ``claude``."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Final

from orchestrator.agents.clis.claude.results import SYNTHETIC, result_in
from orchestrator.agents.clis.lines import Document, count, document, part, parts, text
from orchestrator.agents.clis.telling import cost, edit, told
from orchestrator.ports.agent import LogEvent, LogKind

_QUIET_TOOLS: Final = frozenset({"Edit", "Glob", "Grep", "Read", "Write"})
"""Tools whose results tell nothing that the call did not, unless they are errors."""
_SUBJECTS: Final = ("file_path", "pattern", "path", "url", "query", "description", "prompt")


class ClaudeTranscript:
    """Reads a log from its first line on: a result is shown as what its call was."""

    def __init__(self) -> None:
        """Nothing was read."""
        self._cwd = ""
        self._calls: dict[str, str] = {}

    def __call__(self, line: str) -> Sequence[LogEvent]:
        """What the next line tells a person."""
        event = document(line)
        if event is None or not text(event, "type"):
            return told(LogKind.TEXT, line)
        match text(event, "type"):
            case "system":
                return self._system(event)
            case "assistant":
                return self._answered(event)
            case "user":
                return [one for block in _blocks(event) for one in self._returned(block)]
            case "rate_limit_event":
                return _limit(part(event, "rate_limit_info"))
            case "result":
                return _result(event)
        return ()

    def _system(self, event: Document) -> Sequence[LogEvent]:
        match text(event, "subtype"):
            case "init":
                self._cwd = text(event, "cwd")
                version, model = text(event, "claude_code_version"), text(event, "model")
                return told(LogKind.NOTE, f"claude {version} begins with {model}")
            case "api_retry":
                return told(LogKind.NOTE, _retry(event))
            case "model_fallback" | "informational":
                return told(LogKind.NOTE, text(event, "content") or _switch(event))
        return ()

    def _answered(self, event: Document) -> Sequence[LogEvent]:
        """What the model said; an answer that the CLI wrote itself is its error, and told as such later."""
        if text(part(event, "message"), "model") == SYNTHETIC:
            return ()
        return [one for block in _blocks(event) for one in self._said(block)]

    def _said(self, block: Document) -> Sequence[LogEvent]:
        match text(block, "type"):
            case "text":
                return told(LogKind.TEXT, text(block, "text"))
            case "tool_use":
                name = text(block, "name")
                self._calls[text(block, "id")] = name
                return self._called(name, part(block, "input"))
        return ()

    def _called(self, tool: str, given: Document) -> Sequence[LogEvent]:
        path = self._short(text(given, "file_path"))
        match tool:
            case "Edit":
                return edit(path, text(given, "old_string"), text(given, "new_string"))
            case "Write":
                return edit(path, "", text(given, "content"))
            case "Bash":
                return told(LogKind.COMMAND, text(given, "command"))
        subject = next((text(given, name) for name in _SUBJECTS if text(given, name)), "")
        return told(LogKind.TOOL, f"{tool} {self._short(subject)}")

    def _returned(self, block: Document) -> Sequence[LogEvent]:
        if text(block, "type") != "tool_result":
            return ()
        tool = self._calls.pop(text(block, "tool_use_id"), "")
        if block.get("is_error") is True:
            return told(LogKind.ERROR, _content(block) or f"{tool} failed")
        return () if tool in _QUIET_TOOLS else told(LogKind.OUTPUT, _content(block))

    def _short(self, path: str) -> str:
        """A path below the workspace as it is called there."""
        if self._cwd and path.startswith("/") and PurePath(path).is_relative_to(self._cwd):
            return str(PurePath(path).relative_to(self._cwd))
        return path


def _blocks(event: Document) -> Sequence[Document]:
    return parts(part(event, "message"), "content")


def _content(block: Document) -> str:
    """The text of a result: it comes as a text or as a list of blocks."""
    return text(block, "content") or "\n".join(text(one, "text") for one in parts(block, "content"))


def _retry(event: Document) -> str:
    status, error = count(event, "error_status"), text(event, "error")
    what = f"the model's API answers {status} ({error})" if status else "the model's API does not answer"
    seconds = count(event, "retry_delay_ms") / 1000
    return f"{what}: retry {count(event, 'attempt')} of {count(event, 'max_retries')} in {seconds:.1f} s"


def _switch(event: Document) -> str:
    original, fallback = text(event, "original_model"), text(event, "fallback_model")
    return f"switched from {original} to {fallback}" if fallback else ""


def _limit(info: Document) -> Sequence[LogEvent]:
    if text(info, "status") != "rejected":
        return ()
    name = text(info, "rateLimitType").replace("_", " ") or "usage"
    seconds = count(info, "resetsAt")
    # Seconds beyond the year 9999 are no instant.
    ends = (
        f", it ends at {datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
        if 0 < seconds < 2e11
        else ""
    )
    return told(LogKind.ERROR, f"the {name} limit is reached{ends}")


def _result(event: Document) -> Sequence[LogEvent]:
    result = result_in(event)
    used = result.added if result.added is not None else result.whole
    spent = cost(used, count(event, "num_turns"))
    if not result.is_error:
        return spent
    return [*told(LogKind.ERROR, result.said or result.subtype or "it ended in an error"), *spent]
