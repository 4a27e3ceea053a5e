"""Small clusters drawn at random, with workloads whose pods bring claims of their own."""

from __future__ import annotations

from random import Random
from typing import Any

from models.objects.annotations import DEFAULT_CLASS, SELECTED_NODE
from tests.builders import (
    HOST,
    LONG_AGO,
    ZONE,
    Object,
    claim,
    csi_node,
    labelled,
    node,
    pod,
    quota,
    replica,
    scaled,
    spread,
    storage_class,
    term,
    volume,
)

_DRIVER = "example.com/disk"
_CLASSES = (*["cloud"] * 12, "other", "local", "at-once", "none", None)


def with_claims(seed: int) -> list[Object]:
    """A few nodes that may attach so many volumes at most, workloads that bring claims, and others beside.

    Volumes are free, or kept for claims; claims of replicas to come are there, bound or not; pods mount
    some; there are quotas.
    """
    draw = Random(seed)
    machines = [_node(draw, f"n{number}") for number in range(draw.randint(1, 5))]
    names = [item["metadata"]["name"] for item in machines]
    objects = [*machines, *_classes(draw), *_limits(draw, names), *_quotas(draw)]
    for number in range(draw.randint(1, 3)):
        objects += _workload(draw, f"w{number}", names)
    for number in range(draw.choice((0, 0, 0, 1, 2))):
        objects.append(_volume(draw, f"free{number}"))
    for number in range(draw.choice((0, 0, 1, 2))):
        low = draw.choice((0, -1))
        objects.append(pod(f"low{number}", draw.choice(names), cpu="1", priority=low, owner="ReplicaSet/low"))
    if draw.random() < 0.2:
        mounts = [f"data-w0-{draw.randint(0, 6)}"]
        objects.append(pod("looks", draw.choice((*names, "")), claims=mounts, owner="ReplicaSet/looks"))
    return objects


def _node(draw: Random, name: str) -> Object:
    zone = draw.choice(("x", "y", "z", "x", None))
    return node(name, zone=zone, cpu=draw.choice(("4", "8", "16")), pods=draw.choice(("6", "110", "110")))


def _classes(draw: Random) -> list[Object]:
    terms = [{"matchLabelExpressions": [{"key": ZONE, "values": draw.choice((["x"], ["x", "y"]))}]}]
    if draw.random() < 0.3:
        terms.append({"matchLabelExpressions": [{"key": HOST, "values": ["n1"]}]})
    limited: Object = {"allowedTopologies": terms} if draw.random() < 0.4 else {}
    default = {"metadata": {"name": "other", "annotations": {DEFAULT_CLASS: "true"}}}
    return [
        storage_class("cloud", _DRIVER, **limited),
        storage_class("other", "example.com/other", **(default if draw.random() < 0.7 else {})),
        storage_class("local"),
        storage_class("at-once", _DRIVER, volumeBindingMode="Immediate", **limited),
    ]


def _limits(draw: Random, nodes: list[str]) -> list[Object]:
    if draw.random() < 0.5:
        return []
    return [csi_node(name, _DRIVER, draw.randint(0, 9)) for name in nodes if draw.random() < 0.8]


def _quotas(draw: Random) -> list[Object]:
    entries = {
        "pods": ("2", "6", "12"),
        "requests.cpu": ("2", "6"),
        "persistentvolumeclaims": ("1", "3", "8"),
        "requests.storage": ("4Gi", "9Gi", "20Gi"),
        "cloud.storageclass.storage.k8s.io/persistentvolumeclaims": ("0", "4"),
        "count/persistentvolumeclaims": ("5", "9"),
    }
    found = []
    for number in range(draw.choice((0, 0, 0, 0, 1, 2))):
        hard = {name: draw.choice(entries[name]) for name in draw.sample([*entries], draw.choice((1, 2)))}
        found.append(quota(hard, f"q{number}", **draw.choice(({}, {}, {"scopes": ["NotBestEffort"]}))))
    if draw.random() < 0.1:
        most = {"type": "PersistentVolumeClaim", "max": {"storage": draw.choice(("2Gi", "5Gi"))}}
        metadata = {"name": "claims", "namespace": "default"}
        bounds = {"apiVersion": "v1", "kind": "LimitRange", "metadata": metadata}
        found.append({**bounds, "spec": {"limits": [most]}})
    return found


def _volume(draw: Random, name: str, **more: Any) -> Object:
    size, csi = draw.choice(("1Gi", "5Gi")), {"driver": _DRIVER, "volumeHandle": name}
    words = {"storageClassName": draw.choice(("cloud", "cloud", "cloud", "local")), **more}
    return volume(name, draw.choice(((), ("x",), ("y",))), size=size, csi=csi, **words)


