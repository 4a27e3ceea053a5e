"""What the real Descheduler did: its own table of tests, and nine clusters with the real kube-scheduler.

Go's maps draw the order of equal domains and equal pods, and kube-scheduler draws among equal nodes; so a
recording is one draw, and the test asks whether it is among ours.
"""

import pytest

from models import Cluster
from planner.audit.findings import audit
from planner.compare.descheduler import descheduled
from planner.eviction.protections import protections_of
from planner.problem.problem import Problem
from tests.planner.recordings import Case, policy_of, recorded, upstream
from tests.seeds import tries

SEEDS = (None, *range(1, 31))
#: So many draws have to be alike, in a quick run, where every draw ends as recorded.
ALIKE = tries(3)
#: Where every draw ends as recorded.
ALWAYS = {"rebalance-901", "mixed-60015", "mixed-60019"}


@pytest.mark.parametrize("case", upstream())
def test_deschedulers_own_table(case: Case) -> None:
    """The number of evictions in all 38 cases, whatever is drawn; and its pods, drawn by name."""
    cluster = Cluster.from_objects([*case["nodes"], *case["pods"], policy_of(case)])
    problem = Problem(cluster)
    for seed in (None, 1, 2, 3):
        found = descheduled(problem, protections_of(cluster), seed=seed, most_rounds=1)
        assert sum(map(len, found.rounds)) == case["expectedEvictedCount"]
        names = {problem.pods[pod].name for several in found.rounds for pod in several}
        assert seed or case["expectedEvictedPods"] in (None, sorted(names))


@pytest.mark.parametrize("case", recorded(), ids=lambda case: case["name"])
def test_recorded_clusters(case: Case) -> None:
    """Evictions, rounds, what is too much and what is Pending are as recorded in some draw.

    No more rounds are played than were recorded: some recordings of tight clusters end while there is still
    something to evict, and why is not known.
    """
    cluster, recording = Cluster.from_objects(case["cluster"]["items"]), case["descheduler"]
    problem, protections = Problem(cluster), protections_of(cluster)
    names = ("evictions", "rounds", "violationsLeft", "excessLeft", "podsLeftPending")
    expected = tuple(recording[name] for name in names)
    ended = set()
    for number, seed in enumerate(SEEDS, 1):
        found = descheduled(problem, protections, seed=seed, most_rounds=recording["rounds"])
        left = audit(problem, found.node_of)
        evictions, pending = sum(map(len, found.rounds)), len(found.waiting)
        ended.add((evictions, len(found.rounds), left.violations, left.hard_excess, pending))
        if expected in ended and (case["name"] not in ALWAYS or number >= ALIKE):
            break
    assert expected in ended
    assert len(ended) == 1 or case["name"] not in ALWAYS
