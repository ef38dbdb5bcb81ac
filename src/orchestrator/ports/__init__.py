"""Every neighbour as a Protocol; what the engine needs is handed to it by ``bootstrap``."""
