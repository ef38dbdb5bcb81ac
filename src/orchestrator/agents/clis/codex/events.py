"""What people read of a run of ``codex``."""

from collections.abc import Sequence

from orchestrator.agents.clis.codex.stream import usage_of
from orchestrator.agents.clis.lines import Document, document, part, parts, text
from orchestrator.agents.clis.telling import told
from orchestrator.ports.agent import LogEvent, LogKind


class CodexTranscript:
    """Reads a log, one line after the other."""

    def __call__(self, line: str) -> Sequence[LogEvent]:
        """What the next line tells a person."""
        event = document(line)
        if event is None or not text(event, "type"):
            return told(LogKind.TEXT, line)
        match text(event, "type"):
            case "item.started":
                return _begun(part(event, "item"))
            case "item.completed":
                return _done(part(event, "item"))
            case "turn.completed":
                return told(LogKind.COST, f"{usage_of(part(event, 'usage')).tokens} tokens")
            case "turn.failed":
                return told(LogKind.ERROR, text(part(event, "error"), "message") or "the turn failed")
            case "error":
                return told(LogKind.NOTE, text(event, "message"))
        return ()


def _begun(item: Document) -> Sequence[LogEvent]:
    match text(item, "type"):
        case "command_execution":
            return told(LogKind.COMMAND, text(item, "command"))
        case "mcp_tool_call":
            return told(LogKind.TOOL, f"{text(item, 'server')} {text(item, 'tool')}")
        case "web_search":
            return told(LogKind.TOOL, f"web search {text(item, 'query')}")
    return ()


def _done(item: Document) -> Sequence[LogEvent]:
    match text(item, "type"):
        case "agent_message":
            return told(LogKind.TEXT, text(item, "text"))
        case "command_execution":
            failed = item.get("exit_code") != 0
            output = text(item, "aggregated_output")
            if failed:
                return told(LogKind.ERROR, output or "the command failed")
            return told(LogKind.OUTPUT, output)
        case "file_change":
            return [one for change in parts(item, "changes") for one in _change(change)]
        case "error":
            return told(LogKind.NOTE, text(item, "message"))
    return ()


def _change(change: Document) -> Sequence[LogEvent]:
    return told(LogKind.EDIT, f"{text(change, 'path')} ({text(change, 'kind') or 'changed'})")
