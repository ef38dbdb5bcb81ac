"""The settings by concern; `config.settings` joins them under flat names."""
