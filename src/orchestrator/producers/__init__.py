"""Producers: whatever does the work of a stage, agent or code; the table is put together by the bootstrap."""
