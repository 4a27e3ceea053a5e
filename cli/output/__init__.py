"""What a command prints: tables, views, reports, scripts, notes and exit codes."""
