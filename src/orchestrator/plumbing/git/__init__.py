"""Git through its command line: a hardened process for each question, every failure one of four errors."""

from orchestrator.plumbing.git.commands import Author, Git, GitResult

__all__ = ["Author", "Git", "GitResult"]
