"""The fewest moves that repair the spread, in an order that holds at every step.

movable, target, waves, landings: which pods may go; how few of them have to, and where to; which of
them may be under way together; and which replacements the scheduler puts there by itself.
"""

from planner.rebalance.plan import rebalance

__all__ = ["rebalance"]
