"""Scheduler profiles: filters and scores that are off, added affinity, ignored resources, defaults."""

from __future__ import annotations

import random

from tests.truth.manifests import REQUIRED, Object
from tests.truth.templates import GPU, HARD, HOST, SOFT, ZONE
from tests.truth.wide_pods import templates

_FILTERS = (
    "NodeResourcesFit",
    "PodTopologySpread",
    "InterPodAffinity",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeUnschedulable",
)
_SCORES = (
    "NodeResourcesFit",
    "PodTopologySpread",
    "InterPodAffinity",
    "TaintToleration",
    "NodeAffinity",
    "NodeResourcesBalancedAllocation",
)


def profiles(chance: random.Random, objects: list[Object], _: str) -> None:
    """One to three profiles; some pods name another than the default one."""
    names = ["default-scheduler", "second", "third"][: chance.choice((1, 2, 2, 3))]
    found = [_profile(chance, name) for name in names]
    for pods in templates(objects):
        name = chance.choice(names)
        for pod in pods:
            if name != "default-scheduler":
                pod["spec"]["schedulerName"] = name
    objects.append(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": found,
        }
    )


def _profile(chance: random.Random, name: str) -> Object:
    found: Object = {"schedulerName": name}
    if chance.random() < 0.3:
        point = chance.choice(("filter", "multiPoint"))
        found.setdefault("plugins", {})[point] = {"disabled": [{"name": chance.choice(_FILTERS)}]}
    if chance.random() < 0.3:
        found.setdefault("plugins", {})["score"] = {"disabled": [{"name": chance.choice((*_SCORES, "*"))}]}
    configs = [config for config in (_added, _ignored, _defaults) if chance.random() < 0.3]
    if configs:
        found["pluginConfig"] = [config(chance) for config in configs]
    return found


def _added(chance: random.Random) -> Object:
    key, values = chance.choice(((ZONE, ["x"]), (ZONE, ["x", "y"]), ("disk", ["ssd"])))
    terms = [{"matchExpressions": [{"key": key, "operator": "In", "values": values}]}]
    return {"name": "NodeAffinity", "args": {"addedAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}}


def _ignored(chance: random.Random) -> Object:
    names: Object = chance.choice(
        (
            {"ignoredResources": [GPU]},
            {"ignoredResources": ["cpu"]},
            {"ignoredResourceGroups": ["example.com"]},
        )
    )
    return {"name": "NodeResourcesFit", "args": names}


def _defaults(chance: random.Random) -> Object:
    constraint = {
        "maxSkew": chance.choice((1, 2)),
        "topologyKey": chance.choice((ZONE, HOST)),
        "whenUnsatisfiable": chance.choice((SOFT, HARD)),
    }
    return {
        "name": "PodTopologySpread",
        "args": {"defaultingType": "List", "defaultConstraints": [constraint]},
    }
