"""Stories that were reported: each comes about in some draws as it was told, and never with the fix."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from models import Cluster, InputError
from models.objects.selectors import LabelSelector
from planner import rollout
from planner.documents.rollout import Rollout
from tests.builders import HOST, ZONE, Object, namespace, node, service, spread
from tests.planner.simulation.rollout.running import manifests, running, web, zones
from tests.seeds import tries

BY_REVISION = {"matchLabelKeys": ["pod-template-hash"]}


def sizes(found: Rollout, key: str) -> Iterator[tuple[int, ...]]:
    """How many pods the domains end with, the largest first, in every way that was drawn."""
    return (tuple(sorted(end.domains[key].values(), reverse=True)) for end in found.workloads[0].ends)


def test_98215_a_restart_leaves_a_node_without_a_replica() -> None:
    """Five replicas, three nodes, maxSkew 1: 'three pods in node-1, two in node-2 and none in node-3'."""
    constraint = spread(HOST, app="web")
    nodes = [node(f"node-{number}") for number in (1, 2, 3)]
    objects = running(web(5, constraints=[constraint]), [f"node-{n}" for n in (1, 2, 3, 1, 2)], *nodes)
    before = Cluster.from_objects(objects)
    found = rollout(before, manifests(web(5, constraints=[constraint])), restart=True, replays=tries(25))
    assert found.completes
    assert (3, 2, 0) in sizes(found, HOST)
    assert found.replays.held < found.replays.runs
    assert found.fixes[0].changes[0].action == "matchLabelKeys"
    mended = rollout(
        before,
        manifests(web(5, constraints=[{**constraint, **BY_REVISION}])),
        restart=True,
        replays=tries(12),
    )
    assert mended.replays.held == mended.replays.completed == mended.replays.runs
    assert set(sizes(mended, HOST)) == {(2, 2, 1)}


def test_105661_a_rollout_of_right_decisions_ends_lopsided() -> None:
    """Old pods are counted until the new ones have their nodes; by revision every draw ends level."""
    objects = running(web(6), ["a1", "b1", "c1", "a2", "b2", "c2"], *zones("aabbcc"))
    before, after = Cluster.from_objects(objects), web(6, cpu="200m")
    found = rollout(before, manifests(after), replays=tries(15))
    assert 0 < found.replays.held < found.replays.runs == found.replays.completed
    mended = web(6, cpu="200m", constraints=[{**spread(app="web"), **BY_REVISION}])
    # By pods of all revisions one draw in three ends lopsided.
    level = rollout(before, manifests(mended), replays=tries(12))
    assert set(sizes(level, ZONE)) == {(2, 2, 2)}


def test_several_workloads_that_end_lopsided_are_repaired_together() -> None:
    """What went wrong: each change was tried alone, and nothing was said to help two restarts of a kind."""
    places = ["a1", "b1", "c1", "a2", "b2", "c2"]
    web_runs = running(web(6), places)
    both = [*web_runs, *_as_api(web_runs)]
    cluster = Cluster.from_objects([*zones("aabbcc"), *both])
    deployments = [web(6), *_as_api([web(6)])]
    found = rollout(cluster, manifests(*deployments), restart=True, replays=tries(15))
    assert {row.workload for row in found.broken} == {"Deployment/web", "Deployment/api"}
    (fix,) = found.fixes
    assert [change.target for change in fix.changes] == ["Deployment/web", "Deployment/api"]
    constraints = [{**spread(app="web"), **BY_REVISION}]
    mended = [web(6, constraints=constraints), *_as_api([web(6, constraints=constraints)])]
    # By pods of all revisions nearly every draw ends lopsided.
    level = rollout(cluster, manifests(*mended), restart=True, replays=tries(6))
    assert level.replays.held == level.replays.runs


def _as_api(objects: list[Object]) -> list[Object]:
    """The same objects for a second workload, `api`."""
    text = json.dumps(objects).replace("web", "api")
    for uid in ('"owner"', '"set"', '"00000000-'):
        text = text.replace(uid, f'"1{uid[1:]}')
    found: list[Object] = json.loads(text)
    return found


def test_121284_all_three_in_one_zone() -> None:
    """Two zones, three replicas, maxSkew 2, all at once: 4 - 2 is no more than maxSkew."""
    wide = spread(app="web", skew=2)
    objects = running(web(3, constraints=[wide]), ["a1", "a1", "b1"], *zones("abbb"))
    strategy = {"rollingUpdate": {"maxSurge": "100%", "maxUnavailable": 0}}
    after = web(3, cpu="200m", constraints=[wide], strategy=strategy)
    found = rollout(Cluster.from_objects(objects), manifests(after), replays=20)
    assert (3, 0) in sizes(found, ZONE)


def test_what_is_not_read_may_differ() -> None:
    """The same template was green in silence, though a variable of it may roll every pod out."""
    objects = running(web(2), ["a1", "b1"], *zones("ab"))
    (note,) = rollout(Cluster.from_objects(objects), manifests(web(2))).notes
    assert note.startswith("Deployment shop/web: the template is the one that runs")
    assert rollout(Cluster.from_objects(objects), manifests(web(3))).notes == ()
    restarted = rollout(Cluster.from_objects(objects), manifests(web(2)), restart=True)
    assert (restarted.notes, len(restarted.workloads[0].steps) > 0) == ((), True)


def _named(item: Object, name: str, **labels: str) -> Object:
    """The same workload under another name, with labels of its own."""
    item["metadata"] |= {"name": name, "labels": labels}
    for part in (item["spec"]["selector"]["matchLabels"], item["spec"]["template"]["metadata"]["labels"]):
        part["app"] = name
    return item


@pytest.mark.parametrize(
    ("prune", "completes"), [(None, False), ({"of": "mine"}, True), ({"to": "prod"}, False)]
)
def test_what_no_manifest_has_any_more_makes_room(prune: dict[str, Any] | None, completes: bool) -> None:
    """A removed workload's pods go, and the new one fits; only what the selector chooses goes."""
    old = web(1, cpu="3")
    old["metadata"]["labels"] = {"of": "mine"}
    before = Cluster.from_objects(running(old, ["a1"], *zones("a")))
    selector = None if prune is None else LabelSelector(match_labels=prune)
    new = _named(web(1, cpu="3"), "next", of="mine", to="prod")
    found = rollout(before, manifests(new), prune=selector, fixes=False)
    assert found.completes is completes
    gone = [row for row in found.workloads if row.workload == "Deployment/web"]
    assert [row.ends[0].domains for row in gone] == ([{ZONE: {"a": 0}}] if completes else [])


