"""The running counts against a state made afresh, also across cuts of the logs and rollbacks."""

import random
from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from models import Cluster
from planner.problem.nodes import ALL, Codes, Where
from planner.problem.problem import Problem
from planner.state.load_arrays import LoadArray
from planner.state.pod_counts import DomainCounts, PodCounts
from planner.state.state import State
from tests.builders import HOST, ZONE, Object, cluster, node, pod
from tests.strategies import RACK, claiming, clusters, relaxed


def shake(state: State, choose: random.Random, times: int) -> Iterator[None]:
    """Random binds, unbinds, marks and rollbacks, one at a time."""
    marks: list[int] = []
    for _ in range(times if state.problem.pods else 0):
        number = choose.randrange(len(state.problem.pods))
        match choose.randrange(10):
            case 0:
                marks.append(state.mark())
            case 1 if marks:
                state.rollback(marks.pop(choose.randrange(len(marks))))
                marks = [mark for mark in marks if mark <= state.mark()]
            case 2 if state.node_of[number] < 0:
                alike = state.problem.pods_of(int(state.problem.template_of[number]))
                coming = alike[state.node_of[alike] < 0].tolist()
                nodes = [choose.randrange(state.problem.nodes.size) for _ in coming]
                state.bind_all(coming, np.array(nodes, np.intp))
            case 3 if state.node_of[number] >= 0:
                alike = state.problem.pods_of(int(state.problem.template_of[number]))
                state.unbind_all(alike[state.node_of[alike] >= 0].tolist())
            case _ if state.node_of[number] < 0:
                state.bind(number, choose.randrange(state.problem.nodes.size))
            case _:
                state.unbind(number)
        yield


def tallies(state: State) -> list[PodCounts]:
    """A few ways of counting templates: all, every other one, by weight, none."""
    everyone = range(len(state.problem.templates))
    members = [dict.fromkeys(everyone, 1), dict.fromkeys(everyone[::2], 1), {n: n + 1 for n in everyone}, {}]
    return [state.tally(("test", number), partial(dict, found)) for number, found in enumerate(members)]


def domain_counts(state: State) -> list[DomainCounts]:
    """Every tally by zone, by rack and by host, over all nodes and over every other one."""
    some = np.arange(state.problem.nodes.size) % 2 == 0
    return [
        state.domain_counts(tally, state.problem.nodes.column(key), mask, part)
        for tally in tallies(state)
        for key in (ZONE, RACK, HOST)
        for part, mask in (("all", None), ("some", some))
    ]


@relaxed
@given(clusters(), st.integers(0, 2**32), st.sampled_from([10, 40, 700]))
def test_running_counts_equal_a_fresh_state(objects: list[Object], seed: int, times: int) -> None:
    """After any history used, scored, node_of, tallies and domain counts are what a fresh count gives.

    700 steps cut the logs of state and tallies at 256 entries at least once.
    """
    problem = Problem(Cluster.from_objects(objects))
    state, choose = State(problem), random.Random(seed)
    counted, live = tallies(state), domain_counts(state)
    for step, _ in enumerate(shake(state, choose, times)):
        if step % 97 == 0:
            choose.choice(live).sums()
    fresh = State(problem, state.node_of)
    assert state.used.tolist() == fresh.used.tolist()
    assert state.scored.tolist() == fresh.scored.tolist()
    assert [sorted(pods) for pods in state.pods_on] == fresh.pods_on
    for tally, again in zip(counted, tallies(fresh), strict=True):
        assert tally.counts.tolist() == again.counts.tolist()
        assert tally.total == again.total == int(again.counts.sum())
    for counts, again_counts in zip(live, domain_counts(fresh), strict=True):
        assert counts.sums().tolist() == again_counts.sums().tolist()
        assert counts.padded()[-1] == 0


@relaxed
@given(clusters(), st.integers(0, 2**32))
def test_a_state_with_other_nodes_equals_a_fresh_one(objects: list[Object], seed: int) -> None:
    """Loads taken over from a state with fewer nodes and pods are those that a fresh count gives."""
    problem, choose = Problem(Cluster.from_objects(objects)), random.Random(seed)
    node_of: Codes = np.array([choose.randrange(-1, problem.nodes.size) for _ in problem.pods], np.int32)
    before = State(problem.varied(node_of))
    first = problem.nodes.nodes[0]
    new = first.model_copy(update={"metadata": first.metadata.model_copy(update={"name": "a-first-one"})})
    more = problem.pods[:3]
    varied = problem.varied(node_of, [new, *problem.nodes.nodes], more)
    varied.node_of[len(problem.pods) :] = [choose.randrange(-1, varied.nodes.size) for _ in more]
    state, fresh = State(varied, before=before), State(varied)
    assert state.used.tolist() == fresh.used.tolist()
    assert state.scored.tolist() == fresh.scored.tolist()
    assert state.pods_on == fresh.pods_on
    assert state.node_of.tolist() == fresh.node_of.tolist()
    placed = np.flatnonzero(state.node_of >= 0)
    assert state.load_of(placed).tolist() == fresh.load_of(placed).tolist()


