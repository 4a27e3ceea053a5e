"""Random scheduler configurations over tiny clusters: several profiles, each with something changed."""

from __future__ import annotations

import copy
import random
from typing import Any

from tests.builders import scheduler
from tests.truth.manifests import REQUIRED, Object
from tests.truth.templates import GPU, HOST, SOFT, ZONE

FILTERS = (
    "InterPodAffinity",
    "NodeAffinity",
    "NodeName",
    "NodePorts",
    "NodeResourcesFit",
    "NodeUnschedulable",
    "NodeVolumeLimits",
    "PodTopologySpread",
    "TaintToleration",
    "VolumeBinding",
    "VolumeRestrictions",
    "VolumeZone",
)
SCORES = (
    "ImageLocality",
    "InterPodAffinity",
    "NodeAffinity",
    "NodeResourcesBalancedAllocation",
    "NodeResourcesFit",
    "PodTopologySpread",
    "TaintToleration",
)
_NAMES = ("default-scheduler", "other", "third")


def configured(objects: list[Object], seed: int) -> list[Object]:
    """The same objects with a configuration, and pods of all its profiles and of one that it lacks."""
    found = copy.deepcopy(objects)
    add_profiles(random.Random(f"profiles {seed}"), found)
    return found


def add_profiles(chance: random.Random, objects: list[Object], _: str = "") -> None:
    """Put a configuration beside the objects, and the name of a profile, or of none, on their pods."""
    _Configuration(chance).add_to(objects)


class _Configuration:
    """One configuration in the making."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def _one(self, *values: Any) -> Any:
        return self._chance.choice(values)

    def _likely(self, share: float) -> bool:
        return self._chance.random() < share

    def add_to(self, objects: list[Object]) -> None:
        names = _NAMES[: self._one(1, 2, 2, 3)]
        named = [*names, *names, *(["nobody"] if self._likely(0.2) else [])]
        by_kind: dict[str, str] = {}
        for item in objects:
            if item["kind"] == "Pod":
                key = str(sorted(item["metadata"].get("labels", {}).items()))
                chosen = (
                    by_kind.setdefault(key, self._one(*named)) if self._likely(0.8) else self._one(*named)
                )
                item["spec"]["schedulerName"] = chosen
        objects.append(scheduler(*(self._profile(name) for name in names)))

    def _profile(self, name: str) -> Object:
        plugins: Object = {}
        if self._likely(0.6):
            point = self._one("filter", "filter", "filter", "multiPoint")
            plugins[point] = {"disabled": self._named(FILTERS, self._one(1, 1, 1, 2, 12))}
            # At filter alone a plugin would go on to refuse pods outright, which the search does not know.
            plugins["preFilter"] = plugins[point]
        if self._likely(0.3):
            plugins["score"] = {"disabled": self._named(SCORES, self._one(1, 2, 7))}
        elif self._likely(0.2):
            plugin = {"name": self._one(*SCORES), "weight": self._one(1, 5, 50)}
            plugins["score"] = {"disabled": [{"name": plugin["name"]}], "enabled": [plugin]}
        if self._likely(0.1):
            plugins["postFilter"] = {"disabled": [{"name": "*"}]}
        arguments = [{"name": name, "args": args} for name, args in self._arguments().items()]
        return {"schedulerName": name, "plugins": plugins, "pluginConfig": arguments}

    def _named(self, names: tuple[str, ...], number: int) -> list[Object]:
        return [{"name": name} for name in self._chance.sample(names, min(number, len(names)))]

    def _arguments(self) -> dict[str, Object]:
        found: dict[str, Object] = {}
        if self._likely(0.4):
            found["NodeResourcesFit"] = self._fit()
        if self._likely(0.2):
            key, values = self._one((ZONE, ["x"]), (ZONE, ["x", "y"]), ("disk", ["ssd"]))
            expression = {"key": key, "operator": self._one("In", "NotIn"), "values": values}
            terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
            found["NodeAffinity"] = {"addedAffinity": {REQUIRED: terms}}
        if self._likely(0.25):
            found["PodTopologySpread"] = self._defaults()
        if self._likely(0.1):
            found["InterPodAffinity"] = {"hardPodAffinityWeight": self._one(0, 100)}
        return found

    def _fit(self) -> Object:
        found: Object = {}
        if self._likely(0.6):
            group = GPU.partition("/")[0]
            if self._likely(1 / 3):
                found["ignoredResourceGroups"] = self._one([group], ["other.example"])
            else:
                found["ignoredResources"] = self._one([GPU], [GPU], [group], ["cpu"], ["memory", "pods"])
        if self._likely(0.5):
            strategy: Object = {
                "type": self._one("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")
            }
            strategy["resources"] = [{"name": self._one("cpu", GPU, "memory"), "weight": self._one(1, 5)}]
            if strategy["type"] == "RequestedToCapacityRatio":
                shape = [{"utilization": 0, "score": self._one(0, 10)}, {"utilization": 100, "score": 5}]
                strategy["requestedToCapacityRatio"] = {"shape": shape}
            found["scoringStrategy"] = strategy
        return found

    def _defaults(self) -> Object:
        if self._likely(0.3):
            return {"defaultingType": "System"}
        constraints = [
            {
                "maxSkew": self._one(1, 1, 2),
                "topologyKey": self._one(ZONE, HOST),
                "whenUnsatisfiable": self._one("DoNotSchedule", "DoNotSchedule", SOFT),
            }
            for _ in range(self._one(0, 1, 1))
        ]
        return {"defaultingType": "List", "defaultConstraints": constraints}
