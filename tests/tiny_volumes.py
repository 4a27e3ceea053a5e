"""Tiny clusters drawn at random whose pods mount volumes of every kind.

Claims that are bound, that wait for a volume of their class or for a provisioner (or for either), that
should have been bound at once, that only one pod may use, that are made for a pod; volumes that reach
some nodes, are meant for one claim, are large or small, or lie in a zone; nodes that attach only so many.
The same number gives the same cluster.
"""

from __future__ import annotations

from random import Random

from tests.builders import HOST, ZONE, Object, claim, csi_node, labelled, node, pod, storage_class, volume
from tests.tiny import tiny

_DRIVER = "example.com/disk"


def tiny_volumes(number: int, pods: int = 6, nodes: int = 3) -> list[Object]:
    """The manifests of a cluster; its number is its seed."""
    draw = Random(number)
    found = tiny(number, nodes=nodes, pods=pods) if draw.random() < 0.3 else _plain(draw, pods, nodes)
    names = [item["metadata"]["name"] for item in found if item["kind"] == "Node"]
    volumes = [_volume(draw, f"pv{place}", names) for place in range(draw.randint(1, 5))]
    make = _contended if draw.random() < 0.5 else _claim
    claims = [make(draw, f"c{place}", volumes) for place in range(draw.randint(1, 4))]
    for item in found:
        if item["kind"] == "Pod":
            _mount(draw, item, claims)
    attach = [csi_node(name, _DRIVER, draw.randint(0, 3)) for name in names if draw.random() < 0.4]
    return [*found, *volumes, *claims, *_classes(draw), *attach]


def _plain(draw: Random, pods: int, nodes: int) -> list[Object]:
    """Nodes and pods about which hardly anything but their volumes matters."""
    machines = [
        node(f"n{place}", zone=draw.choice("xy"), cpu=draw.choice("248"))
        for place in range(draw.randint(2, nodes))
    ]
    names = [item["metadata"]["name"] for item in machines]
    found = [
        pod(
            f"p{place}",
            on=draw.choice(names) if draw.random() < 0.2 else "",
            owner=f"ReplicaSet/r{place}" if draw.random() < 0.7 else None,
            cpu=draw.choice(("500m", "1")),
        )
        for place in range(draw.randint(1, pods))
    ]
    return [*machines, *found]


def _classes(draw: Random) -> list[Object]:
    limited = [{"matchLabelExpressions": [{"key": ZONE, "values": ["x"]}]}]
    topologies = {"allowedTopologies": limited} if draw.random() < 0.5 else {}
    maker = draw.choice((*["kubernetes.io/no-provisioner"] * 3, _DRIVER))
    local = storage_class("local", maker, **topologies)
    at_once = storage_class("at-once", _DRIVER, volumeBindingMode="Immediate")
    return [local, storage_class("cloud", _DRIVER, **topologies), at_once]


def _volume(draw: Random, name: str, nodes: list[str]) -> Object:
    found = volume(name, draw.choice(((), ("x",), ("y",))), size=draw.choice(("1Gi", "5Gi", "10Gi")))
    if draw.random() < 0.4:
        reached = draw.sample(nodes, draw.randint(1, len(nodes)))
        terms = [labelled(HOST, "In", *reached)]
        found["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    if draw.random() < 0.4:
        found["metadata"]["labels"] = draw.choice(
            ({"pick": "me"}, {"pick": "me"}, {ZONE: "x"}, {ZONE: "x__y"})
        )
    if draw.random() < 0.3:
        found["spec"]["csi"] = {"driver": _DRIVER, "volumeHandle": name}
    return found


def _claim(draw: Random, name: str, volumes: list[Object]) -> Object:
    modes = draw.choice((["ReadWriteOnce"], ["ReadWriteMany"], ["ReadWriteMany"], ["ReadWriteOncePod"]))
    found = claim(name, modes=modes, size=draw.choice(("1Gi", "3Gi", "8Gi")))
    found["spec"]["storageClassName"] = draw.choice((*["local"] * 8, "cloud", "cloud", "at-once"))
    free = [item for item in volumes if "claimRef" not in item["spec"]]
    fate = draw.random()
    if fate < 0.25 and free:
        chosen = draw.choice(free)
        chosen["spec"]["claimRef"] = {"namespace": "default", "name": name}
        if fate < 0.15:
            chosen["status"]["phase"] = found["status"]["phase"] = "Bound"
            found["spec"]["volumeName"] = chosen["metadata"]["name"]
    elif draw.random() < 0.3:
        found["spec"]["selector"] = {"matchLabels": {"pick": "me"}}
    return found


def _contended(draw: Random, name: str, volumes: list[Object]) -> Object:
    """A claim that waits for one of the volumes, whatever others do."""
    found = claim(name, size=draw.choice(("1Gi", "3Gi", "8Gi")))
    if draw.random() < 0.4:
        draw.choice(volumes)["metadata"]["labels"] = {"pick": name}
        found["spec"]["selector"] = {"matchLabels": {"pick": name}}
    return found


def _mount(draw: Random, item: Object, claims: list[Object]) -> None:
    """Some of the claims, mostly none that others are likely to want; or one that is made for the pod."""
    wanted = draw.sample(claims, min(len(claims), draw.choice((0, 1, 1, 2, 2, 2, 3))))
    mounted: list[Object] = [
        {"name": found["metadata"]["name"], "persistentVolumeClaim": {"claimName": found["metadata"]["name"]}}
        for found in wanted
    ]
    if draw.random() < 0.15:
        own = claim(f"{item['metadata']['name']}-own", size=draw.choice(("1Gi", "8Gi")))
        mounted.append({"name": "own", "ephemeral": {"volumeClaimTemplate": {"spec": own["spec"]}}})
        if draw.random() < 0.8:
            claims.append(own)
    if draw.random() < 0.1:
        mounted.append({"name": "disk", "gcePersistentDisk": {"pdName": "d"}})
    item["spec"]["volumes"] = mounted
