"""Numbers of effort for `consolidate`: the choice of nodes, and the waves that empty them."""

from __future__ import annotations

#: The part of the work for the search of nodes; the clock leaves the rest for planning waves.
CONSOLIDATION_SHARE = 0.5
#: Dual feasible functions up to this number strengthen what a kind of node can hold.
DUAL_FUNCTIONS = 6
#: The part of the search for the bound over kinds of nodes; it is nearly always near its end by then.
BOUND_OF_COST_SHARE = 0.15
#: Of more pairs of a template and a kind than these CP-SAT finds no solution: the bound is that of the linear
#: relaxation.  Up to so many SCIP finds quotas of the kinds near it, at so much work for each variable.
LINEAR_BOUND, QUOTAS_AT_MOST, PRICE_OF_QUOTAS = 1_500, 20_000, 8e-4
#: Quotas fill so many hundredths of what is free, the next of these where that is not enough: pods come in
#: pieces.  With 100 so many have no place in their kind that nodes open for them: on the two given clusters
#: of 500 nodes the layouts cost 394.4, with 98 they cost 387.7.  In the largest clusters the first is left
#: out: where no pods hold nodes, 98 costs 1 % more than 100.
QUOTAS_FILL = (98, 100)
#: How strongly pods that come to a kind of nodes avoid the resource that its nodes have least of.
EVENNESS = 8.0
#: So large a part of the cost is given up for fewer moves when quotas are made.
COST_TO_SPARE = 0.003
#: Pods stay on a node of a kind up to this part of what its share of the kind's quotas comes to; in the
#: largest clusters only the first is tried.
PARTS_THAT_STAY = (0.65, 0.8, 0.5)
#: Up to so many pairs of a template and a node the model has all nodes at once.
KEPT_AT_ONCE = 700
#: Up to so many pairs nodes are taken away one after the other, in several ways; on more many at once,
#: and only where no quotas lead to at most so many times the bound.  Beyond the last number that comes first:
#: the bound may take all of the time.
REMOVALS_AT_MOST, NEAR_ENOUGH, BULK_FIRST = 1_000_000, 1.05, 10_000_000
#: That ends when so many times in a row fewer than this part of the nodes goes that were tried together.
BULKS_IN_VAIN, BULK_THAT_GOES = 8, 0.01
#: Up to so many pairs of a template and a kind there is a model for the bound of the cost.
BOUND_OF_COST_PAIRS = 200_000
#: Up to so many amounts, of nodes times resources times domains that may be lost, their cases are added up.
RESERVES_TOGETHER = 1_000_000
#: Nodes of the first region of a larger cluster, of the smallest one, and how the next one grows or shrinks.
KEPT_REGION_NODES, KEPT_LEAST_NODES, KEPT_REGION_GROWTH = 10, 6, 1.2
#: The work on a region, the part of it for the cost, and of an exact model that for fewer moves.
KEPT_REGION_WORK, KEPT_COST_SHARE, KEPT_MOVES_SHARE = 0.6, 0.6, 0.2
#: A region is to empty one of so many nodes that hold least for their price.
KEPT_TARGETS = 4
#: The waves that empty nodes are planned so often, each time with more nodes given back.
EMPTYING_ROUNDS = 4
#: Where replacements may land anywhere, so often at most, and while a larger share more may go than did.
OPEN_ROUNDS, OPEN_GAIN = 10, 0.02
#: The parts of the time limit after which nodes are no longer chosen, and no more waves are planned: what was
#: planned is then played through, which takes about as long as planning it.
CONSOLIDATION_SEARCH, CONSOLIDATION_WAVES = 0.65, 0.85
#: So many moves times nodes are planned even if the time is over: 50,000 moves on 5,000 nodes.
EMPTYING_LEAST = 250_000_000
#: A replacement that is led to a node is tried on so many of those that are open to it.
EMPTYING_TARGETS = 4
#: So many nodes are cordoned at most for a replacement while nodes are emptied: a script and a document with
#: thousands of names for each move are not carried out.
EMPTYING_CORDONED = 512
#: Where replacements may land anywhere, and so many nodes in succession find too little room for theirs, the
#: others stay: those are looked at again where fewer nodes are to go, so that there is more room.
EMPTYING_CROWDED = 256
#: Up to so many counts of a constraint are followed then.
OPEN_COUNTS = 256
#: And up to so many ways that several moves may take to them; so many answers are kept.
OPEN_WAYS, OPEN_WAYS_KEPT = 4_096, 4_096
#: Nodes are taken away afresh so often while some of them are not emptied.
EMPTYING_REPAIRS = 3
#: Machines of a catalogue that the relaxation chooses from, of all types together.
MOST_MACHINES = 4_000
#: Where no bound can be claimed: of each type so many, as a share of the nodes.
LIKELY_MACHINES_SHARE = 1 / 10
#: A search may add so many more machines of a type than the relaxation does, or for so large a share of the
#: nodes; of types that the relaxation does not add only where there are few types.
SPARE_MACHINES, SPARE_MACHINES_SHARE, FEW_MACHINE_TYPES = 2, 1 / 15, 30
#: So large a share of the regions is solved without new machines: they are quicker, and nodes go, too.
WITHOUT_MACHINES = 0.5
#: Pods of up to so many nodes are placed anew at once: all of one, and this part of the others'; the work
#: for that, and for each pod.  With all pods of all nodes five clusters of 120 nodes went from 210.5 to
#: 196.4, with a part of them to 195.2 in the same time: full nodes seldom hold everything again.
RECREATED_NODES, RECREATED_PART, PRICE_OF_RECREATION, PRICE_OF_PLACED = 6, 0.3, 2e-4, 5e-5
#: So many pods of a template are tried for a place that one of them had, and so many to leave it for that.
PODS_BROUGHT_BACK = 4
#: The part of the search for that.
RECREATION_SHARE = 0.4
#: Where quotas lead to a layout, pods are brought back if it has so many times the moves that are needed to
#: empty its nodes: a layout of 30 nodes has 125 in place of 148, where 108 are needed; of 600 it takes 14 s.
MANY_MOVES = 1.25
#: With --survive: the part of the search in which a lost domain's pods need room in sum and no more, and how
#: many thousandths of all room are to spare in the one after it, with half of the work that is left.  More
#: searches, with 100 and 250 to spare, took a sixth more time on 19 clusters and saved no node.
SURVIVAL_FIRST_SHARE, SURVIVAL_TO_SPARE = 0.5, 30
#: Up to so many domains that is tried with room for an equal share in each: of 60 nodes in three zones, with
#: volumes, 24 are kept, where 38 were.
SURVIVAL_SHARED = 8
#: The least work for giving nodes of one layout back to losses, and that for one pod and domain of a trial.
#: Without it, where half of the nodes were given back, 19 clusters of 12 to 60 nodes kept 365, and keep 332.
SURVIVAL_WORK, PRICE_OF_LOSS = 5.0, 4e-5
#: When the time is over only the first layout is tried if a trial of all domains is more work than this: on
#: 2,000 nodes in 20 zones each takes five seconds, and there were up to six more of them.
LOSS_TRIED_LATE = 0.5
#: What room is given back for grows so with every trial, and at once where no further one is made: of 425 of
#: 2,000 nodes that were to go 290 do, where 212 did.
SURVIVAL_GROWTH = 4
#: Points of a frontier, the part of the limit for the search of each, and how much of its own the first plan
#: has where they come after it.
FRONTIER_POINTS, FRONTIER_SHARE, CURVE_FIRST_SHARE = 6, 0.03, 0.6
