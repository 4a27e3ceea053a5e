"""Numbers of effort for plans of moves: their search, their waves, and what would help where some fail."""

from __future__ import annotations

# Moves that repair the spread

#: Up to so many movable pods on so many nodes all moves may be tried out.
EXHAUSTED_PODS, EXHAUSTED_NODES = 16, 8
#: Work for every placement that is judged for the first time, and for each number in it.
PRICE_OF_PLACEMENT, PRICE_OF_COUNT = 1e-4, 1e-6
#: The first preview of all placements of a tiny cluster, quicker than loading the solver: 89 take 2.2 s
#: with it, 3.2 s without; and of those of a larger one, where it detects that no pod has room to move.
TINY_PREVIEW_WORK, SMALL_PREVIEW_WORK = 0.3, 0.05
#: Up to so many pairs of a template and a site a region is solved as a whole.
REGION_VARIABLES = 20_000
#: Every stage of a relaxation, and of a model with all nodes; most are proved in a hundredth of it.
RELAXED_REGION_WORK, EXACT_REGION_WORK = 5.0, 20.0
#: How many orders of a model's moves are tried, each starting with those that could not be scheduled before.
SEQUENCES_OF_MOVES = 8
#: So many pods of a domain are tried before it is given up: those after them are seldom different.
PODS_OF_A_DOMAIN = 8
#: So many gaps are tried for a pod, and so many nodes that ejections can open.
CHAIN_GAPS, CHAIN_OPENED = 4, 3
#: How many pods of a domain are tried with chains: each asks for every node.
CHAIN_PODS = 2
#: An exchange of replicas is quick or no good; so many of each workload are tried for one gap.
EXCHANGE_WORK, EXCHANGE_PODS = 3.0, 4

# What would help

#: So many constraints that stay broken are explained; changes are tried on clusters of up to so many pods
#: times nodes, each with the work of so many seconds, whatever the limit is.
BROKEN_EXPLAINED, TRIED_PLACES, REMEDY_SECONDS = 5, 20_000, 2.0

# Waves of moves

#: The part of the limit for the search of moves; the rest is for planning waves and simulating them.
SEARCH_SHARE = 0.8
#: So many moves of a wave may change the same counts: all their interleavings are looked at.
COUPLED_IN_A_WAVE = 3
#: How often waves are planned again, with the moves first that were left over or pinned: each time fewer are.
FAILED_FIRST = 4
#: Up to so many moves times nodes that is done again and again, and other moves are looked for where pins, or
#: unmet soft goals, are left; beyond, planning takes seconds: again only for moves that are left over.
PLANNED_ONCE = 30_000
#: Beyond PLANNED_ONCE, room is scarce if so large a part of the moves have few nodes to come to: those on
#: which their pods may run and have room are no more than such a part.
SCARCE_MOVES, SCARCE_ROOM = 0.5, 0.3
#: Then so many landings are judged for each move whatever the time; more within the limit.
SCARCE_JUDGED = 4
#: So many of them are tried together: of more than that too many stand in each other's way.
SCARCE_TOGETHER = 6
#: How many possible counts are kept apart then: nearly every replacement may land on several nodes.
SCARCE_HISTOGRAMS_KEPT = 4096
#: Up to so many moves times nodes, moves that cannot share a wave are planned one after the other whatever
#: the time; beyond, within the limit and with pins: without them many are judged for each that can move.
ONE_MOVE_A_WAVE_MOST = 20_000
#: So many of these that need a pin are looked at before one of them goes: the next may need none.
PINNED_LAST = 8
#: Where an --evict-only plan leaves something broken that moves repair, another begins with so many single
#: evictions for each constraint.
SINGLE_EVICTIONS = 6
#: So many such sequences are kept at a time, with so many ends each as ties may break, and so many ends
#: are tried.
SINGLE_EVICTIONS_KEPT, SINGLE_EVICTIONS_ENDS, SINGLE_EVICTIONS_TRIED = 30, 12, 4_000
#: So many moves times nodes are judged by scores as well; beyond that by filters, and with pins: that takes
#: a tenth of the time.
SCORED = 6_000_000
#: Up to so many moves times nodes, so many random runs of a plan are simulated: a plan that does not hold
#: fails in a good part of them.
DRAWS_PLAYED = ((20_000, 24), (200_000, 6), (1 << 62, 1))
#: So many counts that may have come about are kept apart, and so many ways that ties may have been broken.
HISTOGRAMS_KEPT, SCENARIOS_KEPT = 256, 96
#: Up to so many are remembered by the pods on all nodes, 40 KB each on 5,000.
HISTOGRAMS_SEEN = 8
#: Up to so many domains are few.
FEW_DOMAINS = 8
#: So many nodes are cordoned for a replacement at most.
MOST_CORDONED = 3
#: For so many replacements a note names the nodes that would be cordoned.
CORDONS_TOLD = 3
#: A pin names at most this many nodes: a longer list is not readable.
PIN_NAMES = 100
#: Up to so many nodes where a replacement may land are named rather than described by a label that others
#: share, such as the operating system.
FEW_NAMES = 10
#: On so many nodes it is tried out whether a replacement could preempt there; on more it is taken to.
PREEMPTION_TRIALS = 64
#: In this share of the draws with which a plan is replayed pods end as late as they can: what they hold is
#: in the way for longest.
LATE_ENDS = 1 / 3
