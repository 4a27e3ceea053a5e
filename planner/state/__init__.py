"""Where the pods are, counted per node and per domain: the only thing that changes, with an undo."""
