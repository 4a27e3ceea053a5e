"""Affinities narrowed to a place: for the template of a ReplicaSet, or for a pod that a gate holds back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from models.objects.affinity import REQUIRED, Affinity
from planner.documents.move_plan import OnNodes, Place

Json = dict[str, Any]


def plain(affinity: Affinity | None) -> Json | None:
    """An affinity as the API has it, as far as the planner knows its fields."""
    return None if affinity is None else affinity.model_dump(mode="json", by_alias=True, exclude_unset=True)


def narrowed(affinity: Affinity | None, place: Place) -> Json:
    """The affinity, and on the nodes of the place only: every term that was there holds with the place."""
    whole = plain(affinity) or {}
    node_affinity = whole.get("nodeAffinity") or {}
    before = (node_affinity.get(REQUIRED) or {}).get("nodeSelectorTerms") or [{}]
    terms = [_both(term, more) for term in before for more in _terms(place)]
    return {**whole, "nodeAffinity": {**node_affinity, REQUIRED: {"nodeSelectorTerms": terms}}}


def _terms(place: Place) -> Iterator[Json]:
    """Node selector terms of which one holds on exactly the nodes of a place; a field takes one value."""
    if isinstance(place, OnNodes):
        for name in place.nodes:
            yield {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}
    else:
        yield {
            "matchExpressions": [
                {"key": key, "operator": "In", "values": list(values)} for key, values in place.labels.items()
            ]
        }


def _both(term: Json, more: Json) -> Json:
    return {key: [*(term.get(key) or ()), *(more.get(key) or ())] for key in {**term, **more}}
