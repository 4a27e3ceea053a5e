"""The fewest moves that repair the spread, in an order that holds at every step: behind `rebalance`."""
