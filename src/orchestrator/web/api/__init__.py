"""The HTTP API: the installation at a glance, items, what may be done with them, and the ledgers."""
