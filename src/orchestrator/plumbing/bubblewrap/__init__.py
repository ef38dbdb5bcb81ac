"""Locks a command in with bubblewrap: what it may see, how it is started, and how one address stays in reach.

`launcher.py` runs outside and becomes bubblewrap, `start.py` runs inside and becomes the command, `bridge.py`
runs outside for as long as the command lives, when it has no network but one address.
"""

from orchestrator.plumbing.bubblewrap.availability import Availability, available
from orchestrator.plumbing.bubblewrap.cells import Bridge, BridgeKind, Cell, Mount

__all__ = ["Availability", "Bridge", "BridgeKind", "Cell", "Mount", "available"]