def test_with_prune_only_manifests_with_its_labels_are_applied() -> None:
    """What went wrong: all were, where kubectl says `no objects passed to apply`."""
    before = Cluster.from_objects(running(web(1), ["a1"], *zones("a")))
    mine, other = _named(web(1), "next", of="mine"), _named(web(1), "other")
    new, selector = manifests(mine, other), LabelSelector(match_labels={"of": "mine"})
    found = rollout(before, new, prune=selector, replays=0)
    assert [row.workload for row in found.workloads] == ["Deployment/next"]
    assert found.notes[-1] == (
        "1 object without the labels of --prune: kubectl apply leaves out Deployment shop/other"
    )
    with pytest.raises(InputError, match="leaves out Deployment shop/next, Deployment shop/other"):
        rollout(before, new, prune=LabelSelector(match_labels={"of": "nobody"}))


def test_what_is_pruned_is_in_namespaces_of_any_object() -> None:
    """What went wrong: in those of workloads alone, where kubectl takes that of a Service, too."""
    old, of_shop = web(1), service("web", "shop", app="web")
    old["metadata"]["labels"] = of_shop["metadata"]["labels"] = {"of": "mine"}
    before = Cluster.from_objects(running(old, ["a1"], *zones("a"), namespace("other")))
    there = _named(web(1), "next", of="mine")
    there["metadata"]["namespace"] = "other"
    selector = LabelSelector(match_labels={"of": "mine"})
    found = rollout(before, manifests(there, of_shop), prune=selector, replays=0)
    assert [row.workload for row in found.workloads] == ["Deployment/next", "Deployment/web"]


def test_a_daemon_set_may_begin_with_any_node() -> None:
    """Too large for its nodes, it stops at the first one, which was taken for the first by name."""
    old, new = (web(0, cpu=cpu, kind="DaemonSet", constraints=[]) for cpu in ("100m", "9"))
    objects = running(old, ["a1", "b1", "c1"], *zones("abc"))
    found = rollout(Cluster.from_objects(objects), manifests(new), replays=40, fixes=False)
    ended = {tuple(end.domains[ZONE].values()) for end in found.workloads[0].ends}
    assert ended == {(0, 1, 1), (1, 0, 1), (1, 1, 0)}
