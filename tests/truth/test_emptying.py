"""What `consolidate` says of all sets of nodes, on clusters of the wider generator."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from models import Cluster, InputError
from planner import consolidate
from planner.documents.consolidation import ConsolidationPlan
from tests import seeds
from tests.builders import node, pod, workload
from tests.truth import emptying_claims, wide, wide_controllers
from tests.truth.claims import judge
from tests.truth.findings import CORRECT
from tests.truth.generator import Case

TYPE = "node.kubernetes.io/instance-type"


def test_no_claim_is_refuted() -> None:
    """Fresh clusters: no nodes are cheaper than the bound, no fewer moves empty them, and the waves hold."""
    for seed in seeds.seeds(4):
        found = judge(wide.draw(seed, "consolidate"), 3.0).findings
        assert not [finding for finding in found if finding.fault in CORRECT], f"seed {seed}: {found}"


def _no_node_goes(plan: ConsolidationPlan) -> ConsolidationPlan:
    cost, *others = plan.objective
    value = round(plan.cost.before / plan.price_unit)
    stages = (cost.model_copy(update={"value": value, "bound": value}), *others)
    kept = plan.cost.model_copy(update={"bound": plan.cost.before})
    return plan.model_copy(update={"removed": (), "steps": (), "cost": kept, "objective": stages})


def _more_moves_are_needed(plan: ConsolidationPlan) -> ConsolidationPlan:
    cost, moves, *others = plan.objective
    more = moves.model_copy(update={"bound": moves.value + 1})
    return plan.model_copy(update={"objective": (cost, more, *others)})


@pytest.mark.long
@pytest.mark.parametrize("claim", [_no_node_goes, _more_moves_are_needed])
def test_a_false_claim_is_noticed(claim: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planner that lets no node go, or says that more moves are needed, and calls that proved.

    The search does not know all that may be done in clusters where something is broken already.
    """
    cases = [*islice(_proved_with_moves(), 4)]
    monkeypatch.setattr(
        emptying_claims, "consolidate", lambda cluster, **options: claim(consolidate(cluster, **options))
    )
    assert {finding.fault for case in cases for finding in judge(case, 3.0).findings} == {"false"}


def _proved_with_moves() -> Iterator[Case]:
    for seed in range(500, 600):
        case = wide.draw(seed, "consolidate")
        try:
            plan = consolidate(Cluster.from_objects(case.objects), time_limit=3.0, **case.options)
        except InputError:
            continue
        is_proved = plan.removed and plan.steps and plan.status == "Optimal"
        if is_proved and judge(case, 3.0).complete:
            yield case


@pytest.mark.parametrize(("pods", "refuted"), [(6, True), (5, True), (4, False)])
def test_a_machine_refutes_a_false_bound(pods: int, refuted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planner that says no machine pays is found out, unless a quota has no room for a pod on one."""
    objects = [node(name, labels={TYPE: "old"}, cpu="1") for name in ("n0", "n1")]
    objects += [
        pod(f"w{n}", f"n{n}", cpu="1", uid=f"uid-{n}", owner=workload("ReplicaSet", "w")) for n in (0, 1)
    ]
    wide_controllers.daemon_sets(random.Random(1), objects, "rebalance")
    objects[-1]["spec"]["hard"]["pods"] = str(pods)
    row = {"name": "new", "price": "1.5", "cpu": "4", "memory": "8Gi"}
    options = {"price_label": TYPE, "prices": {"old": 2}, "catalogue": [row], "pins": True}
    monkeypatch.setattr(
        emptying_claims,
        "consolidate",
        lambda cluster, **options: _no_node_goes(consolidate(cluster, **options)),
    )
    found = judge(Case(0, "consolidate", objects, options=options), 3.0)
    assert {finding.fault for finding in found.findings} == ({"false"} if refuted else set())
