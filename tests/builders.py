"""Clusters in one line: `cluster(node("n1", zone="a"), pod("web-1", on="n1", app="web"))`.

Every builder returns a manifest as Kubernetes would print it; `cluster` reads them all.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from models import Cluster

Object = dict[str, Any]

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
HARD = "DoNotSchedule"
SOFT = "ScheduleAnyway"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
LONG_AGO = "2024-01-01T00:00:00Z"
#: The groups of workloads; that of others is apps/v1.
_GROUPS = {"ReplicationController": "v1", "Job": "batch/v1"}

#: Where the words that `pod` takes belong; what is not here is a field of the spec.
_METADATA = {
    "namespace": "namespace",
    "uid": "uid",
    "created": "creationTimestamp",
    "annotations": "annotations",
    "generation": "generation",
}
_STATUS = {
    "phase": "phase",
    "nominated": "nominatedNodeName",
    "started": "startTime",
    "conditions": "conditions",
    "containers_now": "containerStatuses",
    "init_now": "initContainerStatuses",
}
_SPEC = {
    "spread": "topologySpreadConstraints",
    "node_selector": "nodeSelector",
    "scheduler": "schedulerName",
    "init": "initContainers",
    "never": "preemptionPolicy",
}


def cluster(*objects: Object) -> Cluster:
    """The cluster that these manifests describe."""
    return Cluster.from_objects(objects)


def node(name: str, zone: str | None = None, **words: Any) -> Object:
    """A node of 4 cpu, 8Gi and 110 pods; `labels`, `taints`, `cordoned`, else a resource and its amount."""
    labels = {HOST: name, **({ZONE: zone} if zone else {}), **words.pop("labels", {})}
    taints, cordoned = words.pop("taints", ()), words.pop("cordoned", False)
    images = words.pop("images", [])
    room = {"cpu": "4", "memory": "8Gi", "pods": "110", **words.pop("room", {}), **words}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {key: value for key, value in labels.items() if value is not None},
        },
        "spec": {"taints": [taint(item) for item in taints], "unschedulable": cordoned},
        "status": {
            "allocatable": {name: amount for name, amount in room.items() if amount is not None},
            "images": images,
        },
    }


def taint(text: str) -> Object:
    """`key=value:Effect`, or `key:Effect`, as kubectl spells a taint."""
    pair, effect = text.split(":")
    key, _, value = pair.partition("=")
    return {"key": key, "value": value, "effect": effect}


def tolerate(text: str) -> Object:
    """The toleration of exactly this taint; `key` alone tolerates it whatever its value and effect."""
    if ":" not in text:
        return {"key": text, "operator": "Exists"}
    return {**taint(text), "operator": "Equal"}


def pod(name: str, on: str = "", **words: Any) -> Object:
    """A pod of one container; running when `on` names a node.

    `app` is a label; `cpu`, `memory` and `requests` are what it asks for; `ports` are host ports;
    `near`, `apart`, `likes` and `dislikes` are affinity terms; `only_on` are node selector terms;
    `claims` are volume claims; `gone` marks it terminating; the rest is as in a manifest.
    """
    app = words.pop("app", None)
    labels = {**({"app": app} if app else {}), **words.pop("labels", {})}
    metadata: Object = {"name": name, "labels": labels, "namespace": words.pop("namespace", "default")}
    if owner := words.pop("owner", None):
        metadata["ownerReferences"] = [reference(owner)]
    if words.pop("gone", False):
        metadata["deletionTimestamp"] = LONG_AGO
    status: Object = {"phase": "Running" if on else "Pending"}
    spec: Object = {"nodeName": on} if on else {}
    spec["containers"] = words.pop("containers", None) or [_container(words)]
    spec |= _rules(words)
    for word, value in words.items():
        if word in _METADATA:
            metadata[_METADATA[word]] = value
        elif word in _STATUS:
            status[_STATUS[word]] = value
        else:
            spec[_SPEC.get(word, word)] = value
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def _container(words: Object) -> Object:
    wanted = {name: words.pop(name) for name in ("cpu", "memory") if name in words}
    requests = {**wanted, **words.pop("requests", {})}
    ports = [{"containerPort": 80, **_port(item)} for item in words.pop("ports", ())]
    limits = words.pop("limits", {})
    return {"name": "main", "resources": {"requests": requests, "limits": limits}, "ports": ports}


def _port(item: int | Object) -> Object:
    return {"hostPort": item} if isinstance(item, int) else item


def _rules(words: Object) -> Object:
    """The affinity, tolerations, gates and volumes that the short words stand for."""
    near, apart = words.pop("near", ()), words.pop("apart", ())
    likes, dislikes = words.pop("likes", ()), words.pop("dislikes", ())
    affinity: Object = {}
    if near or likes:
        affinity["podAffinity"] = {REQUIRED: list(near), PREFERRED: list(likes)}
    if apart or dislikes:
        affinity["podAntiAffinity"] = {REQUIRED: list(apart), PREFERRED: list(dislikes)}
    if only_on := words.pop("only_on", None):
        affinity["nodeAffinity"] = {REQUIRED: {"nodeSelectorTerms": only_on}}
    volumes = [
        {"name": f"v{number}", "persistentVolumeClaim": {"claimName": name}}
        for number, name in enumerate(words.pop("claims", ()))
    ]
    return {
        **({"affinity": affinity} if affinity else {}),
        **({"volumes": volumes} if volumes else {}),
        **(
            {"schedulingGates": [{"name": name} for name in gates]}
            if (gates := words.pop("gates", ()))
            else {}
        ),
    }


def selector(app: str | None = None, **labels: str) -> Object:
    """A label selector over `app` and other labels; without any it selects everything."""
    return {"matchLabels": {**({"app": app} if app else {}), **labels}}


def spread(key: str = ZONE, skew: int = 1, app: str | None = "web", **more: Any) -> Object:
    """A DoNotSchedule constraint over the pods with this `app`; `when=SOFT` makes it soft."""
    constraint = {
        "topologyKey": key,
        "maxSkew": skew,
        "whenUnsatisfiable": more.pop("when", HARD),
        "labelSelector": more.pop("selects", None if app is None else selector(app)),
    }
    return {**constraint, **more}


def term(key: str, app: str | None = None, **more: Any) -> Object:
    """An affinity term over the pods with this `app`."""
    return {"topologyKey": key, "labelSelector": more.pop("selects", selector(app)), **more}


def weighted(weight: int, term: Object) -> Object:
    """A preferred affinity term."""
    return {"weight": weight, "podAffinityTerm": term}


def labelled(key: str, operator: str, *values: str) -> Object:
    """A node selector term of one expression."""
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def workload(kind: str, name: str, app: str | None = None, **more: Any) -> Object:
    """A ReplicaSet, StatefulSet or the like that wants no pods beyond those there are."""
    chosen: Mapping[str, Any] = selector(app or name)
    if kind == "ReplicationController":
        chosen = chosen["matchLabels"]
    return {
        "apiVersion": _GROUPS.get(kind, "apps/v1"),
        "kind": kind,
        "metadata": {"name": name, "namespace": more.pop("namespace", "default"), "uid": name, **more},
        "spec": {"replicas": 0, "selector": chosen},
    }


def scaled(kind: str, name: str, replicas: int, *, namespace: str = "default", **words: Any) -> Object:
    """A workload with so many replicas and a template; the words are those of `pod`."""
    made = pod(name, app=words.pop("app", name), **words)
    found = workload(kind, name, made["metadata"]["labels"]["app"], namespace=namespace)
    template = {"metadata": {"labels": made["metadata"]["labels"]}, "spec": made["spec"]}
    number = {"parallelism": replicas} if kind == "Job" else {"replicas": replicas}
    selector_ = {} if kind == "Job" else {"selector": found["spec"]["selector"]}
    if kind == "DaemonSet":
        number = {}
    return {**found, "spec": {**number, **selector_, "template": template}}


def revision(deployment: Object, number: int = 1, **metadata: Any) -> Object:
    """A ReplicaSet of a Deployment, named `<deployment>-r<number>`."""
    name = f"{deployment['metadata']['name']}-r{number}"
    hashed = {"pod-template-hash": f"r{number}"}
    template = deployment["spec"]["template"]
    labels = template["metadata"]["labels"] | hashed
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": name,
            "namespace": deployment["metadata"]["namespace"],
            "uid": name,
            "labels": hashed,
            "annotations": {"deployment.kubernetes.io/revision": str(number)},
            "ownerReferences": [reference(deployment)],
            **metadata,
        },
        "spec": {
            "replicas": deployment["spec"]["replicas"],
            "selector": {"matchLabels": labels},
            "template": {**template, "metadata": {"labels": labels}},
        },
    }


def replica(owner: Object, name: str, on: str = "", **words: Any) -> Object:
    """A pod that a workload made from its template."""
    template = owner["spec"]["template"]
    labels = template["metadata"]["labels"] | words.pop("labels", {})
    words.setdefault("created", LONG_AGO)
    made = pod(name, on, labels=labels, owner=owner, namespace=owner["metadata"]["namespace"], **words)
    made["spec"] = {**template["spec"], **({"nodeName": on} if on else {})}
    return made


def reference(owner: Object | str) -> Object:
    """The owner reference of what this object, or KIND/NAME, controls."""
    if isinstance(owner, str):
        kind, name = owner.split("/")
        return reference(workload(kind, name))
    kind, name = owner["kind"], owner["metadata"]["name"]
    uid = owner["metadata"].get("uid", name)
    return {"apiVersion": owner["apiVersion"], "kind": kind, "name": name, "uid": uid, "controller": True}


def admitted_template(kind: str, name: str, sent: Object, admitted: Object) -> Object:
    """What `--server-dry-run` brings: the pod of a workload that was sent, and what became of it."""
    metadata = {key: sent["metadata"].get(key, "default") for key in ("name", "namespace")}
    return {
        "apiVersion": "planner/v1alpha1",
        "kind": "AdmittedTemplate",
        "metadata": metadata,
        "workloadKind": kind,
        "workloadName": name,
        "sent": sent,
        "admitted": admitted,
    }


def service(name: str, namespace: str = "default", **labels: str) -> Object:
    """A Service over the pods with these labels."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": labels},
    }


