"""Pods by template: the same whether all are looked at, or only those that came."""

from __future__ import annotations

from dataclasses import replace

import pytest

from models import Cluster
from models.objects.pod import PodStatus
from planner.problem.problem import Problem
from planner.problem.templates import Template
from tests import seeds
from tests.builders import cluster, node, pod, service
from tests.tiny import tiny


def key(template: Template) -> object:
    """What tells templates apart, without arrays."""
    return template.pod.key, dict(template.labels), template.owner, template.amounts


@pytest.mark.parametrize("number", seeds.given_and_fresh(6))
def test_with_more_pods_only_those_are_looked_at(number: int | None) -> None:
    """Whatever the first pods are, the templates and their numbers are those of a fresh start."""
    for seed in [number] if number is not None else seeds.seeds(15):
        found = Cluster.from_objects(tiny(seed))
        for first in range(len(found.pods) + 1):
            before = Problem(replace(found, pods=found.pods[:first]))
            after, fresh = Problem(found, before), Problem(found)
            assert after.template_of.tolist() == fresh.template_of.tolist()
            assert [*map(key, after.templates)] == [*map(key, fresh.templates)]


@pytest.mark.parametrize("number", seeds.given_and_fresh(6))
def test_of_pods_seen_before_templates_are_the_same(number: int | None) -> None:
    """With pods gone from anywhere and others new, templates and their numbers are those of a fresh start."""
    for seed in [number] if number is not None else seeds.seeds(15):
        found = Cluster.from_objects(tiny(seed))
        for gone in range(len(found.pods)):
            changed = found.pods[gone].model_copy(update={"status": PodStatus()})
            left = replace(found, pods=(*found.pods[:gone], *found.pods[gone + 1 :], changed))
            after, fresh = Problem(left, Problem(found)), Problem(left)
            assert after.template_of.tolist() == fresh.template_of.tolist()
            assert [*map(key, after.templates)] == [*map(key, fresh.templates)]


def test_another_selector_tells_pods_apart() -> None:
    """A label that nothing looked at before splits the pods of before, too."""
    pods = [pod("a", labels={"tier": "x"}), pod("b", labels={"tier": "y"})]
    before = Problem(cluster(node("n1"), *pods))
    assert len(before.templates) == 1
    more = cluster(node("n1"), service("s", tier="x"))
    after = Problem(replace(more, pods=before.cluster.pods), before)
    assert len(after.templates) == 2
