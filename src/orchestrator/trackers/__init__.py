"""Trackers: one package for each place where people file work items."""
