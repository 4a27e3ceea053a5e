"""Every number that decides how long something is searched for, and where a search gives up.

Work is counted, not timed: a solve costs what the solver reports as its deterministic time, an iteration of
a search in Python its own price; one unit is about a second.  So the same snapshot gets the same
answer on a slow machine and on a fast one; the clock only cuts, and then the document says so.

Budgets are steps of fixed size, whatever `--time-limit` is.  What is still open when all steps are
done is asked on, as long as the limit's work lasts: the search at a limit is the beginning of the
search at a larger one.

An `Effort` is a value: an engine's entry point takes one, and passes it on, on the meter where there is one.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LimitEffort:
    """The limit of time of a batch."""

    #: Where none is asked for: so many seconds, and one for every so many pods where that is more.
    least_seconds: float = 30.0
    pods_a_second: int = 5_000
    #: The seconds that are kept for checking the plan: for every pod, and what part of the limit at most.
    check_per_pod: float = 0.0003
    most_check: float = 0.2


@dataclass(frozen=True, slots=True)
class OrderEffort:
    """Orders of binds."""

    #: How many orders of a placement are tried: where one is found, it is nearly always among the first.
    tried: int = 300
    #: Up to this many binds with moves, pods that fit at once are bound first; finding them is quadratic.
    put_in_order: int = 300


@dataclass(frozen=True, slots=True)
class ExactEffort:
    """The exact model of a batch."""

    #: Up to so many pairs of a template and a node, the exact model is quicker than cells of nodes.
    tiny_pairs: int = 2_000
    #: Up to so many pairs every template and node can have a variable of their own.
    small_pairs: int = 20_000
    #: Placements in so many phases are asked for where one had no order; most of those have two.  Of the 20
    #: batches in `tests/data/batch/batch.jsonl.gz` one is proved only by that, of 900 tiny ones none.
    #: Three phases gained nothing on any of them.
    phases: tuple[int, ...] = (1, 2)
    #: Up to so many pods times pairs every bind can be a phase of its own.
    one_by_one_triples: int = 8_000
    #: Pods placed are worth much work.
    pods_work: float = 20.0
    #: A softer stage gets little work, as its proof is seldom asked for.
    soft_work: float = 1.0
    #: Of binds that break something in the end, so many beginnings are looked at.
    prefixes: int = 32


@dataclass(frozen=True, slots=True)
class SequenceEffort:
    """Every sequence of a tiny batch."""

    #: Up to so many pods on so many nodes all sequences may be gone through.
    pods: int = 24
    nodes: int = 12
    #: And up to so many choices of evictions before them.
    eviction_choices: int = 20_000
    #: A batch of up to so many pods is begun with: nearly always that takes a moment, and all is known.
    at_once: int = 12
    #: The work on it then.
    at_once_work: float = 2.0
    #: Work for each position that is looked at.
    price_of_position: float = 1e-4


@dataclass(frozen=True, slots=True)
class CellEffort:
    """Large batches over cells of nodes."""

    #: Up to so many pairs of a template and a cell, nodes are told apart: such models take seconds.
    pairs: int = 40_000
    #: A trait tells cells apart when at least so many nodes share a value of it on average.
    least_alike: int = 4
    #: How full cells may become, one try after the other; what asks for fuller ones is not tried on emptier.
    fullness: tuple[float, ...] = (0.95, 0.96, 0.93, 0.97, 1.0)
    #: Without a model, prices are raised in so many rounds at most, in such steps, so that cells become so
    #: full, or nearly so; then so large a part of what is free in a cell is filled at once.
    level_rounds: int = 100
    level_step: float = 2.0
    level_fullness: tuple[float, float] = (0.95, 0.96)
    level_part: float = 0.01
    #: Quotas of cells are found quickly or not at all.
    quotas_work: float = 3.0
    #: From so many templates on quotas are found by mixed-integer programming first.  Of fewer, those that
    #: CP-SAT finds work out node by node a little better: 3 pods of 4,000 at 99 % of the room.
    linear_templates: int = 300
    #: Pods change places among so many nodes: among more, an iteration takes too long.
    repair_nodes: int = 48
    #: So many iterations for each pod left over: beyond that, what is found no longer pays.
    repair_turns: int = 80
    #: All repairs of one try together: something, and more for every pod.
    repair_work: float = 1.0
    #: All packing anew: something, and more for every pod.
    repack_work: float = 1.0
    #: The more for every pod.
    work_per_pod: float = 2e-4
    #: So many nodes are packed anew at once.
    repack_nodes: int = 12
    #: A cell is packed anew so often.
    repack_tries: int = 12
    #: Each time with so much work.
    repack_once_work: float = 0.2


@dataclass(frozen=True, slots=True)
class TabuEffort:
    """Tabu search of packings."""

    #: What a pod on its current node is worth, against an overload of one node's whole mean room.
    home: float = 0.002
    #: Tabu tenure: for this many iterations, and up to twice as many more, a pod does not come back.
    tenure: int = 5
    #: Shakes changes that are equally good, far below any real difference.
    noise: float = 1e-6
    #: Iterations to repair all pods at once: longer runs seldom end better than new ones.
    turns_at_once: int = 250
    #: Iterations to fit one more pod in, for the same reason.
    turns_for_one: int = 250


@dataclass(frozen=True, slots=True)
class PatternEffort:
    """Patterns of nodes that have to be full."""

    #: Amounts of two resources times kinds of pods, as bits: up to so many, the patterns of a node are looked
    #: for; that is 150 MB.
    bits: int = 1_200_000_000
    #: Beyond so many patterns of a node a cover by patterns is not decided.
    most: int = 6_000
    #: Nor beyond so many steps on the way to them.
    steps: int = 400_000
    #: Work for each of those bits.
    price_of_bit: float = 1.5e-10
    #: Work for each step.
    price_of_step: float = 2e-6
    #: Whether patterns cover the nodes is decided at once, or hardly at all.
    cover_work: float = 2.0


@dataclass(frozen=True, slots=True)
class FillingEffort:
    """Packings of nodes that are filled one after the other."""

    #: A node is filled so often from another start: more finds a little less waste, later.
    tries: int = 3
    #: Unless so small a share of it stays free before.
    enough: float = 0.001
    #: Pods that may come last to a node: more find a better fit so seldom that another try is worth more.
    pods: int = 220
    #: Sets of three of them that are looked at, for the same reason.
    triples: int = 100_000
    #: A set of three may leave so large a share of a resource free.
    window: float = 0.02
    #: The last three have room for so many mean pods.
    last: float = 3.4
    #: The largest pod comes first, give or take so much.
    anchor_shake: float = 0.02
    #: What stays free counts by its scarcity to this power.
    sharpness: int = 8
    #: Work for each set that is looked at.
    price_of_set: float = 3e-7
    #: Work for looking at all.
    price_of_fit: float = 5e-4
    #: So many nodes are left for pods that change places, one try after the other.
    loose: tuple[int, ...] = (8, 12, 6, 10)
    #: Which pods stay outside is shaken by so much of their size.
    shake: float = 0.15
    #: Iterations for the loose nodes.
    turns: int = 600


@dataclass(frozen=True, slots=True)
class EvictionEffort:
    """Moves of running pods."""

    #: Up to so many pairs of a pod and a node packings are tried; an iteration then takes some milliseconds.
    packed_places: int = 2_000_000
    #: Seeds for packing one pod after the other; fillings find more later.
    packing_seeds: int = 2
    #: The first question about a packing has so much work, and each one after it twice as much.
    question_work: float = 1.2
    #: That often; where rounds are cheap, a thousand of them may follow.
    rounds_doubled: int = 40
    #: A round of tries costs so much at least, so that rounds come to an end.
    price_of_round: float = 0.01
    #: So many rounds where packings cannot be tried, or where all sequences can be gone through afterwards.
    rounds_of_all: int = 3
    #: The plan without moves, where it may be better than what was found at first.
    unmoved_work: float = 2.0
    #: Up to so many pairs of a template and a cell a relaxation tells nodes apart.
    relaxed_pairs: int = 20_000
    #: A relaxation is quick or no good.
    relaxation_work: float = 1.0
    #: Few moves: a short solve first, so that nothing else is tried where that decides.
    glance_work: float = 0.1
    #: A longer one after packings and neighbourhoods gave a better start.
    moves_work: float = 0.4
    #: What staying on the current node is worth, one packing after the other.
    stay_weights: tuple[float, ...] = (0.002, 0.002, 0.005, 0.005, 0.01, 0.01, 0.02, 0.04)
    #: All packings with fewer moves together.
    stay_work: float = 2.0
    #: So many nodes are arranged anew.
    nearby_nodes: int = 5
    #: So many of them with a move.
    nearby_moving: int = 4
    #: So often.
    nearby_tries: int = 40
    #: Each time with so much work.
    nearby_once_work: float = 0.1
    #: All of it together.
    nearby_work: float = 2.0


@dataclass(frozen=True, slots=True)
class ScaleDownEffort:
    """Which replicas go."""

    #: The work on every stage; nearly all are proved in a hundredth of a second.
    stage_work: float = 10.0
    #: So often the controllers' own choice is drawn.
    draws: int = 40


@dataclass(frozen=True, slots=True)
class ExplainEffort:
    """Explanations."""

    #: Pods that keep evicting each other never come to rest.
    rounds_to_rest: int = 10
    #: So many fixes are enough for a reader.
    fixes_enough: int = 8
    #: So many of one kind.
    fixes_alike: int = 2
    #: So many are looked for, so that the last kinds of fixes are tried too.
    fixes_looked_for: int = 12
    #: With fewer fixes than this of one change, pairs are tried, and so on.
    fixes_wanted: int = 2
    #: So many nodes of a pattern: each is a trial of milliseconds.
    nodes_per_pattern: int = 3
    #: So many patterns, for the same reason.
    patterns: int = 24
    #: So many combinations of changes, for the same reason.
    combinations: int = 60
    #: With fixes at hand only so many kinds of a new node are tried.
    new_node_kinds: int = 4
    #: Without any, so many new nodes at once too.
    more_new_nodes: tuple[int, ...] = (2, 4, 8)
    #: On clusters up to this size every node of a pattern is tried before it is said that nothing helps.
    every_node_tried: int = 64
    #: More pods than this are not taken away for one.
    most_victims: int = 5
    #: For so many different pods of a lost domain a way out is looked for.
    losses_explained: int = 20
    #: From so many pods on two processes share the losses of domains, where there are two cores.
    pods_for_two: int = 2_000


@dataclass(frozen=True, slots=True)
class DrainEffort:
    """Drains."""

    #: So many other orders of nodes are tried where one does harm.
    orders: int = 12
    #: Up to so many moving pods times nodes: on larger clusters one order takes too long.
    orders_places: int = 20_000
    #: Changes that may free a node are tried out by draining again, while so many pods go in all.
    pods_of_fixes: int = 25_000
    #: Pods that keep evicting each other never come to rest: so many events for every pod that is to go or
    #: waits are several times what a drain takes.
    events_per_pod: int = 50
    #: And at least so many.
    least_events: int = 2_000


@dataclass(frozen=True, slots=True)
class RolloutEffort:
    """Rollouts."""

    #: Pods that keep evicting each other never come to rest: so many events for every pod of the workloads
    #: are several times what a rollout takes that comes to its end.
    events_per_pod: int = 100
    #: And at least so many.
    least_events: int = 10_000
    #: So many fixes are told.
    fixes_told: int = 3
    #: So many of those that `explain` finds are tried out in every draw.
    fixes_tried: int = 6


@dataclass(frozen=True, slots=True)
class Effort:
    """How far every engine goes; `dataclasses.replace` makes another one."""

    limit: LimitEffort = LimitEffort()
    orders: OrderEffort = OrderEffort()
    exact: ExactEffort = ExactEffort()
    sequences: SequenceEffort = SequenceEffort()
    cells: CellEffort = CellEffort()
    tabu: TabuEffort = TabuEffort()
    patterns: PatternEffort = PatternEffort()
    filling: FillingEffort = FillingEffort()
    evictions: EvictionEffort = EvictionEffort()
    scale_down: ScaleDownEffort = ScaleDownEffort()
    explain: ExplainEffort = ExplainEffort()
    drain: DrainEffort = DrainEffort()
    rollout: RolloutEffort = RolloutEffort()


#: What the commands take.
STANDARD = Effort()

# The engines below have their numbers as constants of this module.

# The meter

#: Of every second of `--time-limit`, so much work for questions that stay open; the rest of the second
#: is for what comes after them and for a machine that is slower than usual.
WORK_PER_SECOND = 0.65

#: One worker finds the same plan however many cores there are; a seed makes it the same each time.
SOLVER_WORKERS, SOLVER_SEED = 1, 1
#: Work for each variable and constraint of a model, which the solver does not count: making it, and
#: reading it in.
PRICE_OF_MODEL = 1e-5
#: So many nodes of SCIP's tree; the quotas of nearly all batches are found in the first. And the least time.
SCIP_NODES, LEAST_SECONDS = 50, 0.05
#: Work for each number that an iteration of a search looks at, and for the iteration itself.
PRICE_OF_NUMBER, PRICE_OF_TURN = 2.5e-8, 2.5e-4

# Moves that repair the spread

#: Up to so many movable pods on so many nodes all moves may be tried out.
EXHAUSTED_PODS, EXHAUSTED_NODES = 16, 8
#: Work for every placement that is judged for the first time, and for each number in it.
PRICE_OF_PLACEMENT, PRICE_OF_COUNT = 1e-4, 1e-6
#: The first preview of all placements of a tiny cluster, quicker than loading the solver; and of those of a
#: larger one, where it detects that no pod has room to move.
TINY_PREVIEW_WORK, SMALL_PREVIEW_WORK = 0.3, 0.05
#: Up to so many pairs of a template and a site a region is solved as a whole.
REGION_VARIABLES = 20_000
#: Every stage of a relaxation, and of a model with all nodes; most are proved in a hundredth of it.
RELAXED_REGION_WORK, EXACT_REGION_WORK = 5.0, 20.0
#: How many orders of a model's moves are tried, each starting with those that could not be scheduled before.
SEQUENCES_OF_MOVES = 8
#: So many pods of a domain are tried before it is given up: those after them are seldom different.
PODS_OF_A_DOMAIN = 8
#: So many gaps are tried for a pod, so many nodes that bystanders can open, and so many bystanders of each.
CHAIN_GAPS, CHAIN_OPENED, CHAIN_TOGETHER = 4, 20, 48
#: How many pods of a domain are tried with chains: each asks for every node.
CHAIN_PODS = 2
#: Gaps that differ by less than this part of a pod are equally tight.
CHAIN_TIGHT = 4
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
#: How often waves are planned, each time with more hints about moves that could not be scheduled safely.
WAVE_PLANS = 3
#: How often again with those moves first that could only be pinned: each time fewer are.
FAILED_FIRST = 4
#: Unless this share of all moves more cannot be scheduled safely then.
MORE_UNSCHEDULED = 0.1
#: Up to so many moves times nodes that is done again and again, and other moves are looked for where pins, or
#: unmet soft goals, are left; beyond, planning takes seconds: again only for moves that are left over.
PLANNED_ONCE = 30_000
#: Beyond PLANNED_ONCE, room is scarce if so large a part of the moves have few nodes to come to.
SCARCE_MOVES = 0.5
#: Then so many landings are judged for each move; where that is not enough, the order does not serve.
SCARCE_JUDGED = 4
#: How many where the node of every pod has to be known.
KNOWN_JUDGED = 24
#: So many of them are tried together: of more than that too many stand in each other's way.
SCARCE_TOGETHER = 6
#: How many possible counts are kept apart then: nearly every replacement may land on several nodes.
SCARCE_HISTOGRAMS_KEPT = 4096
#: Up to so many moves times nodes, moves that cannot share a wave are planned one after the other:
#: more waves than that would take too long to carry out.
ONE_MOVE_A_WAVE_MOST = 20_000
#: Where an --evict-only plan leaves something broken that moves repair, others begin with so many single
#: evictions for each constraint, so many times.
SINGLE_EVICTIONS, PLANS_WITH_EVICTIONS_FIRST = 6, 2
#: So many such sequences are kept at a time, with so many ends each as ties may break, and so many ends
#: are tried.
SINGLE_EVICTIONS_KEPT, SINGLE_EVICTIONS_ENDS, SINGLE_EVICTIONS_TRIED = 30, 12, 4_000
#: So many moves times nodes are judged by scores as well; beyond that by filters, and with pins: that takes
#: a tenth of the time.
SCORED = 6_000_000
#: Up to so many moves times nodes, so many random runs of a plan are simulated: a plan that does not hold
#: fails in a good part of them.
DRAWS_PLAYED = ((20_000, 24), (200_000, 6), (1 << 62, 1))
#: Where no more than this part of the nodes has room, every move avoids the room planned for others.
SCARCE_ROOM = 0.3
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
#: On so many nodes it is tried out whether a replacement could preempt there; on more it is taken to.
PREEMPTION_TRIALS = 64

# Consolidation

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
#: Up to so many pairs nodes are taken away in six ways, one after the other; on more many at once,
#: and only where no quotas lead to at most so many times the bound.  Beyond the last number that comes first:
#: the bound may take all of the time.
REMOVALS_AT_MOST, NEAR_ENOUGH, BULK_FIRST = 1_000_000, 1.05, 10_000_000
#: That ends when so many times in a row fewer than this part of the nodes goes that were tried together.
BULKS_IN_VAIN, BULK_THAT_GOES = 8, 0.01
#: Up to so many pairs of a template and a kind there is a model for the bound of the cost.
BOUND_OF_COST_PAIRS = 200_000
#: Nodes of the first region of a larger cluster, of the smallest one, and how the next one grows or shrinks.
KEPT_REGION_NODES, KEPT_LEAST_NODES, KEPT_REGION_GROWTH = 10, 6, 1.2
#: The work on a region, the part of it for the cost, and of an exact model that for fewer moves.
KEPT_REGION_WORK, KEPT_COST_SHARE, KEPT_MOVES_SHARE = 0.6, 0.6, 0.2
#: A region is to empty one of so many nodes that hold least for their price.
KEPT_TARGETS = 4
#: The waves that empty nodes are planned so often, each time with more nodes given back.
EMPTYING_ROUNDS = 4
#: The parts of the time limit after which nodes are no longer chosen, and no more waves are planned: what was
#: planned is then played through, which takes about as long as planning it.
CONSOLIDATION_SEARCH, CONSOLIDATION_WAVES = 0.65, 0.85
#: So many moves times nodes are planned even if the time is over: 50,000 moves on 5,000 nodes.
EMPTYING_LEAST = 250_000_000
#: A pinned replacement is tried first on so many of the nodes that are open to it.
EMPTYING_TARGETS = 4
#: So many nodes are cordoned at most for a replacement while nodes are emptied: a script and a document with
#: thousands of names for each move are not carried out.
EMPTYING_CORDONED = 512
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
#: With --survive: the part of the search in which a lost domain's pods need room in sum and no more, and how
#: many thousandths of all room are to spare in those after it; each has half of the work that is left.
SURVIVAL_FIRST_SHARE, SURVIVAL_TO_SPARE = 0.5, (30, 100, 250)
#: Points of a frontier, and the part of the limit for the search of each.
FRONTIER_POINTS, FRONTIER_SHARE = 6, 0.05

#: In this share of the draws with which a plan is replayed pods end as late as they can: what they hold is
#: in the way for longest.
LATE_ENDS = 1 / 3

# Comparison

#: The part of the limit after which no further draw of kube-scheduler or Descheduler begins.
DRAWS_SHARE = 0.5

# Capacity

#: Up to so many replicas are placed one by one; more are counted in bulk where the order cannot matter.
REPLICAS_ONE_BY_ONE = 50
#: On more nodes all are counted, as each that is placed is a look at all nodes: the number is the same, only
#: the line about the first that does not fit may count other nodes of a domain.
NODES_ONE_BY_ONE = 5_000
