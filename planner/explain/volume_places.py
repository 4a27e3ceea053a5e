"""Where the volumes of a pending pod are: which nodes reach them, and what a new node would need for that."""

from __future__ import annotations

from collections.abc import Iterator

from models.objects.node import Node
from models.objects.selectors import NodeSelectorTerm
from models.objects.storage import PersistentVolume
from planner.audit.spread_counts import spelled_requirement
from planner.documents.explanation import VolumePlace
from planner.explain.blockers import PendingCase
from planner.explain.node_rules import labels_for
from planner.problem.selection import PLACE_LABELS


def volume_places(case: PendingCase) -> Iterator[VolumePlace]:
    """The volumes of the pod's bound claims that some node does not reach."""
    claims = case.state.claims
    for name, volume in _bound(case):
        reached = claims.reachable(volume)
        if not reached.all():
            where = " or ".join(map(_term_told, _terms(volume)))
            yield VolumePlace(claim=name, volume=volume.name, where=where, nodes=int(reached.sum()))


def labels_to_reach(case: PendingCase, node: Node) -> dict[str, str]:
    """The labels with which a node like this one would reach the volumes that no node reaches.

    Only labels for a zone or region: no new node has the disk of another one.
    """
    wanted: dict[str, str] = {}
    for _, volume in _bound(case):
        if not case.state.claims.reachable(volume).any():
            places = filter(_is_of_place, _terms(volume))
            offers = [labels for term in places if (labels := labels_for(term, node))]
            shortest: dict[str, str] = min(offers, key=len, default={})
            wanted |= shortest
    own = node.metadata.labels
    # A driver's label for the zone has the value of the zone itself: the node moves there with both.
    moved = {
        place: value
        for key, value in wanted.items()
        for place in PLACE_LABELS
        if key != place and key in own and own[key] == own.get(place)
    }
    return {**wanted, **moved}


def _bound(case: PendingCase) -> Iterator[tuple[str, PersistentVolume]]:
    """The pod's claims by name, with the volumes to which they were bound in the snapshot."""
    claims = case.state.claims
    for claim in claims.mounted_by(case.template.pod):
        if claim.spec.volume_name in claims.volumes:
            yield claim.name, claims.volumes[claim.spec.volume_name]


def _terms(volume: PersistentVolume) -> tuple[NodeSelectorTerm, ...]:
    affinity = volume.spec.node_affinity
    return () if affinity is None or affinity.required is None else affinity.required.node_selector_terms


def _is_of_place(term: NodeSelectorTerm) -> bool:
    return all(item.key.endswith(("zone", "region")) for item in term.match_expressions)


def _term_told(term: NodeSelectorTerm) -> str:
    told = (spelled_requirement(item.key, item.operator, item.values) for item in term.match_expressions)
    return ", ".join(told) or "no node"
