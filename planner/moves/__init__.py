"""What may move, and what a move does: the trial cluster, constraint counts, pins, the timeline."""
