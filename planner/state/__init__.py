"""Who is where, counted per node and per domain: the only thing that changes, with an undo."""
