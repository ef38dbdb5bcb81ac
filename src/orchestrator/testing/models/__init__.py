"""Fake model servers: the APIs that coding-agent CLIs talk to, answered by a script instead of a model."""

from orchestrator.testing.models.ledger import Account, Rates, RecordedRequest
from orchestrator.testing.models.scripts import (
    HttpError,
    ModelRequest,
    Script,
    StreamError,
    TokenUsage,
    ToolCall,
    Turn,
    endless,
    fixed,
)
from orchestrator.testing.models.server import ModelEndpoint, ModelServer, ThreadedModelServer, model_server

__all__ = (
    "Account",
    "HttpError",
    "ModelEndpoint",
    "ModelRequest",
    "ModelServer",
    "Rates",
    "RecordedRequest",
    "Script",
    "StreamError",
    "ThreadedModelServer",
    "TokenUsage",
    "ToolCall",
    "Turn",
    "endless",
    "fixed",
    "model_server",
)
