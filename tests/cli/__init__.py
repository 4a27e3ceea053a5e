"""The command line, in one process and as a reader would run it."""
