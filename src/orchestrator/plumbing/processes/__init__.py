"""Commands that are limited in time, ended with their whole tree, and not lost when the orchestrator dies."""

from orchestrator.plumbing.processes.environment import clean_environment
from orchestrator.plumbing.processes.records import CommandSpec, ExitRecord, Usage
from orchestrator.plumbing.processes.runs import Processes, SupervisedRun, was_begun
from orchestrator.plumbing.processes.tail import follow, tail_text

__all__ = [
    "CommandSpec",
    "ExitRecord",
    "Processes",
    "SupervisedRun",
    "Usage",
    "clean_environment",
    "follow",
    "tail_text",
    "was_begun",
]
