"""Which replicas should go: the best choice against all choices, and annotations that bring it about."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import Cluster, InputError
from planner.documents.plan import ScaleDown
from planner.simulation.scaledown.deletion_costs import annotated
from planner.simulation.scaledown.scale_down import scale_down
from planner.whatif import scale
from planner.whatif.scaling import surplus_of
from tests.builders import (
    HARD,
    HOST,
    SOFT,
    ZONE,
    Object,
    cluster,
    node,
    pod,
    replica,
    revision,
    scaled,
    spread,
)
from tests.planner import oracle
from tests.strategies import RACK, one_of, relaxed

READY = [{"type": "Ready", "status": "True"}]
SICK = [{"type": "Ready", "status": "False"}]


@st.composite
def lopsided(draw: st.DrawFn) -> list[Object]:
    """A Deployment with zone, host and rack constraints, up to two revisions, and others that match it."""
    nodes = [
        node(
            f"n{number}",
            draw(one_of("a", "a", "b", "c", None)),
            labels={RACK: draw(one_of("r1", "r2", None))},
            taints=draw(one_of((), (), ("gpu:NoSchedule",))),
        )
        for number in range(draw(st.integers(2, 5)))
    ]
    rows: list[Object] = []
    for key, when in draw(
        st.lists(st.tuples(one_of(ZONE, HOST, RACK), one_of(HARD, SOFT)), min_size=1, max_size=3, unique=True)
    ):
        more: Object = {"when": when, "nodeTaintsPolicy": draw(one_of("Ignore", "Honor"))}
        if when == HARD and draw(st.booleans()):
            more["minDomains"] = draw(st.integers(1, 4))
        if draw(one_of(False, False, True)):
            more["matchLabelKeys"] = ["pod-template-hash"]
        rows.append(spread(key, draw(one_of(1, 1, 2)), **more))
    web = scaled("Deployment", "web", 7, spread=rows)
    sets = [revision(web, number) for number in range(1, draw(one_of(1, 1, 2)) + 1)]
    place = one_of(*[item["metadata"]["name"] for item in nodes])
    pods = [
        replica(
            draw(one_of(*sets)),
            f"web-{number}",
            draw(one_of(*[draw(place)] * 6, "")),
            conditions=draw(one_of(READY, READY, READY, SICK)),
            annotations=draw(one_of({}, {}, {"controller.kubernetes.io/pod-deletion-cost": "5"})),
        )
        for number in range(7)
    ]
    others = [pod(f"other-{number}", draw(place), app="web") for number in range(draw(st.integers(0, 2)))]
    return [*nodes, web, *sets, *pods, *others]


def choices(found: Cluster, keep: int) -> Iterator[frozenset[str]]:
    """Every set of pods that the controllers take when some pods get a low deletion cost."""
    shares = list(surplus_of(found, found.deployments[0], keep))
    ways = [combinations(share.pods, share.going) for share in shares]
    for parts in product(*ways):
        wanted = [item for part in parts for item in part]
        steered = annotated(found, [(item, -9) for item in wanted])
        taken = {
            item.key for share in surplus_of(steered, found.deployments[0], keep) for item in share.victims
        }
        if taken == {item.key for item in wanted}:
            yield frozenset(taken)


def worth(objects: list[Object], gone: frozenset[str]) -> tuple[int, int, int]:
    """Hard excess, soft excess and skew of the Deployment's own constraints, counted in plain loops."""
    pods = [item for item in objects if item["kind"] == "Pod"]
    others = [item for item in objects if item["kind"] != "Pod"]
    left = oracle.cluster_state([*others, *(item for item in pods if oracle.key_of(item) not in gone)])
    carriers: dict[str, tuple[Object, list[Object]]] = {}
    for item in pods:
        for row in oracle.constraints_of(left, item) if "ownerReferences" in item["metadata"] else ():
            carriers.setdefault(repr(sorted(row.items())), (row, []))[1].append(item)
    sums, skew = {HARD: 0, SOFT: 0}, 0
    for row, asking in carriers.values():
        kind = row["whenUnsatisfiable"]
        rows = oracle.constraints_of(left, asking[0])
        keys = [other["topologyKey"] for other in rows if other["whenUnsatisfiable"] == kind]
        counts = oracle.counts(left, asking[0], row, keys)
        least = oracle.global_minimum(row, counts)
        skew += max((count - least for count in counts.values()), default=0)
        places = [left.node_of(item) for item in asking if oracle.key_of(item) not in gone]
        domains = {place["metadata"]["labels"].get(row["topologyKey"]) for place in places if place}
        sums[kind] += sum(max(0, counts.get(domain, 0) - least - row["maxSkew"]) for domain in domains)
    return sums[HARD], sums[SOFT], skew


def values(document: ScaleDown) -> dict[str, int]:
    """The objective by name; all of it proved."""
    assert document.status == "Optimal"
    assert all(stage.proved and stage.value == stage.bound for stage in document.objective)
    return {stage.name: stage.value for stage in document.objective}


