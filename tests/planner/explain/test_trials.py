"""Changes are tried out on states that are shared, and none is tried twice."""

from collections import Counter
from collections.abc import Hashable, Sequence

import pytest

from models import Cluster
from planner import explain
from planner.explain.change import Candidate
from planner.explain.trial_states import TrialState
from planner.explain.trials import TrialResult, Trials
from planner.proof.effort import STANDARD
from tests.builders import HOST, ZONE, cluster, node, pod, spread, term


def _hard_to_fix(zones: str = "abc", *, preemption: bool = True) -> Cluster:
    """A pod to which only several changes at once could open a node, behind others that wait as well."""
    nodes = [node(f"{zone}{number}", zone=zone, cpu="2") for zone in zones for number in (1, 2)]
    running = [
        pod(f"web-{zone}", on=f"{zone}1", app="web", cpu="1", owner="ReplicaSet/web") for zone in zones
    ]
    running += [pod(f"shy-{zone}", on=f"{zone}2", app="shy", apart=[term(ZONE, "web")]) for zone in zones]
    ahead = [pod(f"ahead-{number}", cpu=str(3 + number), priority=int(preemption)) for number in range(3)]
    new = pod("new", app="web", cpu="2", spread=[spread(ZONE), spread(HOST)], apart=[term(HOST, "web")])
    return cluster(*nodes, *running, *ahead, new)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many states are made, and how many trials there are, distinct ones and all."""
    counted: Counter[str] = Counter()
    make, decide = TrialState.__init__, Trials._decide
    seen: set[Hashable] = set()

    def counting_make(self: TrialState, *given: object, **named: object) -> None:
        counted["states"] += 1
        make(self, *given, **named)  # type: ignore[arg-type]

    def counting_decide(
        self: Trials, state: TrialState, variant: int, candidate: Candidate
    ) -> TrialResult | None:
        counted["trials"] += 1
        spec = state.scheduler.problem.pods[variant].spec.model_dump_json()
        gone: Sequence[int] = [pod for change in candidate for pod in change.gone]
        effect = (id(self), self._around(candidate).key, (*gone,), spec)
        counted["repeated"] += effect in seen
        seen.add(effect)
        return decide(self, state, variant, candidate)

    monkeypatch.setattr(TrialState, "__init__", counting_make)
    monkeypatch.setattr(Trials, "_decide", counting_decide)
    return counted


@pytest.mark.long
def test_changes_of_the_pod_share_the_states_of_the_same_nodes(made: Counter[str]) -> None:
    """Each combination of a change of the pod with a change of nodes took a state of its own."""
    explain(_hard_to_fix(), ["default/new"])
    assert made["trials"] > 2 * made["states"] > 0, made


@pytest.mark.long
def test_what_comes_to_the_same_is_tried_once(made: Counter[str]) -> None:
    """A fix is tried again without each of its changes, most of which had been tried alone before."""
    explain(_hard_to_fix(), ["default/new"])
    assert made["trials"]
    assert not made["repeated"]


@pytest.mark.long
@pytest.mark.parametrize("preemption", [True, False])
def test_shared_states_give_the_same_answers(preemption: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many fixes, in the same order, as where every trial has a state of its own and nothing is kept."""
    snapshot = _hard_to_fix("ab", preemption=preemption)
    shared = explain(snapshot, preemption=preemption, effort=STANDARD)

    class NothingKept(dict[Hashable, object]):
        def __setitem__(self, key: Hashable, value: object) -> None:
            pass

    def alone(self: Trials, candidate: Candidate) -> TrialResult | None:
        around, written = self._around(candidate), self._written(candidate)
        variants = {written: self._variants[written]} if written else {}
        state = TrialState(self._static, around.nodes, around.coming, variants)
        state._moves_without = NothingKept()  # type: ignore[assignment]
        return self._decide(state, state.variants.get(written, self._pod), candidate)

    monkeypatch.setattr(Trials, "_tried", alone)
    assert explain(snapshot, preemption=preemption, effort=STANDARD) == shared
