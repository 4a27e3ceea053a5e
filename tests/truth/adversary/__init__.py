"""An adversary that plays plans of moves: whatever order, tie and lingering a cluster may choose.

It shares nothing with the replay that the planner itself does before it prints a plan: filters, scores and
preemption are those of the reference scheduler, which is held against recordings of the real one; what hard
constraints have too much is counted by the exhaustive search of this folder's neighbours.
"""
