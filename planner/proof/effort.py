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
    #: Up to so many pods times pairs every bind can be a phase of its own: of 49 batches of 13 to 28 pods
    #: one is proved only by that.
    one_by_one_triples: int = 8_000
    #: Pods placed are worth much work, after a preview.
    pods_work: float = 20.0
    preview_work: float = 1.0
    #: A softer stage gets little work, as its proof is seldom asked for.
    soft_work: float = 1.0
    #: Of binds that break something in the end, so many beginnings are looked at.
    prefixes: int = 32


@dataclass(frozen=True, slots=True)
class SequenceEffort:
    """Every sequence of a tiny batch."""

    #: Up to so many pods on so many nodes all sequences may be gone through.
    pods: int = 24
    nodes: int = 500
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
    fullness: tuple[float, ...] = (0.95, 0.97, 1.0)
    #: Without a model, prices are raised in so many rounds at most, in such steps, so that cells become so
    #: full, or nearly so; then so large a part of what is free in a cell is filled at once.
    level_rounds: int = 100
    level_step: float = 2.0
    level_fullness: tuple[float, float] = (0.95, 0.96)
    level_part: float = 0.01
    #: Quotas of cells are found quickly or not at all.
    quotas_work: float = 3.0
    #: Where these cannot hold all, as many pods as they hold are a start, the best of so full ones: of 10,000
    #: for 98 % of 1,000 nodes 9,953 have a node, of those that full cells hold 9,556.
    starts: tuple[float, ...] = (0.97, 0.95, 0.93)
    start_work: float = 0.3
    #: How full the nodes of a batch on few nodes may become, and the work on what is rounded.
    packed: tuple[float, ...] = (0.99, 0.98, 0.97, 0.96, 0.95, 0.93, 0.9)
    shape_work: float = 0.1
    #: From so many templates on quotas are found by mixed-integer programming first.  Of fewer, those that
    #: CP-SAT finds work out node by node a little better: 3 pods of 4,000 at 99 % of the room.
    linear_templates: int = 300


@dataclass(frozen=True, slots=True)
class NeighbourhoodEffort:
    """Large neighbourhood search of a batch."""

    #: A better spread is looked for up to so many pairs of a template and a node: on more, so few nodes at a
    #: time change next to nothing.
    pairs: int = 40_000
    #: So many nodes are arranged anew at once, one or the other number: of more a model takes too long.
    nodes: tuple[int, ...] = (3, 4, 6)
    #: For pods that have no place, two of so many nodes with the most room.
    roomiest: int = 8
    #: With pods of so many templates that have no place.
    templates: int = 8
    #: How often a better spread is looked for while pods have no place.
    for_spread: float = 0.5
    #: The work on a stage of one try.
    once_work: float = 0.03
    #: So many tries before an order is looked for, and more on many nodes.
    tries: int = 40
    #: What a pod without a place costs, in pods too many, one price after the other; and all tries together.
    prices: tuple[int, ...] = (1, 8, 64, 512)
    work: float = 4.0


@dataclass(frozen=True, slots=True)
class EjectionEffort:
    """Room for pods without a place."""

    #: All pods together, as on 5,000 nodes with 500 pods without a place; and before models are asked.
    work: float = 10.0
    first_work: float = 1.0
    #: So many times one after the other, pods that leave have others leave where they come to.
    depth: int = 2
    #: Of the nodes with the most room so many are looked at.
    nodes: int = 500
    #: So many nodes are tried that one pod would leave, and that several would; of these at most so many.
    openings: int = 10
    together: int = 3


@dataclass(frozen=True, slots=True)
class TabuEffort:
    """Tabu search of packings."""

    #: What a pod on its current node is worth, against an overload of one node's whole mean room.
    stay: float = 0.002
    #: Tabu tenure: for this many iterations, and up to twice as many more, a pod does not come back.
    tenure: int = 5
    #: Shakes changes that are equally good, far below any real difference.
    noise: float = 1e-6
    #: Iterations to repair all pods at once, or to fit one more in: longer runs seldom end better
    #: than new ones.
    iterations: int = 250


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
    iterations: int = 600


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
    preview_work: float = 0.1
    #: A longer one after packings and neighbourhoods gave a better start.
    moves_work: float = 0.4
    #: What staying on the current node is worth, one packing after the other.
    stay_weights: tuple[float, ...] = (0.002, 0.002, 0.005, 0.005, 0.01, 0.01, 0.02, 0.04)
    #: All packings with fewer moves together, and all that is done a few nodes at a time.
    stay_work: float = 2.0
    nearby_work: float = 0.5


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
    #: So many beginnings of combinations are continued: with twenty rules there are a million and more.
    beginnings: int = 500
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
class DrawEffort:
    """Draws of ties and turns, where an answer is good as ties go."""

    #: So many: what goes wrong in every second draw is missed once in 256 times.
    draws: int = 8
    #: Up to so many pods times nodes: on twice as many those of the loss of zones take four seconds, all else
    #: less than two.
    draws_places: int = 8_000
    #: In `capacity` so many pods times nodes times workloads: draws of five times as many take seven seconds.
    draws_counts: int = 40_000
    #: There so many workloads times domains that may be lost: a draw of each is counted in 8 ms.
    draws_workloads: int = 60


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
    #: waits are three times what any of 186 drawn drains with an end took, and seven times the median.
    events_per_pod: int = 20
    #: And at least so many.
    least_events: int = 1_000


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
    neighbourhoods: NeighbourhoodEffort = NeighbourhoodEffort()
    ejections: EjectionEffort = EjectionEffort()
    tabu: TabuEffort = TabuEffort()
    patterns: PatternEffort = PatternEffort()
    filling: FillingEffort = FillingEffort()
    evictions: EvictionEffort = EvictionEffort()
    scale_down: ScaleDownEffort = ScaleDownEffort()
    explain: ExplainEffort = ExplainEffort()
    draws: DrawEffort = DrawEffort()
    drain: DrainEffort = DrainEffort()
    rollout: RolloutEffort = RolloutEffort()


#: What the commands take.
STANDARD = Effort()

# Numbers that no engine is handed.  Those of moves and of `consolidate` are in modules beside this one.

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
#: What is rounded need not be nearer than this to the best that may come of it.
ROUNDED_GAP = 0.005
#: Work for each number that an iteration of a search looks at, and for the iteration itself.
PRICE_OF_NUMBER, PRICE_OF_TURN = 2.5e-8, 2.5e-4

# Comparison

#: The part of the limit after which no further draw of kube-scheduler or Descheduler begins.
DRAWS_SHARE = 0.5

# Capacity

#: Up to so many replicas are placed one by one; more are counted in bulk where the order cannot matter.
REPLICAS_ONE_BY_ONE = 50
#: On more nodes all are counted, as each that is placed is a look at all nodes: the number is the same, only
#: the line about the first that does not fit may count other nodes of a domain.
NODES_ONE_BY_ONE = 5_000
