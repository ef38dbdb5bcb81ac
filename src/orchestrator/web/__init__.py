"""The HTTP API and the dashboard: what people and scripts see, and the buttons that they press."""
