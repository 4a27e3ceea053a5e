"""The fewest moves that repair the spread, in an order that holds at every step.

choice, movable, search, waves, landings, why_not: whom it is about; which pods may go; how few of them
have to, and where to; which of them may be under way together; which replacements the scheduler puts
there by itself; and why something stays broken.
"""

from planner.rebalance.plan import rebalance

__all__ = ["rebalance"]
