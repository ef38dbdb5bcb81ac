"""What the person decides: settings, projects, contracts; the only readers of environment and files."""
