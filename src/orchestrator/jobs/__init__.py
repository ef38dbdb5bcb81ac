"""Running jobs: the worker with its error boundary, and what follows a failure. Knows the queue as a port."""
