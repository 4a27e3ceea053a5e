"""What all tests share: a garbage collector that seldom looks at what stays."""

import gc

# Clusters, plans and some thousand tests stay until the end, and reading a cluster thaws whatever was frozen:
# as often as usual, looking through all of it takes a seventh of the time.
gc.set_threshold(10_000, 20, 20)
