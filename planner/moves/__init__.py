"""What may move, and what a move does: movable pods, the trial cluster, constraint counts, the timeline."""
