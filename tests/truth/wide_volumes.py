"""Volumes of every kind: bound, waiting, shared, of one pod alone, zonal, limited, ephemeral, of the node.

What is shared is made, or is there and only to be chosen, or is bound already and nodes attach few.
"""

from __future__ import annotations

import random

from tests.builders import csi_node
from tests.truth.manifests import Object
from tests.truth.templates import HOST, ZONE
from tests.truth.wide_pods import templates

_DRIVER = "csi.example.com"
_KINDS = (
    "bound",
    "bound",
    "waiting",
    "waiting",
    "provisioned",
    "shared",
    "alone",
    "limited",
    "ephemeral",
    "local",
    "common",
    "common",
    "attached",
    "attached",
)
#: So many bound claims are shared by pods of all templates of a namespace.
_ATTACHED = 3


def volumes(chance: random.Random, objects: list[Object], _: str) -> None:
    """A kind or two of volumes for some of the pods."""
    kinds = chance.sample(_KINDS, chance.choice((1, 1, 2)))
    for mode, provisioner in (
        ("local", "kubernetes.io/no-provisioner"),
        ("made", _DRIVER),
    ):
        objects.append(
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "StorageClass",
                "metadata": {"name": mode},
                "provisioner": provisioner,
                "volumeBindingMode": "WaitForFirstConsumer",
                **_zones(chance, mode),
            }
        )
    if "limited" in kinds or "attached" in kinds:
        _limit(chance, objects)
    claims = 0
    for pods in templates(objects):
        if chance.random() < 0.3:
            continue
        kind = chance.choice(kinds)
        if kind == "attached":
            _attach(chance, objects, pods)
            continue
        shared = f"c{claims}"
        for pod in pods:
            name = shared if kind in ("shared", "alone", "common") else f"c{claims}"
            claims += 1
            _give(chance, objects, pod, kind, name)
            if kind == "common" and chance.random() < 0.3:
                _give(chance, objects, pod, chance.choice(("common", "waiting")), f"c{claims}-2")


def _attach(chance: random.Random, objects: list[Object], pods: list[Object]) -> None:
    """One or two of a few claims that are bound to volumes of the driver, which every node reaches."""
    for pod in pods:
        space = pod["metadata"]["namespace"]
        for number in chance.sample(range(_ATTACHED), chance.choice((1, 1, 2))):
            name = f"a{number}-{space}"
            made = _add_claim(objects, name, space, "made", "ReadWriteMany")
            if made is not None:
                _bind_to(objects, made, "", [])
            volume = {"name": f"a{number}", "persistentVolumeClaim": {"claimName": name}}
            pod["spec"].setdefault("volumes", []).append(volume)


def _zones(chance: random.Random, mode: str) -> Object:
    if mode != "made" or chance.random() < 0.5:
        return {}
    values = [{"key": ZONE, "values": ["x"]}]
    return {"allowedTopologies": [{"matchLabelExpressions": values}]}


def _give(chance: random.Random, objects: list[Object], pod: Object, kind: str, claim: str) -> None:
    volume: Object = {"name": "data" if not pod["spec"].get("volumes") else "more"}
    space = pod["metadata"]["namespace"]
    if kind == "local":
        volume |= chance.choice(({"emptyDir": {}}, {"hostPath": {"path": "/x"}}))
    elif kind == "ephemeral":
        template = {"spec": _claim_spec("made", "ReadWriteOnce")}
        volume["ephemeral"] = {"volumeClaimTemplate": template}
        claim = f"{pod['metadata']['name']}-data"
        made = _add_claim(objects, claim, space, "made", "ReadWriteOnce")
        if made is not None:
            made["metadata"]["ownerReferences"] = [
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "name": pod["metadata"]["name"],
                    "uid": pod["metadata"]["uid"],
                    "controller": True,
                }
            ]
            if pod["spec"].get("nodeName"):
                _bind(objects, made, pod, None)
    else:
        volume["persistentVolumeClaim"] = {"claimName": claim}
        mode = (
            "ReadWriteOncePod"
            if kind == "alone"
            else "ReadWriteMany"
            if kind == "shared"
            else "ReadWriteOnce"
        )
        storage = "local" if kind == "waiting" or (kind == "common" and chance.random() < 0.8) else "made"
        made = _add_claim(objects, claim, space, storage, mode) or _unbound(objects, claim, pod)
        if made is not None and (pod["spec"].get("nodeName") or kind in ("bound", "limited")):
            _bind(objects, made, pod, chance)
        elif made is not None and kind in ("waiting", "common") and chance.random() < 0.85:
            for number in range(chance.randint(1, 2) if kind == "common" else 1):
                values = _values(chance, objects)
                name = f"v-{claim}-{number}" if number else f"v-{claim}"
                _volume(objects, name, "local", mode, chance.choice((HOST, ZONE)), values)
    pod["spec"].setdefault("volumes", []).append(volume)


