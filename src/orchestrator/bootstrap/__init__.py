"""The composition root: the only package that names concrete classes for production."""

from orchestrator.bootstrap.app import App
from orchestrator.bootstrap.opening import open_app
from orchestrator.bootstrap.projects import ProjectAdded

__all__ = ["App", "ProjectAdded", "open_app"]