def namespace(name: str, **labels: str) -> Object:
    """A namespace with labels."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def quota(hard: Mapping[str, Any], name: str = "q", **spec: Any) -> Object:
    """A ResourceQuota of the namespace default."""
    metadata = {"name": name, "namespace": "default"}
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": metadata,
        "spec": {"hard": {**hard}, **spec},
    }


def budget(
    name: str, app: str, allowed: int | None = None, *, namespace: str = "default", **spec: Any
) -> Object:
    """A PodDisruptionBudget that allows so many evictions, or whose status is not known yet."""
    status = {} if allowed is None else {"status": {"disruptionsAllowed": allowed}}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": selector(app), **(spec or {"minAvailable": 1})},
        **status,
    }


def storage_class(name: str, provisioner: str = "kubernetes.io/no-provisioner", **more: Any) -> Object:
    """A class of storage that waits for the pod's node."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer",
        **more,
    }


def volume(name: str, zones: Sequence[str] = (), **more: Any) -> Object:
    """A free 10Gi volume of class `local`, reachable in some zones or everywhere."""
    where = {"required": {"nodeSelectorTerms": [labelled(ZONE, "In", *zones)]}} if zones else None
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": more.pop("size", "10Gi")},
            "accessModes": ["ReadWriteOnce", "ReadWriteMany"],
            "storageClassName": "local",
            **({"nodeAffinity": where} if where else {}),
            **more,
        },
        "status": {"phase": "Bound" if "claimRef" in more else "Available"},
    }


