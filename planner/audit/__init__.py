"""A placement in figures: how it is spread, how full the nodes are, how far ties matter."""
