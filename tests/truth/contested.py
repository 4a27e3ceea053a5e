"""Random tiny clusters in which pods of several profiles want the same few volumes, devices and domains.

Claims are bound, wait for one of a few volumes or for one that is made in a zone, are for one pod alone, or
have a node selected; nodes attach few; devices are allocated to a zone or a node, and reserved for nearly as
many pods as they can be.  Profiles leave filters out, add affinity, ignore resources and have default
constraints.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from tests.builders import (
    HOST,
    REQUIRED,
    ZONE,
    claim,
    csi_node,
    labelled,
    node,
    pod,
    profile,
    scheduler,
    service,
    spread,
    storage_class,
    term,
    tolerate,
    volume,
    workload,
)
from tests.truth.manifests import Object
from tests.truth.scheduler_configs import FILTERS
from tests.truth.templates import GPU

_DRIVER = "example.com/disk"
_NAMES = ("default-scheduler", "other", "third")
_OFTEN_OFF = ("VolumeBinding", "VolumeBinding", "InterPodAffinity", "NodeAffinity", "DynamicResources")
_MODES = ("ReadWriteOnce", "ReadWriteMany", "ReadWriteMany", "ReadWriteOncePod")


def draw(seed: int) -> list[Object]:
    """The manifests of a cluster."""
    return _Contested(Random(f"contested {seed}")).objects()


class _Contested:
    """One cluster in the making."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self._nodes = [f"n{number}" for number in range(self._one(2, 2, 3, 3, 4))]
        self._profiles = _NAMES[: self._one(1, 2, 3)] if self._likely(0.55) else ()

    def _one(self, *values: Any) -> Any:
        return self._chance.choice(values)

    def _likely(self, share: float) -> bool:
        return self._chance.random() < share

    def objects(self) -> list[Object]:
        found = [self._node(number, name) for number, name in enumerate(self._nodes)]
        has_volumes = self._likely(0.65)
        volumes = [self._volume(number) for number in range(self._one(0, 1, 2, 3, 4))] if has_volumes else []
        claims = [self._claim(f"c{n}", volumes) for n in range(self._one(1, 2, 3, 4))] if has_volumes else []
        devices = [self._device(f"d{n}") for n in range(self._one(1, 2))] if self._likely(0.3) else []
        found += [*volumes, *devices, *self._classes()]
        found += [
            csi_node(name, _DRIVER, self._one(0, 1, 1, 2)) for name in self._nodes if self._likely(0.25)
        ]
        kinds = [self._kind(f"r{number}") for number in range(self._one(1, 2, 2, 3))]
        owners = {words["owner"].partition("/")[2]: words["app"] for words in kinds if "owner" in words}
        found += [workload("ReplicaSet", name, app) for name, app in owners.items() if self._likely(0.5)]
        found += [service("s", app=self._one("a", "b"))] if self._likely(0.2) else []
        running = self._one(0, 0.2, 0.4, 0.7)
        for number in range(self._one(2, 3, 4, 5, 5, 6)):
            made = self._pod(f"p{number}", self._one(*kinds), running)
            self._mount(made, claims, devices)
            found.append(made)
        found += claims
        if self._profiles:
            found.append(scheduler(*(self._profile(name) for name in self._profiles)))
        return found

    def _node(self, number: int, name: str) -> Object:
        return node(
            name,
            zone="xy"[number % 2] if self._likely(0.9) else self._one("z", None),
            cpu=self._one("1", "2", "3", "4"),
            pods=self._one("2", "3", "110"),
            taints=["dedicated=x:NoSchedule"] if self._likely(0.12) else [],
            cordoned=self._likely(0.06),
            labels={"disk": self._one("ssd", "hdd")},
            room={GPU: self._one("1", "2")} if self._likely(0.3) else {},
        )

    # Volumes and devices

    def _classes(self) -> list[Object]:
        provisioner = self._one("kubernetes.io/no-provisioner", "kubernetes.io/no-provisioner", _DRIVER)
        return [
            storage_class("local", provisioner, **self._topologies()),
            storage_class("made", _DRIVER, **self._topologies()),
            storage_class("at-once", _DRIVER, volumeBindingMode="Immediate", **self._topologies()),
        ]

    def _topologies(self) -> Object:
        zones = [{"key": ZONE, "values": [self._one("x", "y")]}]
        return {"allowedTopologies": [{"matchLabelExpressions": zones}]} if self._likely(0.6) else {}

    def _volume(self, number: int) -> Object:
        found = volume(f"v{number}", size=self._one("1Gi", "5Gi", "10Gi"))
        found["spec"]["accessModes"] += ["ReadWriteOncePod"] if self._likely(0.7) else []
        if (reach := self._reach(0.8)) is not None:
            found["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": [reach]}}
        if self._likely(0.25):
            found["spec"]["csi"] = {"driver": _DRIVER, "volumeHandle": f"v{number}"}
        if self._likely(0.2):
            found["metadata"]["labels"] = self._one({"pick": "me"}, {ZONE: "x"}, {ZONE: "x__y"})
        return found

    def _reach(self, share: float) -> Object | None:
        """A term of some nodes or of a zone, or, beyond the share, of no choice."""
        if not self._likely(share):
            return None
        some = self._chance.sample(self._nodes, self._one(1, 1, 2))
        found: Object = self._one(labelled(HOST, "In", *some), labelled(ZONE, "In", self._one("x", "y")))
        return found

    def _claim(self, name: str, volumes: list[Object]) -> Object:
        found = claim(name, modes=[self._one(*_MODES)], size=self._one("1Gi", "1Gi", "5Gi", "8Gi"))
        found["spec"]["storageClassName"] = self._one(*["local"] * 5, *["made"] * 3, "at-once")
        if self._likely(0.7):
            found["metadata"]["uid"] = f"uid-{name}"
        free = [item for item in volumes if "claimRef" not in item["spec"]]
        fate = self._chance.random()
        if fate < 0.3 and free:
            chosen = self._one(*free)
            chosen["spec"]["claimRef"] = {"namespace": "default", "name": name}
            if fate < 0.2:
                chosen["spec"]["storageClassName"] = found["spec"]["storageClassName"]
                chosen["status"]["phase"] = found["status"]["phase"] = "Bound"
                found["spec"]["volumeName"] = chosen["metadata"]["name"]
        elif fate < 0.36:
            found["spec"]["selector"] = {"matchLabels": {"pick": "me"}}
        elif fate < 0.4:
            found["metadata"]["annotations"] = {"volume.kubernetes.io/selected-node": self._one(*self._nodes)}
        return found

    def _device(self, name: str) -> Object:
        request = {"name": "r", "exactly": {"deviceClassName": "gpu"}}
        found: Object = {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": name, "namespace": "default", "uid": name},
            "spec": {"devices": {"requests": [request]}},
        }
        if self._likely(0.8):
            reach = self._reach(0.8)
            where = {} if reach is None else {"nodeSelector": {"nodeSelectorTerms": [reach]}}
            held = [f"u{number}" for number in range(self._one(0, 1, 254, 255, 256))]
            users = [{"resource": "pods", "name": user, "uid": user} for user in held]
            found["status"] = {"allocation": {"devices": {"results": []}, **where}, "reservedFor": users}
        return found

    def _mount(self, made: Object, claims: list[Object], devices: list[Object]) -> None:
        name, mounted = made["metadata"]["name"], list[Object]()
        if claims and self._likely(0.75):
            for item in self._chance.sample(claims, min(len(claims), self._one(1, 1, 1, 2))):
                claimed = item["metadata"]["name"]
                mounted.append({"name": claimed, "persistentVolumeClaim": {"claimName": claimed}})
        if claims and self._likely(0.06):
            own = claim(f"{name}-own", storageClassName=self._one("local", "made"))
            owner = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": name, "controller": True}
            own["metadata"]["ownerReferences"] = [owner]
            mounted.append({"name": "own", "ephemeral": {"volumeClaimTemplate": {"spec": own["spec"]}}})
            claims.append(own)
        if self._likely(0.04):
            mounted.append(
                {"name": "disk", "gcePersistentDisk": {"pdName": "d", "readOnly": self._likely(0.5)}}
            )
        if mounted:
            made["spec"]["volumes"] = mounted
        if devices and self._likely(0.6):
            claimed = self._one(*devices)["metadata"]["name"]
            made["spec"]["resourceClaims"] = [{"name": "d", "resourceClaimName": claimed}]

    # Pods and profiles

    def _kind(self, owner: str) -> Object:
        """What some pods have in common, in the words of the builder."""
        words: Object = {"app": self._one("a", "a", "b"), "cpu": self._one("500m", "1", "1", "2")}
        optional: dict[str, tuple[float, Callable[[], Any]]] = {
            "spread": (
                0.35,
                lambda: [self._spread(key) for key in self._one((ZONE,), (HOST,), (ZONE, HOST))],
            ),
            "apart": (0.2, lambda: [term(self._one(ZONE, HOST), self._one("a", "b"))]),
            "near": (0.2, lambda: [term(self._one(ZONE, HOST), self._one("a", "b"))]),
            "ports": (0.12, lambda: [self._one(80, {"hostPort": 80, "hostIP": "10.0.0.1"})]),
            "tolerations": (0.12, lambda: [tolerate("dedicated")]),
            "node_selector": (0.12, lambda: {ZONE: self._one("x", "y")}),
            "only_on": (0.08, lambda: [labelled("disk", "In", "ssd")]),
            "priority": (0.3, lambda: self._one(5, 5, 10, -1)),
            "requests": (0.1, lambda: {GPU: "1"}),
            "owner": (0.6, lambda: f"ReplicaSet/{owner}"),
        }
        words |= {word: make() for word, (share, make) in optional.items() if self._likely(share)}
        return words | {"scheduler": self._one(*self._profiles) if self._profiles else "default-scheduler"}

    def _spread(self, key: str) -> Object:
        more: Object = {"nodeTaintsPolicy": "Honor"} if self._likely(0.25) else {}
        more |= {"nodeAffinityPolicy": "Ignore"} if self._likely(0.2) else {}
        more |= {"minDomains": self._one(2, 3)} if self._likely(0.15) else {}
        return spread(key, self._one(1, 1, 2), self._one("a", "a", "b"), **more)

    def _pod(self, name: str, words: Object, running: float) -> Object:
        words = {word: list(value) if isinstance(value, list) else value for word, value in words.items()}
        if self._likely(0.15):
            words["scheduler"] = self._one(*self._profiles, "nobody")
        if self._likely(running):
            return pod(name, self._one(*self._nodes), uid=name, gone=self._likely(0.07), **words)
        words |= {"gates": ["g"]} if self._likely(0.06) else {}
        words |= {"nominated": self._one(*self._nodes)} if self._likely(0.08) else {}
        return pod(name, uid=name, **words)

    def _profile(self, name: str) -> Object:
        plugins: Object = {}
        if self._likely(0.7):
            off = {self._one(*FILTERS, *_OFTEN_OFF) for _ in range(self._one(1, 1, 2, 3))} - {"NodeName"}
            disabled = {"disabled": [{"name": one} for one in sorted(off)]}
            # At filter alone a plugin would go on to refuse pods outright, which is not counted again there.
            plugins |= {self._one("filter", "multiPoint"): disabled, "preFilter": disabled}
        args: dict[str, Object] = {}
        if self._likely(0.2):
            terms = [labelled(ZONE, self._one("In", "NotIn"), "x")]
            args["NodeAffinity"] = {"addedAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}
        if self._likely(0.35):
            default = {
                "maxSkew": 1,
                "topologyKey": self._one(ZONE, HOST),
                "whenUnsatisfiable": "DoNotSchedule",
            }
            args["PodTopologySpread"] = {"defaultingType": "List", "defaultConstraints": [default]}
        if self._likely(0.2):
            args["NodeResourcesFit"] = {"ignoredResources": [GPU]}
        return profile(name, plugins, **args)
