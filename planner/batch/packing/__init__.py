"""Pods packed by what they request: local search, patterns of full nodes, and places within a cell."""
