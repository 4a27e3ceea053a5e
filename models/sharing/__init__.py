"""A cluster that can be sent round: only what the planner reads of it, and under other names if asked."""