@relaxed
@given(clusters(pods=8), st.integers(0, 2**32))
def test_a_rollback_restores_even_the_order_of_pods(objects: list[Object], seed: int) -> None:
    """Preemption asks pods in the order in which they stand on a node, so that comes back too."""
    problem = Problem(Cluster.from_objects(objects))
    state, choose = State(problem), random.Random(seed)
    for _ in shake(state, choose, 20):
        pass
    before = [list(pods) for pods in state.pods_on], state.node_of.tolist(), state.used.tolist()
    mark = state.mark()
    for number in choose.choices(range(len(problem.pods)), k=20) if problem.pods else ():
        if state.node_of[number] < 0:
            state.bind(number, choose.randrange(problem.nodes.size))
        else:
            state.unbind(number)
    state.rollback(mark)
    assert ([list(pods) for pods in state.pods_on], state.node_of.tolist(), state.used.tolist()) == before


@relaxed
@given(clusters(pods=6), st.integers(0, 2**32))
def test_versions_tell_every_change(objects: list[Object], seed: int) -> None:
    """What differs from before never has the version that it had before, read at every change or not."""
    problem = Problem(Cluster.from_objects(objects))
    state, choose = State(problem), random.Random(seed)
    live = domain_counts(state)
    seen: dict[tuple[int, int], list[int]] = {}
    for _ in shake(state, choose, 60):
        found = [(state.version, [*state.node_of.tolist(), *state.used.ravel().tolist()])]
        found += [(tally.version, tally.counts.tolist()) for tally in tallies(state)]
        for counts in live:
            sums = counts.sums().tolist() if choose.random() < 0.5 else None
            found.append((-1, []) if sums is None else (counts.version, sums))
        for number, (version, numbers) in enumerate(found):
            assert seen.setdefault((number, version), numbers) == numbers


@relaxed
@given(clusters(pods=6), st.integers(0, 2**32))
def test_what_is_undone_has_its_version_from_before(objects: list[Object], seed: int) -> None:
    """So what was worked out before pods were tried somewhere is still known when they are back."""
    problem = Problem(Cluster.from_objects(objects))
    state, choose = State(problem), random.Random(seed)
    for _ in shake(state, choose, 10):
        pass
    mark, before = state.mark(), [state.version, *(tally.version for tally in tallies(state))]
    for _ in shake(state, choose, 20):
        choose.choice(domain_counts(state)).sums()
    state.rollback(mark)
    assert [state.version, *(tally.version for tally in tallies(state))] == before


@relaxed
@given(clusters(), st.integers(0, 2**32), st.sampled_from([1, 3, 30, 600]))
def test_a_follower_is_the_formula_over_all_nodes(objects: list[Object], seed: int, pause: int) -> None:
    """Asked after one change, after a few or after a cut log, it gives what the formula gives now."""
    problem = Problem(Cluster.from_objects([*objects, pod("one", cpu="1")]))
    state, choose = State(problem), random.Random(seed)

    def formula(where: Where) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]] | int:
        load = state.used[-1] * 7 + state.used[0]
        return int(load[where]) if isinstance(where, int) else load[where]

    follower = LoadArray(state, formula)
    seen: dict[int, list[int]] = {}
    for step, _ in enumerate(shake(state, choose, 700)):
        if step % pause == 0:
            found = follower.current().tolist()
            assert found == np.asarray(formula(ALL)).tolist()
            assert seen.setdefault(follower.version, found) == found


@pytest.mark.parametrize("shared", [False, True])
@settings(relaxed, phases=(Phase.explicit, Phase.generate))
@given(st.data(), st.integers(0, 2**32))
def test_claims_come_back_with_a_rollback(shared: bool, data: st.DataObject, seed: int) -> None:
    """What waiting claims were bound to is undone with the binds that bound them, in any history."""
    problem = Problem(Cluster.from_objects(data.draw(claiming(shared=shared))))
    state, choose = State(problem), random.Random(seed)
    history = [(state.mark(), _offers(state))]
    for _ in range(25):
        number = choose.randrange(len(problem.pods))
        if choose.randrange(4) == 0:
            mark, offers = history[choose.randrange(len(history))]
            state.rollback(mark)
            history = [item for item in history if item[0] <= mark]
            assert _offers(state) == offers
        elif state.node_of[number] >= 0:
            state.unbind(number)
        else:
            state.bind(number, choose.randrange(problem.nodes.size))
        history.append((state.mark(), _offers(state)))


def _offers(state: State) -> list[object]:
    """All that can be seen of the claims: what each may have, where it was put, where its pods fit."""
    claims = state.claims
    return [
        [(claim.key, [v.name for v in claims.candidates(claim)], claims.selected_node(claim))
         for claim in claims.by_key.values()],
        [claims.fits(pod).tolist() for pod in state.problem.pods],
    ]  # fmt: skip


def test_a_node_that_changed_last_before_a_cut_is_not_forgotten() -> None:
    """The log is cut right when the entry is made; a reader that follows must look at everything then."""
    problem = Problem(cluster(node("n1"), node("n2"), pod("p", cpu="1"), pod("q", cpu="1")))
    state = State(problem)
    follower = LoadArray(state, lambda where: state.used[0][where])
    for _ in range(2 * 256):
        epoch = state.epoch
        state.bind(0, 1)
        if state.epoch > epoch:
            break
        state.unbind(0)
    assert state.epoch == 1
    assert follower.current().tolist() == [0, 1000]
