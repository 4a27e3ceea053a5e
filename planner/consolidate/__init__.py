"""Which nodes can go: the cheapest set of nodes that holds every pod, and the evictions that lead there."""
