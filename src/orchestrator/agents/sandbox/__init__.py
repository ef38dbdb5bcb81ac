"""Locks the run of an agent in (``sandbox: bubblewrap``); the means are those of `plumbing.bubblewrap`."""

from orchestrator.agents.sandbox.confinement import confine
from orchestrator.plumbing.bubblewrap import Availability, available

__all__ = ["Availability", "available", "confine"]
