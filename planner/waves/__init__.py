"""Moves in waves: what may be under way together, in which order, and the replay of a whole plan."""
