"""The fewest moves that repair the spread, in an order that holds at every step.

`search`: the fewest moves, and what no moves can do better; `alternatives`: other moves where these have no
safe waves; `document`, `notes`: what is printed.
"""
