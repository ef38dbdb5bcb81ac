"""The local forge: bare repositories on this machine."""

from orchestrator.forges.local.adapter import LocalForge
from orchestrator.forges.local.hosting import Published
from orchestrator.forges.local.publishing import PublishingForge

__all__ = ["LocalForge", "Published", "PublishingForge"]
