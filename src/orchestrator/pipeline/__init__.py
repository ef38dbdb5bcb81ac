"""The rules of the pipeline: standard library only, no I/O, no clock."""
