"""What a command is about: sources, options, what-if changes, and completion."""
