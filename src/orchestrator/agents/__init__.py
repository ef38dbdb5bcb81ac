"""Agents: the one door to coding-agent CLIs, the kinds of CLI, and what each role is told."""
