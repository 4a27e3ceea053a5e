"""Placing the pending pods of a snapshot together: the search behind `solve`."""