@relaxed
@given(lopsided(), st.integers(1, 6))
def test_no_choice_of_all_is_better(objects: list[Object], keep: int) -> None:
    """Every set that annotations can bring about is tried: none has a better spread, or, with the same,
    more of what the controllers take anyhow; and the annotations bring the chosen one about.
    """
    found = Cluster.from_objects(objects)
    document = scale_down(found, {"deploy/web": keep})
    taken = frozenset(document.controller.victims)
    ranking = {choice: (*worth(objects, choice), -len(choice & taken)) for choice in choices(found, keep)}
    best = frozenset(document.best.victims)
    assert ranking[best] == min(ranking.values())
    expected = ("hardExcess", "softExcess", "skew", "controllersVictims")
    assert tuple(values(document).values()) == (*ranking[best][:3], -ranking[best][3])
    assert tuple(values(document)) == expected
    assert worth(objects, taken) == (
        document.controller.hard_excess,
        document.controller.soft_excess,
        document.controller.skew,
    )
    cost_of = {item.pod: item.cost for item in document.costs}
    steered = annotated(found, [(item, cost_of[item.key]) for item in found.pods if item.key in cost_of])
    left = scale(steered, "deploy/web", keep)
    assert {item.key for item in found.pods} - {item.key for item in left.pods} == best


def web(*on: str, spread_over: list[Object] | None = None, **words: Any) -> list[Object]:
    """A Deployment with a ready pod on each of these nodes."""
    owner = scaled("Deployment", "web", len(on), spread=spread_over or [spread()])
    current = revision(owner)
    pods = [
        replica(current, f"web-{number}", name, conditions=READY, uid=str(number), **words)
        for number, name in enumerate(on)
    ]
    return [owner, current, *pods]


ZONES = [node("a1", "a"), node("a2", "a"), node("b1", "b"), node("c1", "c")]


def test_the_fullest_zone_gives_up_its_pods() -> None:
    """The controller looks at hosts and ages and leaves a zone empty; the best choice keeps all three."""
    objects = web("a1", "a2", "b1", "b1", "c1", "c1")
    objects[2]["status"]["conditions"] = READY
    document = scale_down(cluster(*ZONES, *objects), {"deploy/web": 3})
    assert document.controller.hard_excess + document.controller.skew > 0
    assert (document.best.hard_excess, document.best.skew) == (0, 0)
    (row,) = document.best.constraints
    assert row.domains == {"a": 1, "b": 1, "c": 1}
    assert {item.pod for item in document.costs} == set(document.best.victims)
    assert {item.cost for item in document.costs} == {-1}


def test_pods_that_go_anyhow_are_not_annotated() -> None:
    """A pending pod and one that is not ready go before any cost is looked at."""
    objects = web("a1", "a1", "b1", "c1", "")
    objects[5]["status"]["conditions"] = SICK
    document = scale_down(cluster(*ZONES, *objects), {"deploy/web": 2})
    assert {"default/web-3", "default/web-4"} < set(document.best.victims)
    assert len(document.costs) == 1


def test_costs_that_are_there_are_undercut() -> None:
    """A pod that stays may have a negative cost already."""
    objects = web("a1", "a1", "b1", annotations={"controller.kubernetes.io/pod-deletion-cost": "-7"})
    document = scale_down(cluster(*ZONES, *objects), {"deploy/web": 2})
    assert [item.cost for item in document.costs] == [-8]


def test_where_no_lower_cost_is_left_the_others_are_raised() -> None:
    """The costs are 32-bit numbers."""
    lowest = {"controller.kubernetes.io/pod-deletion-cost": "-2147483648"}
    document = scale_down(cluster(*ZONES, *web("a1", "a1", "b1", annotations=lowest)), {"deploy/web": 2})
    (victim,) = document.best.victims
    assert {item.pod: item.cost for item in document.costs} == {
        name: -(2**31) + (name != victim) for name in ("default/web-0", "default/web-1", "default/web-2")
    }


def test_all_or_nothing_needs_no_solver() -> None:
    """Down to zero, and not down at all: there is nothing to choose, and that is optimal."""
    found = cluster(*ZONES, *web("a1", "a1", "b1"))
    for keep, going in ((0, 3), (3, 0)):
        document = scale_down(found, {"deploy/web": keep})
        assert values(document)["controllersVictims"] == len(document.best.victims) == going
        assert document.costs == ()


def test_a_stateful_set_is_shown_but_not_steered() -> None:
    """It always takes the highest ordinals; what would be best is there to compare."""
    owner = scaled("StatefulSet", "db", 4, spread=[spread(app="db")])
    pods = [replica(owner, f"db-{number}", name) for number, name in enumerate(("a1", "a2", "b1", "c1"))]
    document = scale_down(cluster(*ZONES, owner, *pods), {"sts/db": 2})
    assert document.controller.victims == ("default/db-3", "default/db-2")
    assert (document.controller.skew, document.best.skew) == (2, 1)
    assert (document.workloads[0].heeds_deletion_costs, document.costs) == (False, ())
    assert [note for note in document.notes if "does not look at deletion costs" in note]


