"""The fewest moves that repair the spread, in an order that holds at every step.

`scope`: which pods are chosen; `search`: the fewest moves; `alternatives`: other moves where these have no
safe waves; `lower_bounds`: what no moves can do better; `report`: the document, and why something stays
broken.
"""

from planner.rebalance.plan import rebalance

__all__ = ["rebalance"]