def claim(name: str, bound_to: str = "", **more: Any) -> Object:
    """A 1Gi claim of class `local`, waiting unless it is bound to a volume."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "accessModes": more.pop("modes", ["ReadWriteMany"]),
            "resources": {"requests": {"storage": more.pop("size", "1Gi")}},
            "storageClassName": "local",
            **({"volumeName": bound_to} if bound_to else {}),
            **more,
        },
        "status": {"phase": "Bound" if bound_to else "Pending"},
    }


def csi_node(name: str, driver: str, count: int) -> Object:
    """How many volumes of a driver a node attaches."""
    drivers = [{"name": driver, "nodeID": name, "topologyKeys": [], "allocatable": {"count": count}}]
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": name},
        "spec": {"drivers": drivers},
    }


def priority_class(name: str, value: int, **more: Any) -> Object:
    """A class of pods with this priority."""
    head = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
    return {**head, "value": value, **more}


def profile(name: str = "default-scheduler", plugins: Object | None = None, **args: Object) -> Object:
    """A scheduler profile; plugin arguments by plugin name."""
    config = [{"name": plugin, "args": found} for plugin, found in args.items()]
    return {"schedulerName": name, "plugins": plugins or {}, "pluginConfig": config}


def scheduler(*profiles: Object, **more: Any) -> Object:
    """A KubeSchedulerConfiguration with these profiles."""
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": list(profiles),
        **more,
    }