@pytest.mark.parametrize(("going", "waits"), [("OrderedReady", True), ("Parallel", False)])
def test_a_stateful_set_waits_for_the_pods_that_it_keeps(going: str, waits: bool) -> None:
    """One that is pending may be so for ever: until then no pod goes, which a note says."""
    owner = scaled("StatefulSet", "db", 3)
    owner["spec"]["podManagementPolicy"] = going
    pods = [replica(owner, f"db-{number}", name) for number, name in enumerate(("a1", "", "b1"))]
    document = scale_down(cluster(*ZONES, owner, *pods), {"sts/db": 2})
    assert document.controller.victims == ("default/db-2",)
    assert any("db-1 is not ready, and with OrderedReady" in note for note in document.notes) == waits


def test_workloads_that_count_each_other_are_chosen_for_together() -> None:
    """Each alone would leave its zone; together one of them must give up the other zone."""
    first = scaled("Deployment", "one", 2, app="web", spread=[spread()])
    second = scaled("Deployment", "two", 2, app="web", spread=[spread()])
    pods = [
        replica(revision(owner), f"{owner['metadata']['name']}-{place}", place, conditions=READY)
        for owner in (first, second)
        for place in ("a1", "b1")
    ]
    owners = [first, revision(first), second, revision(second)]
    found = cluster(*ZONES[:3], *owners, *pods)
    document = scale_down(found, {"deploy/one": 1, "deploy/two": 1})
    assert (document.best.hard_excess, document.best.skew) == (0, 0)
    assert [len([v for v in document.best.victims if name in v]) for name in ("one", "two")] == [1, 1]


def test_the_same_question_has_the_same_answer() -> None:
    """Byte for byte, ties included."""
    found = cluster(*ZONES, *web(*["a1", "a2", "b1", "c1"] * 4))
    assert scale_down(found, {"deploy/web": 6}).to_json() == scale_down(found, {"deploy/web": 6}).to_json()


def test_without_time_the_answer_is_no_worse_than_the_controllers() -> None:
    """And says what is not proved."""
    found = cluster(*ZONES, *web(*["a1", "a2", "b1", "c1"] * 20))
    document = scale_down(found, {"deploy/web": 31}, time_limit=0)
    ours, theirs = document.best, document.controller
    assert (ours.hard_excess, ours.soft_excess, ours.skew) <= (
        theirs.hard_excess,
        theirs.soft_excess,
        theirs.skew,
    )


def test_pods_on_nodes_that_are_not_there_still_count_as_replicas() -> None:
    """They take no part in any spread, and can be given up first or last."""
    found = cluster(*ZONES, *web("a1", "b1", "c1", "zz"))
    document = scale_down(found, {"deploy/web": 3})
    assert document.best.victims == ("default/web-3",)
    lost = replace(found, nodes=())
    assert len(scale_down(lost, {"deploy/web": 3}).best.victims) == 1


@pytest.mark.parametrize(
    ("question", "problem"),
    [
        ({"deploy/web": 4}, "deploy/web=4: that is no scale-down, there are 3 replicas"),
        ({"deploy/wep": 1}, "deploy/wep=1: there is no Deployment wep in the cluster"),
        (
            {"deploy/web": 1, "deployment/web.default": 2},
            "deployment/web.default=2: Deployment default/web is named twice",
        ),
    ],
)
def test_a_question_that_makes_no_sense_is_bad_input(question: dict[str, int], problem: str) -> None:
    """With the words of the question."""
    with pytest.raises(InputError) as raised:
        scale_down(cluster(*ZONES, *web("a1", "b1", "c1")), question)
    assert [line.startswith(problem) for line in raised.value.problems] == [True]


def test_where_names_alone_decide_the_outcome_is_open() -> None:
    """Two pods in zone a, one in b, all alike in age: which one goes is left to chance, and is told so."""
    web = scaled("Deployment", "web", 3, spread=[spread(ZONE)])
    owner = revision(web, 1)
    nodes = [node("a1", "a"), node("a2", "a"), node("b1", "b")]
    pods = [replica(owner, f"web-{n}", place, conditions=READY) for n, place in enumerate(("a1", "a2", "b1"))]
    found = scale_down(cluster(*nodes, web, owner, *pods), {"Deployment/web": 2})
    assert found.draws is not None
    assert found.best.hard_excess == 0
    assert 0 < found.draws.broken == found.draws.worse < found.draws.runs


def test_where_something_decides_nothing_is_open() -> None:
    """Deletion costs say which pod goes, at every moment: there are no draws to tell of."""
    web = scaled("Deployment", "web", 3, spread=[spread(ZONE)])
    owner, nodes = revision(web, 1), [node("a1", "a"), node("a2", "a"), node("b1", "b")]
    pods = [
        replica(
            owner,
            f"web-{n}",
            place,
            conditions=READY,
            annotations={"controller.kubernetes.io/pod-deletion-cost": str(n)},
        )
        for n, place in enumerate(("a1", "a2", "b1"))
    ]
    assert scale_down(cluster(*nodes, web, owner, *pods), {"Deployment/web": 2}).draws is None