def _values(chance: random.Random, objects: list[Object]) -> list[str]:
    """One or two values of hostname or zone; a wrong key's values match no node, so both are offered."""
    nodes = [item["metadata"]["labels"] for item in objects if item["kind"] == "Node"]
    chosen = chance.sample(nodes, min(len(nodes), 2))
    return [value for labels in chosen for key, value in labels.items() if key in (HOST, ZONE)]


def _claim_spec(storage: str, mode: str) -> Object:
    return {
        "accessModes": [mode],
        "storageClassName": storage,
        "resources": {"requests": {"storage": "1Gi"}},
    }


def _add_claim(objects: list[Object], name: str, space: str, storage: str, mode: str) -> Object | None:
    """A new claim; None where it is there already."""
    for item in objects:
        if item["kind"] == "PersistentVolumeClaim" and item["metadata"]["name"] == name:
            return None
    found: Object = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": space, "uid": f"uid-{name}"},
        "spec": _claim_spec(storage, mode),
        "status": {"phase": "Pending"},
    }
    objects.append(found)
    return found


def _unbound(objects: list[Object], name: str, pod: Object) -> Object | None:
    """A claim that is not bound yet, though a running pod comes to use it."""
    if not pod["spec"].get("nodeName"):
        return None
    claims = [item for item in objects if item["kind"] == "PersistentVolumeClaim"]
    found = [item for item in claims if item["metadata"]["name"] == name and "volumeName" not in item["spec"]]
    volumes = [item for item in objects if item["kind"] == "PersistentVolume"]
    for volume in [item for item in volumes if item["metadata"]["name"] == f"v-{name}"] if found else ():
        objects.remove(volume)
    return found[0] if found else None


def _bind(objects: list[Object], claim: Object, pod: Object, chance: random.Random | None) -> None:
    """Bind a claim to a volume that its pod can reach: anywhere, in its zone, or on its node."""
    nodes = {
        item["metadata"]["name"]: item["metadata"]["labels"] for item in objects if item["kind"] == "Node"
    }
    labels = nodes.get(pod["spec"].get("nodeName", ""))
    if labels is None and chance is not None:
        labels = chance.choice(list(nodes.values()))
    key = ZONE if chance is None else chance.choice((ZONE, ZONE, HOST, ""))
    _bind_to(objects, claim, key, [labels[key]] if labels is not None and key in labels else [])


def _bind_to(objects: list[Object], claim: Object, key: str, values: list[str]) -> None:
    """Bind a claim to a volume that nodes with some values of a label reach; without a key all do."""
    name = f"v-{claim['metadata']['name']}"
    volume = _volume(
        objects, name, claim["spec"]["storageClassName"], claim["spec"]["accessModes"][0], key, values
    )
    meta = claim["metadata"]
    volume["spec"]["claimRef"] = {"name": meta["name"], "namespace": meta["namespace"], "uid": meta["uid"]}
    volume["status"] = {"phase": "Bound"}
    claim["spec"]["volumeName"] = name
    claim["status"] = {"phase": "Bound"}
    notes = {"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"}
    meta["annotations"] = notes


def _volume(  # noqa: PLR0913, PLR0917 - what a volume is made of
    objects: list[Object], name: str, storage: str, mode: str, key: str, values: list[str]
) -> Object:
    spec: Object = {
        "capacity": {"storage": "1Gi"},
        "accessModes": [mode],
        "storageClassName": storage,
        "csi": {"driver": _DRIVER, "volumeHandle": name},
    }
    metadata: Object = {"name": name}
    if key and values:
        terms = [{"matchExpressions": [{"key": key, "operator": "In", "values": values}]}]
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
        if key == ZONE and len(values) == 1:
            metadata["labels"] = {ZONE: values[0]}
    found: Object = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": spec}
    found["status"] = {"phase": "Available"}
    objects.append(found)
    return found


def _limit(chance: random.Random, objects: list[Object]) -> None:
    """Few volumes of the driver on a node."""
    for item in list(objects):
        if item["kind"] == "Node" and chance.random() < 0.7:
            name, count = item["metadata"]["name"], chance.choice((1, 1, 2))
            objects.append(csi_node(name, _DRIVER, count))


def uses_claims(pod: Object) -> bool:
    """Whether a pod has a volume that is claimed."""
    found = pod["spec"].get("volumes") or ()
    return any("persistentVolumeClaim" in volume or "ephemeral" in volume for volume in found)
