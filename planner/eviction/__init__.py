"""Which pods may be evicted and when: budgets, protections, and what controllers do afterwards."""
