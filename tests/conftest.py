"""What all tests share: no deadlines, and a garbage collector that seldom looks at what stays."""

import gc

from hypothesis import settings

# How long a random case takes says nothing on a machine with other work.
settings.register_profile("planner", deadline=None)
settings.load_profile("planner")

# Clusters, plans and some thousand tests stay until the end, and reading a cluster thaws whatever was frozen:
# as often as usual, looking through all of it takes a seventh of the time.
gc.set_threshold(10_000, 20, 20)
