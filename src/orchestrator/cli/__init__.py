"""The command line `orch`: one module for each group of commands."""
