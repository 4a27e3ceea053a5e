"""The fewest moves that repair the spread, in an order that holds at every step.

`scope`: which pods are chosen; `search`: the fewest moves, and what no moves can do better; `alternatives`:
other moves where these have no safe waves; `document`, `notes`, `why_not`: what is printed.
"""
