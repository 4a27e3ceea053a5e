"""Who may be evicted and when: budgets, protections, and what brings a pod back."""
