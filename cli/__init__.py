"""The command line: `planner`, and as a plugin `kubectl planner`."""
