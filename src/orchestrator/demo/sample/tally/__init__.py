"""A service that keeps points and adds them up."""
