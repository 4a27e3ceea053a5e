"""Values of node labels, topology keys and resources that no node has, but one much like it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import partial

from models.objects.containers import Container
from models.objects.pod import PodSpec
from models.objects.selectors import NodeSelector, NodeSelectorRequirement
from planner.explain.blockers import PendingCase
from planner.explain.change import ClusterChange, Cost, with_required
from planner.explain.node_risks import PLATFORMS, required_labels

_ALIKE = 0.75
_DIGITS = re.compile(r"\d+")
#: What is forgotten before zone, region and hostname.
_PREFIXES = ("topology.kubernetes.io", "kubernetes.io")
Corrections = Mapping[tuple[str, str], str]


def corrections(case: PendingCase) -> Iterator[ClusterChange]:
    """All values of nodeSelector and required node affinity that look mistyped, corrected together."""
    nodes = case.problem.nodes
    found = {
        (key, value): meant
        for key, value in dict.fromkeys(required_labels(case.template.pod.spec))
        if key not in case.admitted_selector
        if (meant := likely(value, set(nodes.column(key).values)))
    }
    if found:
        words = [f"{key}={meant}? No node has {key}={value}" for (key, value), meant in found.items()]
        yield ClusterChange(
            "CorrectValue",
            Cost.CORRECTION,
            f"did you mean {'; '.join(words)}",
            edit=lambda spec: _corrected(spec, found),
        )


def resource_corrections(case: PendingCase) -> Iterator[ClusterChange]:
    """Resources of which no node has any, and whose names look mistyped, corrected together."""
    spec = case.template.pod.spec
    known = {name for node in case.problem.nodes.nodes for name in node.status.allocatable}
    # Of devices most manifests have limits alone, which are the requests, too.
    asked = dict.fromkeys(name for item in spec.all_containers for name in item.resources.defaulted)
    found = {name: meant for name in asked if name not in known and (meant := likely_key(name, known))}
    if found:
        words = [f"{meant}? No node has {name}" for name, meant in found.items()]
        yield ClusterChange(
            "CorrectResource",
            Cost.CORRECTION,
            f"did you mean {'; '.join(words)}",
            edit=lambda spec: spec.with_containers(partial(_with_resources, found)),
        )


def _with_resources(found: Mapping[str, str], container: Container) -> Container:
    asked = container.resources
    renamed = {
        field: {found.get(name, name): amount for name, amount in getattr(asked, field).items()}
        for field in ("requests", "limits")
    }
    return container.model_copy(update={"resources": asked.model_copy(update=renamed)})


def likely(value: str, known: set[str]) -> str:
    """The only known value that is spelled much alike; empty where the value is known or it is not clear.

    Values that differ in a number, or in the last letter alone, are members of one family, not typing errors:
    `zone-a` is no slip for `zone-b`, nor is arm64 for amd64.
    """
    if value in known | PLATFORMS or not value:
        return ""
    alike = get_close_matches(value, sorted(known), n=2, cutoff=_ALIKE)
    if len(alike) != 1 or _DIGITS.findall(value) != _DIGITS.findall(alike[0]):
        return ""
    member = len(value) == len(alike[0]) and value[:-1] == alike[0][:-1]
    return "" if member else alike[0]


def likely_key(key: str, known: set[str]) -> str:
    """The label key that was probably meant: spelled much alike under the same prefix, or with its prefix."""
    prefix, _, name = key.rpartition("/")
    if not prefix:
        return next((f"{of}/{name}" for of in _PREFIXES if f"{of}/{name}" in known), "")
    meant = likely(name, {other.rpartition("/")[2] for other in known if other.startswith(f"{prefix}/")})
    return f"{prefix}/{meant}" if meant else likely(key, {k for k in known if k.endswith(f"/{name}")})


def _corrected(spec: PodSpec, found: Corrections) -> PodSpec:
    selector = {key: found.get((key, value), value) for key, value in spec.node_selector.items()}
    spec = spec.model_copy(update={"node_selector": selector})
    if spec.required_nodes is None:
        return spec
    terms = tuple(
        term.model_copy(update={"match_expressions": tuple(_meant(i, found) for i in term.match_expressions)})
        for term in spec.required_nodes.node_selector_terms
    )
    return with_required(spec, "node_affinity", NodeSelector(node_selector_terms=terms))


def _meant(item: NodeSelectorRequirement, found: Corrections) -> NodeSelectorRequirement:
    if item.operator != "In":
        return item
    return item.model_copy(update={"values": tuple(found.get((item.key, v), v) for v in item.values)})
