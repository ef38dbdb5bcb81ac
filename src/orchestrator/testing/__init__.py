"""Neighbours in memory, for tests and simulations: each keeps its port's promises and does as it is told."""

from orchestrator.testing.agent import ScriptedAgent, ScriptedProducer
from orchestrator.testing.clock import ManualClock, SequentialIds
from orchestrator.testing.forge import MemoryForge
from orchestrator.testing.gates import ScriptedGates, failing, passing
from orchestrator.testing.notifier import MemoryNotifier
from orchestrator.testing.tracker import MemoryTracker
from orchestrator.testing.workspace import MemoryWorkspace

__all__ = (
    "ManualClock",
    "MemoryForge",
    "MemoryNotifier",
    "MemoryTracker",
    "MemoryWorkspace",
    "ScriptedAgent",
    "ScriptedGates",
    "ScriptedProducer",
    "SequentialIds",
    "failing",
    "passing",
)
