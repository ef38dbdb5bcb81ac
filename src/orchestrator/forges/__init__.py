"""Forges: one package for each place where branches and pull requests live, and the item's worktrees."""
