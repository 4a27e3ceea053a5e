"""Which replicas go when a workload shrinks, and how to make its controller take them."""
