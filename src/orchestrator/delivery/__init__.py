"""Bringing tested code to people: contract commands, merge, deploy, watch and rollback."""
