"""kube-scheduler's own verdict tables, plugin by plugin; skipped where the data is not at hand."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from models.cluster import Cluster
from models.objects.affinity import TopologySpreadConstraint
from models.objects.node import Node
from models.objects.pod import Pod
from models.objects.workload import Namespace
from planner.constraints.family import Filter
from planner.constraints.inter_pod_affinity import InterPodAffinity
from planner.constraints.node_affinity import NodeAffinityPlugin
from planner.constraints.pod_topology_spread import PodTopologySpread
from planner.constraints.taint_toleration import TaintToleration
from planner.problem.problem import Problem
from planner.state.state import State

UPSTREAM = Path(__file__).parents[3] / "shared" / "upstream"
Case = dict[str, Any]

#: The namespaces that the inter-pod affinity tables rely on.
NAMESPACES = [
    Namespace.model_validate({"metadata": {"name": name, "labels": {"team": team}}})
    for name, team in [
        ("subteam1.team1", "team1"),
        ("subteam2.team1", "team1"),
        ("subteam1.team2", "team2"),
        ("subteam2.team2", "team2"),
    ]
]


def table(name: str) -> list[Any]:
    """The cases of a table, or one that is skipped when there is no such file."""
    path = UPSTREAM / name
    if not path.exists():
        return [pytest.param({}, marks=pytest.mark.skip(reason=f"{name} is not at hand"))]
    # The table names the field by the Go constant that stands for it.
    cases = json.loads(path.read_text().replace("metav1.ObjectNameField", "metadata.name"))
    return [pytest.param(case, id=f"{number}-{case['name'][:60]}") for number, case in enumerate(cases)]


def pod_of(manifest: Case, name: str) -> Pod:
    """A pod from the bare manifest of a table; some repeat a topology key, which the API would refuse."""
    spec = dict(manifest.get("spec", {}))
    constraints = [
        TopologySpreadConstraint.model_validate(item)
        for item in spec.pop("topologySpreadConstraints", None) or ()
    ]
    pod = Pod.model_validate({"metadata": {"name": name} | manifest.get("metadata", {}), "spec": spec})
    spread = pod.spec.model_copy(update={"topology_spread_constraints": tuple(constraints)})
    return pod.model_copy(update={"spec": spread})


def verdicts(plugin: type[Filter], incoming: Case, nodes: list[Case], existing: list[Case]) -> dict[str, str]:
    """What one plugin says of every node, in the words of the scheduler's status codes."""
    pods = [pod_of(manifest, f"existing-{number}") for number, manifest in enumerate(existing)]
    cluster = Cluster(
        nodes=tuple(Node.model_validate(node) for node in nodes),
        pods=(
            *pods,
            pod_of({**incoming, "spec": {**incoming.get("spec", {}), "nodeName": None}}, "incoming"),
        ),
        namespaces=tuple(NAMESPACES),
    )
    problem = Problem(cluster)
    family = plugin(problem, State(problem))
    template = problem.templates[problem.template_of[-1]]
    if family.refusal(template) is not None:
        return dict.fromkeys(problem.nodes.names, "UnschedulableAndUnresolvable")
    codes = np.zeros(problem.nodes.size, np.int64)
    if family.concerns(template):
        codes = np.asarray(family.reject(template), np.int64)
    return {
        name: _status(family, template, code)
        for name, code in zip(problem.nodes.names, codes.tolist(), strict=True)
    }


def _status(family: Filter, template: Any, code: int) -> str:
    if not code:
        return "Success"
    unresolvable = family.verdict(template, code).unresolvable
    return "UnschedulableAndUnresolvable" if unresolvable else "Unschedulable"


@pytest.mark.parametrize("case", table("pod_topology_spread_filter.json"))
def test_topology_spread(case: Case) -> None:
    """Every node gets the status that PodTopologySpread's filter gives it."""
    assert verdicts(PodTopologySpread, case["pod"], case["nodes"], case["existingPods"]) == case["want"]


@pytest.mark.parametrize("case", table("inter_pod_affinity_filter.json"))
def test_inter_pod_affinity(case: Case) -> None:
    """Every node gets the status of InterPodAffinity's filter; a selector kube cannot parse is refused."""
    try:
        found = verdicts(InterPodAffinity, case["pod"], case["nodes"], case["existingPods"])
    except ValidationError:
        found = dict.fromkeys(case["want"], "UnschedulableAndUnresolvable")
    assert found == case["want"]


@pytest.mark.parametrize("case", table("taint_toleration_filter.json"))
def test_taint_toleration(case: Case) -> None:
    """The node gets the status that TaintToleration's filter gives it."""
    found = verdicts(TaintToleration, case["pod"], [case["node"]], [])
    assert found == {case["node"]["metadata"]["name"]: case["want"]}


@pytest.mark.parametrize("case", table("node_affinity.json"))
def test_node_affinity(case: Case) -> None:
    """A node with these labels matches, or does not; what the API server refuses matches nothing."""
    name = case.get("nodeName") or "node"
    node = {"metadata": {"name": name, "labels": case.get("labels") or {}}}
    try:
        found = verdicts(NodeAffinityPlugin, case["pod"], [node], [])
    except ValidationError:
        found = {name: "refused"}
    assert (found[name] == "Success") is case["want"]
