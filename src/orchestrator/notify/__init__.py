"""Alerts: to the log, and to whatever Apprise can reach."""
