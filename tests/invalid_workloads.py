"""Workloads with one mistake each, and others that only look so, as kube-apiserver 1.36.2 tells them apart.

A case is a field and its value, in a workload of a kind that has nothing wrong without it.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]

_APPS, _BATCH = "apps/v1", "batch/v1"
_API_VERSIONS = {
    "CronJob": _BATCH,
    "DaemonSet": _APPS,
    "Deployment": _APPS,
    "Job": _BATCH,
    "ReplicaSet": _APPS,
    "ReplicationController": "v1",
    "StatefulSet": _APPS,
}
_LONG = "a" * 64


@dataclass(frozen=True, slots=True)
class Case:
    """A change of a workload; paths with `pod.` are in the spec of its pods, with `c.` in their container."""

    changes: Object
    kind: str = "Deployment"

    def __str__(self) -> str:
        return f"{self.kind} {self.changes}".replace("'", "")

    def manifest(self) -> Object:
        """The workload with the change."""
        changed = plain(self.kind)
        for path, value in self.changes.items():
            _set(changed, path, copy.deepcopy(value))
        return changed

    def pod(self) -> Object:
        """A pod of it, as far as the template goes and its controller does not change that."""
        spec = self.manifest()["spec"]
        template = spec["jobTemplate"]["spec"]["template"] if self.kind == "CronJob" else spec["template"]
        metadata, spec = {**template["metadata"], "name": "one"}, dict(template["spec"])
        if self.kind == "StatefulSet":
            claims = [
                claim["metadata"]["name"] for claim in self.manifest()["spec"].get("volumeClaimTemplates", ())
            ]
            spec |= {"hostname": "one", "subdomain": "web"}
            spec["volumes"] = [{"name": name} for name in claims] + spec.get("volumes", [])
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def plain(kind: str) -> Object:
    """A workload that is accepted."""
    labels = {"app": "web"}
    pod: Object = {"containers": [{"name": "c", "image": "i"}]}
    spec: Object = {"template": {"metadata": {"labels": labels}, "spec": pod}}
    if kind in {"CronJob", "Job"}:
        pod["restartPolicy"] = "Never"
    elif kind == "ReplicationController":
        spec["selector"] = labels
    else:
        spec["selector"] = {"matchLabels": labels}
    if kind == "StatefulSet":
        spec["serviceName"] = "web"
    if kind == "CronJob":
        spec = {"schedule": "@daily", "jobTemplate": {"spec": spec}}
    return {"apiVersion": _API_VERSIONS[kind], "kind": kind, "metadata": {"name": "web"}, "spec": spec}


def _set(item: Any, path: str, value: object) -> None:
    if path.startswith("c."):
        path = f"pod.containers.0.{path.removeprefix('c.')}"
    if path.startswith("pod."):
        path = f"spec.template.spec.{path.removeprefix('pod.')}"
    *above, last = path.split(".")
    for name in above:
        item = item[int(name)] if isinstance(item, list) else item.setdefault(name, {})
    if isinstance(item, list):
        item[int(last) :] = [value]
    else:
        item[last] = value


def _each(path: str, *values: object, kind: str = "Deployment") -> list[Case]:
    return [Case({path: value}, kind) for value in values]


def _spread(**fields: Any) -> Object:
    return {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", **fields}


def _anti(**fields: Any) -> Object:
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"x": "y"}}, **fields}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _preferred(weight: int = 1, **fields: Any) -> Object:
    term = {"topologyKey": "zone", "labelSelector": {}, **fields}
    sides = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": weight, "podAffinityTerm": term}]}
    return {"podAffinity": sides}


def _nodes(weight: int | None = None, **expression: Any) -> Object:
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"], **expression}]}
    if weight is None:
        required = {"nodeSelectorTerms": [term]}
        return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    preferred = [{"weight": weight, "preference": term}]
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}


def _resources(requests: Object | None = None, limits: Object | None = None, **more: Any) -> Object:
    sides = {"requests": requests, "limits": limits}
    return {**{name: amounts for name, amounts in sides.items() if amounts is not None}, **more}


_SELECTOR = {"matchLabels": {"app": "web"}}
_CLAIM = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
_SELF_CLAIM = {"name": "r", "resourceClaimName": "r"}
_HUGE = "hugepages-2Mi"
_MEMORY = {"memory": "1Gi"}
_SPREAD_KEYS = {"labelSelector": _SELECTOR, "matchLabelKeys": ["rev"]}

_ON_EXIT = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1]}}
_ON_CONDITION = {"onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}

#: Not stored by the API server.
REFUSED = [
    *_each("metadata.name", "Web", "-web", "a b", "a" * 254, "a..b"),
    *_each(
        "metadata.labels", {"a b": "x"}, {"a": "x y"}, {"a": _LONG}, {_LONG: "x"}, {"A/b": "x"}, {"a": "-"}
    ),
    *_each("metadata.annotations", {"a b": "x"}, {"a/b/c": "x"}),
    *_each("spec.selector", {}, {"matchLabels": {"app": "other"}}),
    *_each("spec.selector.matchExpressions", [{"key": "app", "operator": "In", "values": []}]),
    *_each("spec.selector.matchExpressions", [{"key": "app", "operator": "Exists", "values": ["web"]}]),
    *_each("spec.selector.matchExpressions", [{"key": "app", "operator": "Is", "values": ["web"]}]),
    *_each("spec.replicas", -1),
    *_each("spec.minReadySeconds", -1, 600),
    *_each("spec.progressDeadlineSeconds", -1, 0),
    *_each("spec.revisionHistoryLimit", -1),
    *_each("spec.strategy", {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}, {"type": "Rolling"}),
    *_each("spec.strategy.rollingUpdate.maxUnavailable", "101%", -1, "ten", "1.5%"),
    *_each("spec.strategy.rollingUpdate.maxSurge", -1, "x%"),
    *_each("spec.strategy.rollingUpdate", {"maxSurge": 0, "maxUnavailable": "0%"}),
    *_each("pod.serviceAccountName", "A_B"),
    *_each("pod.priorityClassName", "High"),
    *_each("pod.runtimeClassName", "a_b"),
    *_each("pod.nodeSelector", {"a b": "x"}, {"zone": "x y"}),
    *_each("pod.restartPolicy", "Never", "OnFailure", "Sometimes"),
    *_each("pod.activeDeadlineSeconds", 10, 0, kind="ReplicaSet"),
    *_each("pod.activeDeadlineSeconds", 10),
    *_each("pod.os", {"name": "beos"}),
    *_each("pod.dnsPolicy", "None", "Mine"),
    *_each("pod.schedulingGates", [{"name": "a b"}], [{"name": "g"}, {"name": "g"}]),
    *_each("pod.readinessGates", [{"conditionType": "a b"}]),
    *_each("pod.preemptionPolicy", "Sometimes"),
    *_each("pod.hostname", "A.b"),
    *_each("pod.subdomain", "A"),
    Case({"pod.hostUsers": False, "pod.hostNetwork": True}),
    Case({"pod.hostPID": True, "pod.shareProcessNamespace": True}),
    *_each("pod.containers", [{"name": "c", "image": "i"}] * 2),
    *_each("c.name", "", "C", "a.b", _LONG),
    *_each("c.image", ""),
    *_each("c.imagePullPolicy", "Often"),
    *_each("pod.initContainers", [{"name": "c", "image": "i"}], [{"name": "i"}]),
    *_each("pod.initContainers", [{"name": "i", "image": "i", "restartPolicy": "Sometimes"}]),
    *_each(
        "c.ports", [{"containerPort": 0}], [{"containerPort": 70000}], [{"containerPort": 1, "hostPort": -1}]
    ),
    *_each("c.ports", [{"containerPort": 1, "protocol": "ICMP"}]),
    *_each("c.ports", *([{"containerPort": 1, "name": name}] for name in ("a" * 16, "A", "1", "a--b", "-a"))),
    *_each("c.ports", [{"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "a"}]),
    *_each("c.ports", [{"containerPort": 1, "hostPort": 5}, {"containerPort": 2, "hostPort": 5}]),
    Case({"pod.hostNetwork": True, "c.ports": [{"containerPort": 1, "hostPort": 2}]}),
    Case(
        {
            "c.ports": [{"containerPort": 1, "hostPort": 5}],
            "pod.containers.1": {"name": "d", "image": "i", "ports": [{"containerPort": 1, "hostPort": 5}]},
        }
    ),
    *_each("c.env", [{"name": ""}], [{"name": "a=b", "value": "x"}]),
    *_each("c.resources", _resources({"cpu": "2"}, {"cpu": "1"})),
    *_each("c.resources", _resources({"cpu": "-1"}), _resources({"cpu": "x"}), _resources({"disk": "1"})),
    *_each(
        "c.resources", _resources({"example.com/gpu": "1"}), _resources({"a b/gpu": "1"}, {"a b/gpu": "1"})
    ),
    *_each("c.resources", _resources({"example.com/gpu": "1"}, {"example.com/gpu": "2"})),
    *_each("c.resources", _resources({"example.com/gpu": "0.5"}, {"example.com/gpu": "0.5"})),
    *_each("c.resources", _resources(limits={"requests.example.com/gpu": "1"})),
    *_each("c.resources", _resources({_HUGE: "2Mi"}), _resources({_HUGE: "2Mi"}, {_HUGE: "2Mi"})),
    *_each("c.resources", _resources({_HUGE: "2Mi", **_MEMORY}), _resources({**_MEMORY}, {_HUGE: "3Mi"})),
    *_each(
        "c.resources",
        _resources({**_MEMORY}, {"hugepages-x": "2Mi"}),
        _resources({**_MEMORY}, {_HUGE: "0.5"}),
    ),
    *_each("c.resources", _resources(claims=[{"name": "r"}])),
    *_each("pod.resources", _resources({"disk": "1"}), _resources({"ephemeral-storage": "1Gi"})),
    *_each("pod.resources", _resources({"cpu": "2"}, {"cpu": "1"})),
    Case({"pod.resources": _resources({"cpu": "1"}), "c.resources": _resources({"cpu": "2"})}),
    Case({"pod.resources": _resources(limits={"cpu": "1"}), "c.resources": _resources(limits={"cpu": "2"})}),
    *_each(
        "pod.volumes", [{"name": ""}], [{"name": "A", "emptyDir": {}}], [{"name": "v", "emptyDir": {}}] * 2
    ),
    *_each("pod.volumes", [{"name": "v", "emptyDir": {}, "hostPath": {"path": "/x"}}]),
    *_each(
        "pod.volumes",
        [{"name": "v", "persistentVolumeClaim": {"claimName": ""}}],
        [{"name": "v", "ephemeral": {}}],
    ),
    *_each("c.volumeMounts", [{"name": "v", "mountPath": "/x"}]),
    *_each("c.volumeDevices", [{"name": "v", "devicePath": "/x"}]),
    *_each("pod.resourceClaims", [{"name": "r"}], [_SELF_CLAIM] * 2, [{**_SELF_CLAIM, "name": "R"}]),
    *_each("pod.resourceClaims", [{**_SELF_CLAIM, "resourceClaimTemplateName": "t"}]),
    *_each("pod.tolerations", [{"key": "a b", "operator": "Exists"}], [{"key": "a", "operator": "Is"}]),
    *_each("pod.tolerations", [{"operator": "Equal", "value": "x"}], [{"key": "a", "value": "x y"}]),
    *_each(
        "pod.tolerations",
        [{"key": "a", "operator": "Exists", "value": "x"}],
        [{"key": "a", "effect": "Never"}],
    ),
    *_each("pod.tolerations", [{"key": "a", "operator": "Exists", "tolerationSeconds": 5}]),
    *_each("pod.topologySpreadConstraints", [_spread(maxSkew=0)], [_spread(topologyKey="")]),
    *_each("pod.topologySpreadConstraints", [_spread(maxSkew=-1)], [_spread(whenUnsatisfiable="Never")]),
    *_each("pod.topologySpreadConstraints", [_spread(), _spread()], [_spread(minDomains=0)]),
    *_each("pod.topologySpreadConstraints", [_spread(whenUnsatisfiable="ScheduleAnyway", minDomains=1)]),
    *_each("pod.topologySpreadConstraints", [_spread(matchLabelKeys=["rev"])]),
    *_each("pod.topologySpreadConstraints", [_spread(labelSelector=_SELECTOR, matchLabelKeys=["a b"])]),
    *_each("pod.topologySpreadConstraints", [_spread(nodeTaintsPolicy="Perhaps")]),
    *_each("pod.topologySpreadConstraints", [_spread(labelSelector={"matchLabels": {"a b": "x"}})]),
    *_each("pod.topologySpreadConstraints", [_spread(labelSelector={"matchLabels": {"a": "x y"}})]),
    *_each("pod.affinity", _anti(topologyKey=""), _anti(topologyKey="a b"), _anti(namespaces=["A"])),
    *_each("pod.affinity", _anti(matchLabelKeys=["rev"], mismatchLabelKeys=["rev"])),
    *_each("pod.affinity", _anti(matchLabelKeys=["rev"], labelSelector=None)),
    *_each("pod.affinity", _anti(labelSelector={"matchExpressions": [{"key": "a", "operator": "In"}]})),
    *_each("pod.affinity", _preferred(0), _preferred(101), _preferred(topologyKey="")),
    *_each(
        "pod.affinity", _nodes(operator="Is"), _nodes(values=[]), _nodes(operator="Exists"), _nodes(key="a b")
    ),
    *_each("pod.affinity", _nodes(operator="Gt", values=["1", "2"])),
    *_each("pod.affinity", _nodes(0), _nodes(101), _nodes(values=["x y"])),
    *_each(
        "pod.affinity",
        {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}},
    ),
    # Of kinds of their own.
    *_each(
        "spec.updateStrategy.rollingUpdate",
        {"maxSurge": 1},
        {"maxSurge": 1, "maxUnavailable": 1},
        kind="DaemonSet",
    ),
    *_each(
        "spec.updateStrategy.rollingUpdate",
        {"maxUnavailable": 0},
        {"maxUnavailable": "101%"},
        kind="DaemonSet",
    ),
    *_each("spec.updateStrategy", {"type": "Recreate"}, kind="DaemonSet"),
    *_each("spec.minReadySeconds", -1, kind="DaemonSet"),
    *_each("pod.restartPolicy", "Never", kind="DaemonSet"),
    *_each("pod.activeDeadlineSeconds", 10, kind="DaemonSet"),
    *_each("spec.selector", {}, {"matchLabels": {"app": "other"}}, kind="DaemonSet"),
    *_each("spec.selector", {}, {"matchLabels": {"app": "other"}}, kind="StatefulSet"),
    *_each("spec.updateStrategy", {"type": "Recreate"}, kind="StatefulSet"),
    *_each(
        "spec.updateStrategy", {"type": "OnDelete", "rollingUpdate": {"partition": 1}}, kind="StatefulSet"
    ),
    *_each("spec.updateStrategy.rollingUpdate", {"partition": -1}, kind="StatefulSet"),
    *_each("spec.podManagementPolicy", "Random", kind="StatefulSet"),
    *_each("spec.replicas", -1, kind="StatefulSet"),
    *_each("spec.ordinals", {"start": -1}, kind="StatefulSet"),
    *_each("pod.restartPolicy", "OnFailure", kind="StatefulSet"),
    *_each("pod.activeDeadlineSeconds", 10, kind="StatefulSet"),
    *_each("metadata.name", "Web", kind="StatefulSet"),
    *_each("spec.selector", {}, {"matchLabels": {"app": "other"}}, kind="ReplicaSet"),
    *_each("pod.restartPolicy", "Never", kind="ReplicaSet"),
    *_each("spec.replicas", -1, kind="ReplicaSet"),
    *_each("spec.selector", {"app": "other"}, kind="ReplicationController"),
    *_each("pod.restartPolicy", "Never", kind="ReplicationController"),
    *_each("pod.restartPolicy", None, "Always", "Sometimes", kind="Job"),
    *_each("pod.activeDeadlineSeconds", 0, kind="Job"),
    *_each("spec.activeDeadlineSeconds", -1, kind="Job"),
    *_each("spec.completionMode", "Mine", kind="Job"),
    *_each("spec.backoffLimitPerIndex", 1, kind="Job"),
    *_each("spec.maxFailedIndexes", 1, kind="Job"),
    *_each("spec.parallelism", -1, kind="Job"),
    *_each("spec.completions", -1, kind="Job"),
    *_each("spec.backoffLimit", -1, kind="Job"),
    *_each("spec.ttlSecondsAfterFinished", -1, kind="Job"),
    *_each("spec.podReplacementPolicy", "Mine", kind="Job"),
    *_each("spec.podFailurePolicy", {"rules": [{"action": "Ignore"}]}, kind="Job"),
    Case({"spec.completionMode": "Indexed", "spec.completions": 2, "spec.maxFailedIndexes": 1}, "Job"),
    Case({"spec.completionMode": "Indexed", "spec.parallelism": 1, "spec.completions": None}, "Job"),
    Case({"spec.selector": {"matchLabels": {"app": "web"}}}, "Job"),
    *_each("c.env", [{"name": "A", "value": 8080}], [{"name": "A", "value": True}]),
    *_each("c.args", ["a", 1], "a", {"a": "b"}),
    *_each("c.command", "sleep"),
    *_each("c.stdin", "true"),
    *_each("c.livenessProbe", {"exec": {"command": ["true"]}, "periodSeconds": "5"}, [1]),
    *_each("c.livenessProbe", {"exec": {"command": ["true"]}, "periodSeconds": 1.5}),
    *_each("c.volumeMounts", [{"name": "v", "mountPath": 5}]),
    *_each("pod.securityContext", {"runAsUser": "1000"}, {"sysctls": {"name": "a", "value": "b"}}),
    *_each("spec.template.metadata.annotations", {"prometheus.io/port": 9090}, {"a": True}),
    *_each("spec.progressDeadlineSeconds", 600.5),
    Case({"spec.minReadySeconds": 600, "spec.progressDeadlineSeconds": None}),
    Case({"pod.dnsPolicy": "None", "pod.dnsConfig": {}}),
    Case({"pod.hostUsers": False, "pod.hostPID": True}),
    Case(
        {
            "pod.volumes": [{"name": "v", "emptyDir": {}}],
            "c.volumeMounts": [{"name": "v", "mountPath": "/x"}, {"name": "v", "mountPath": "/x"}],
        }
    ),
    *_each("pod.volumes", [{"name": "a.b", "emptyDir": {}}]),
    *_each("pod.hostname", "a.b"),
    *_each("pod.nodeSelector", {"/x": "y"}),
    *_each("metadata.annotations", {"\u00c4": "x"}),
    *_each("metadata.name", "a.b", kind="StatefulSet"),
    *_each("c.volumeMounts", [{"name": "data", "mountPath": "/x"}], kind="StatefulSet"),
    *_each(
        "spec.updateStrategy.rollingUpdate",
        {"maxUnavailable": 0, "maxSurge": None},
        {"maxUnavailable": 0, "maxSurge": "150%"},
        kind="DaemonSet",
    ),
    Case({"spec.manualSelector": True, "spec.selector": None}, "Job"),
    *_each("spec.podFailurePolicy", {"rules": [{**_ON_EXIT, "action": "FailIndex"}]}, kind="Job"),
    *_each("spec.podFailurePolicy", {"rules": [{**_ON_EXIT, **_ON_CONDITION}]}, kind="Job"),
    Case({"spec.podFailurePolicy": {"rules": [_ON_EXIT]}, "pod.restartPolicy": "OnFailure"}, "Job"),
    Case(
        {
            "spec.completionMode": "Indexed",
            "spec.completions": 2,
            "spec.backoffLimitPerIndex": 1,
            "spec.maxFailedIndexes": 3,
        },
        "Job",
    ),
    *_each("spec.jobTemplate.spec.template.spec.containers", [{"name": "c"}], kind="CronJob"),
    *_each("spec.jobTemplate.spec.template.spec.restartPolicy", "Always", None, kind="CronJob"),
    *_each("spec.jobTemplate.spec.parallelism", -1, kind="CronJob"),
    *_each("metadata.name", "A", kind="CronJob"),
]

#: Stored; but the pods are refused, so that the workload never has one.
REFUSED_PODS = [
    *_each("c.image", " i"),
    Case({"pod.hostNetwork": True, "c.ports": [{"containerPort": 1}, {"containerPort": 1}]}),
    Case(
        {
            "spec.template.metadata.labels": {"app": "web", "rev": "1"},
            "pod.topologySpreadConstraints": [
                _spread(labelSelector={"matchLabels": {"rev": "1"}}, matchLabelKeys=["rev"])
            ],
        }
    ),
    Case(
        {
            "spec.template.metadata.labels": {"app": "web", "rev": "1"},
            "pod.affinity": _anti(labelSelector={"matchLabels": {"rev": "1"}}, matchLabelKeys=["rev"]),
        }
    ),
    Case({"pod.schedulingGates": [{"name": "g"}], "pod.nodeName": "n1"}),
    Case({"pod.resources": _resources(limits={"cpu": "1"}), "c.resources": _resources({"cpu": "2"})}),
    Case(
        {
            "pod.resources": _resources(limits={"cpu": "2"}),
            "c.resources": _resources(limits={"cpu": "2"}),
            "pod.containers.1": {"name": "d", "image": "i", "resources": _resources(limits={"cpu": "2"})},
        }
    ),
]

#: Stored, and their pods, too.
ACCEPTED = [
    *_each("spec.strategy.type", ""),
    *_each("pod.schedulerName", ""),
    *_each("c.ports", [{"containerPort": 1, "protocol": ""}]),
    *_each("spec.revisionHistoryLimit", -1, kind="StatefulSet"),
    *_each("spec.progressDeadlineSeconds", None),
    *_each("spec.template.metadata.name", "My_Template Name"),
    *_each("spec.template.metadata.name", "My_Template Name", kind="Job"),
    *_each("pod.hostname", "a.b", kind="StatefulSet"),
    *_each("pod.subdomain", "a.b", kind="StatefulSet"),
    Case(
        {
            "spec.volumeClaimTemplates": [_CLAIM],
            "c.volumeMounts": [{"name": "data", "mountPath": "/x"}],
        },
        "StatefulSet",
    ),
    *_each("spec.updateStrategy.rollingUpdate", {"maxUnavailable": 1, "maxSurge": None}, kind="DaemonSet"),
    *_each("spec.updateStrategy.rollingUpdate", {"maxUnavailable": None, "maxSurge": None}, kind="DaemonSet"),
    Case({"spec.updateStrategy": {"type": "OnDelete", "rollingUpdate": {"maxUnavailable": 0}}}, "DaemonSet"),
    *_each("spec.podFailurePolicy", {"rules": [_ON_EXIT]}, kind="Job"),
    *_each("pod.securityContext", {"runAsUser": 1000}),
    *_each(
        "c.env",
        [
            {"name": "a.b-c", "value": "8080"},
            {"name": "N", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        ],
    ),
    *_each("c.livenessProbe", {"httpGet": {"port": "http", "path": "/"}}, {"tcpSocket": {"port": 80}}),
    *_each("c.command", ["sleep", "1"], None, []),
    *(Case({}, kind) for kind in _API_VERSIONS),
    *_each("metadata.name", "a.b", "1", "a" * 63),
    *_each("metadata.labels", {"a": ""}, {"example.com/A_b.c": "X_y.z-1"}, {"a" * 63: "b" * 63}),
    *_each("metadata.annotations", {"A/b": "any thing at all!"}, {"a": "\n" * 300}),
    *_each("spec.progressDeadlineSeconds", 2147483647, 1),
    *_each(
        "spec.strategy.rollingUpdate", {"maxSurge": "200%"}, {"maxUnavailable": "100%"}, {"maxUnavailable": 5}
    ),
    *_each("spec.strategy", {"type": "Recreate"}, {"type": "Recreate", "rollingUpdate": None}),
    *_each("spec.replicas", 0, None),
    *_each("pod.restartPolicy", "Always", None, ""),
    *_each("pod.schedulingGates", [{"name": "example.com/g"}, {"name": "h"}]),
    *_each("pod.nodeSelector", {"example.com/zone": ""}),
    *_each("pod.nodeName", "n1"),
    *_each("pod.terminationGracePeriodSeconds", -1),
    Case({"pod.dnsPolicy": "None", "pod.dnsConfig": {"nameservers": ["1.2.3.4"]}}),
    *_each("c.name", "a" * 63, "1a"),
    *_each(
        "c.ports",
        [{"containerPort": 1}] * 2,
        [{"containerPort": 1, "name": "a-1"}],
        [{"containerPort": 1, "hostPort": 0}],
    ),
    *_each(
        "c.ports",
        [{"containerPort": 1, "hostPort": 5}, {"containerPort": 2, "hostPort": 5, "protocol": "UDP"}],
    ),
    *_each(
        "c.ports",
        [{"containerPort": 1, "hostPort": 5}, {"containerPort": 2, "hostPort": 5, "hostIP": "127.0.0.1"}],
    ),
    Case({"pod.hostNetwork": True, "c.ports": [{"containerPort": 1, "hostPort": 1}]}),
    Case(
        {
            "c.ports": [{"containerPort": 1, "name": "a", "hostPort": 5}],
            "pod.initContainers": [
                {"name": "i", "image": "i", "ports": [{"containerPort": 1, "name": "a", "hostPort": 5}]}
            ],
        }
    ),
    Case(
        {
            "c.ports": [{"containerPort": 1, "hostPort": 5}],
            "pod.initContainers": [
                {
                    "name": "i",
                    "image": "i",
                    "restartPolicy": "Always",
                    "ports": [{"containerPort": 1, "hostPort": 5}],
                }
            ],
        }
    ),
    Case(
        {
            "pod.initContainers": [
                {"name": name, "image": "i", "ports": [{"containerPort": 1, "hostPort": 5}]} for name in "ij"
            ],
        }
    ),
    Case(
        {
            "c.ports": [{"containerPort": 1, "name": "a"}],
            "pod.containers.1": {"name": "d", "image": "i", "ports": [{"containerPort": 1, "name": "a"}]},
        }
    ),
    *_each(
        "c.resources",
        _resources({"cpu": "0"}),
        _resources({"cpu": "1"}, {"cpu": "1"}),
        _resources(limits={"cpu": "1"}),
    ),
    *_each("c.resources", _resources({"cpu": "0.0001"}), _resources({"memory": "100m"})),
    *_each(
        "c.resources",
        _resources(limits={"example.com/gpu": "1"}),
        _resources({"example.com/gpu": "0"}, {"example.com/gpu": "0"}),
    ),
    *_each(
        "c.resources",
        _resources({"kubernetes.io/x": "1"}),
        _resources({"kubernetes.io/x": "1"}, {"kubernetes.io/x": "2"}),
    ),
    *_each(
        "c.resources",
        _resources(_MEMORY, {_HUGE: "4Mi"}),
        _resources({_HUGE: "2Mi", "cpu": "1"}, {_HUGE: "2Mi"}),
    ),
    Case({"c.resources": _resources(claims=[{"name": "r"}]), "pod.resourceClaims": [_SELF_CLAIM]}),
    *_each("pod.resources", _resources({"cpu": "2"}, {"cpu": "2"}), _resources(limits={"memory": "1Gi"})),
    Case({"pod.resources": _resources({"cpu": "2"}), "c.resources": _resources({"cpu": "2"})}),
    Case(
        {
            "pod.resources": _resources({"cpu": "2", _HUGE: "2Mi"}, {_HUGE: "2Mi"}),
            "c.resources": _resources({"cpu": "2"}),
        }
    ),
    Case(
        {"pod.volumes": [{"name": "v", "emptyDir": {}}], "c.volumeMounts": [{"name": "v", "mountPath": "/x"}]}
    ),
    *_each("pod.volumes", [{"name": "v"}], [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]),
    *_each(
        "pod.tolerations",
        [{"operator": "Exists"}],
        [{"key": "a"}],
        [{"key": "a", "effect": "NoExecute", "tolerationSeconds": -1}],
    ),
    *_each(
        "pod.topologySpreadConstraints",
        [_spread(), _spread(whenUnsatisfiable="ScheduleAnyway")],
        [_spread(labelSelector={})],
    ),
    *_each(
        "pod.topologySpreadConstraints",
        [_spread(**_SPREAD_KEYS)],
        [_spread(labelSelector=_SELECTOR, matchLabelKeys=["a", "a"])],
    ),
    *_each(
        "pod.topologySpreadConstraints",
        [_spread(labelSelector={"matchLabels": {"rev": "1"}}, matchLabelKeys=["rev"])],
    ),
    *_each("pod.affinity", _anti(namespaces=["a"]), _anti(matchLabelKeys=["rev"]), _anti(labelSelector=None)),
    Case(
        {
            "spec.template.metadata.labels": {"app": "web", "rev": "1"},
            "pod.affinity": _anti(labelSelector={"matchLabels": {"rev": "1"}}, mismatchLabelKeys=["rev"]),
        }
    ),
    *_each(
        "pod.affinity", _preferred(100), _nodes(values=["a", "b"]), _nodes(operator="Exists", values=None)
    ),
    *_each("pod.affinity", _nodes(operator="Gt", values=["1"]), _nodes(1)),
    *_each(
        "spec.updateStrategy.rollingUpdate",
        {"maxSurge": 1, "maxUnavailable": 0},
        {"maxSurge": 0},
        kind="DaemonSet",
    ),
    *_each("spec.updateStrategy.rollingUpdate", {"maxUnavailable": "100%"}, kind="DaemonSet"),
    *_each("spec.updateStrategy", {"type": "OnDelete"}, kind="StatefulSet"),
    *_each("spec.updateStrategy.rollingUpdate", {"partition": 3}, {"maxUnavailable": 2}, kind="StatefulSet"),
    *_each("pod.topologySpreadConstraints", [_spread(topologyKey="a b")]),
    *_each("spec.completionMode", "Indexed", kind="Job"),
    *_each("pod.restartPolicy", "OnFailure", kind="Job"),
    *_each("pod.activeDeadlineSeconds", 10, kind="Job"),
    *_each("spec.completions", 0, 2, kind="Job"),
    Case({"spec.completionMode": "Indexed", "spec.completions": 2, "spec.backoffLimitPerIndex": 1}, "Job"),
]
