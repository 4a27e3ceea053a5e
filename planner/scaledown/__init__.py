"""A scale-down in numbers: the replicas to choose from, and how to make a controller take them."""
