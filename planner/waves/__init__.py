"""Moves in waves: what may be under way together, in which order, and the replay of a whole plan.

`wave_planner` plans, and plans again with what failed put first; it has the loop that fills waves and the
table of the orders in which it takes moves.  `candidates` says which moves hold, how many may be away and
which room is kept.  `replay` plays a plan as an adversary and shares nothing with the above.
"""