def _claim(draw: Random, name: str) -> Object:
    mode = draw.choice(("ReadWriteOnce", "ReadWriteOnce", "ReadWriteMany", "ReadWriteOncePod"))
    chosen = draw.choice(_CLASSES)
    found = claim(name, modes=[mode], size=draw.choice(("1Gi", "1Gi", "3Gi")), storageClassName=chosen)
    if chosen is None:
        del found["spec"]["storageClassName"]
    return found


def _workload(draw: Random, name: str, nodes: list[str]) -> list[Object]:
    """A workload, those of its replicas that are there, and what there is of their claims."""
    kind = draw.choice((*["StatefulSet"] * 6, "Deployment", "ReplicaSet", "CloneSet"))
    pods = draw.randint(0, 3)
    owner = scaled("ReplicaSet" if kind == "CloneSet" else kind, name, pods, **_words(draw, name))
    owner["kind"], owner["status"] = kind, {}
    objects, mounted = [owner], list[Object]()
    templates = [_claim(draw, label) for label in draw.choice((("data",), ("data",), ("data", "logs"), ()))]
    if kind == "CloneSet":
        owner["apiVersion"] = "apps.kruise.io/v1alpha1"
    if kind in {"StatefulSet", "CloneSet"}:
        made = [{key: item[key] for key in ("metadata", "spec")} for item in templates]
        owner["spec"]["volumeClaimTemplates"] = made
        owner["spec"]["podManagementPolicy"] = draw.choice(("Parallel", "OrderedReady"))
    if kind in {"Deployment", "ReplicaSet"} or draw.random() < 0.2:
        own = _claim(draw, "own")["spec"]
        mounted.append({"name": "own", "ephemeral": {"volumeClaimTemplate": {"spec": own}}})
    if draw.random() < 0.2:
        mounted.append({"name": "all", "persistentVolumeClaim": {"claimName": f"all-{name}"}})
        objects += _bound(draw, _claim(draw, f"all-{name}"))
    owner["spec"]["template"]["spec"]["volumes"] = mounted
    if kind != "StatefulSet":
        return objects
    for ordinal in range(pods):
        if draw.random() < 0.7:
            there = replica(owner, f"{name}-{ordinal}", draw.choice(nodes))
            keys = [f"{item['metadata']['name']}-{name}-{ordinal}" for item in templates]
            own_volumes = [
                {"name": item["metadata"]["name"], "persistentVolumeClaim": {"claimName": key}}
                for item, key in zip(templates, keys, strict=True)
            ]
            there["spec"]["volumes"] = [*own_volumes, *mounted]
            objects += [there, *_bound(draw, *(_claim(draw, key) for key in keys))]
    if draw.random() < 0.3:
        kept = _claim(draw, f"data-{name}-{pods + draw.randint(0, 3)}")
        objects += _bound(draw, kept)
    if draw.random() < 0.1:
        reserved = {"namespace": "default", "name": f"data-{name}-{pods + draw.randint(0, 3)}"}
        objects.append(_volume(draw, f"kept-{name}", claimRef=reserved))
    return objects


def _bound(draw: Random, *claims: Object) -> list[Object]:
    """Claims, most of them with a volume each."""
    found = list[Object]()
    for item in claims:
        item["metadata"]["creationTimestamp"] = LONG_AGO
        name = item["metadata"]["name"]
        if draw.random() < 0.7:
            item["spec"]["volumeName"], item["status"]["phase"] = f"of-{name}", "Bound"
            found.append(_volume(draw, f"of-{name}", claimRef={"namespace": "default", "name": name}))
        elif draw.random() < 0.3:
            item["metadata"]["annotations"] = {SELECTED_NODE: "n0"}
        found.append(item)
    return found


def _words(draw: Random, name: str) -> dict[str, Any]:
    words: dict[str, Any] = {"cpu": draw.choice(("250m", "500m", "1"))}
    if draw.random() < 0.4:
        keys = draw.choice(((ZONE,), (ZONE,), (HOST,), (ZONE, HOST)))
        words["spread"] = [spread(key, draw.choice((1, 1, 2)), name) for key in keys]
        if draw.random() < 0.15:
            words["spread"][0]["matchLabelKeys"] = ["apps.kubernetes.io/pod-index"]
    if draw.random() < 0.1:
        words["apart"] = [term(HOST, name)]
    if draw.random() < 0.15:
        words["only_on"] = [labelled(ZONE, "In", "x")]
    if draw.random() < 0.3:
        words["priority"] = draw.choice((5, -1))
    return words
