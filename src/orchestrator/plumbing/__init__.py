"""Processes, git, HTTP, documents and logs: what every adapter stands on, and what knows no work item."""
