"""Nodes and pods as the API server returns them, with all that a planner has to read past."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Manifest = dict[str, Any]

# What differs between the pods of one Deployment, or between the nodes of one pool, stands in the
# rendered JSON as one of these words and is replaced in the text: rendering 50,000 objects one by
# one would take minutes.
NAME, UID, NODE, IP, HOST_IP, TOKEN, VERSION, DIGEST = (
    f"@{word}@" for word in ("name", "uid", "node", "ip", "hostIP", "token", "version", "digest")
)
ZONE_WORD = "@zone@"

BOOT = "2025-03-01T06:00:00Z"
START = "2025-03-04T09:12:31Z"


@dataclass(frozen=True, slots=True)
class Pool:
    """Nodes bought together."""

    name: str
    share: float
    instance_type: str
    cpu: int
    memory_gib: int
    taint: str | None = None


@dataclass(frozen=True, slots=True)
class App:
    """One Deployment and its only ReplicaSet."""

    name: str
    namespace: str
    pool: Pool
    replicas: int
    template_hash: str
    cpu_milli: int
    memory_mib: int
    spread: Sequence[Manifest] = ()

    @property
    def labels(self) -> dict[str, str]:
        """What every pod of the Deployment carries."""
        return {
            "app.kubernetes.io/instance": self.name,
            "app.kubernetes.io/name": self.name,
            "app.kubernetes.io/part-of": self.namespace,
            "pod-template-hash": self.template_hash,
        }


def node_shape(pool: Pool) -> Manifest:
    """Any node of a pool."""
    capacity = {
        "cpu": str(pool.cpu),
        "ephemeral-storage": "104845292Ki",
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "0",
        "memory": f"{pool.memory_gib * 1024**2}Ki",
        "pods": "110",
    }
    allocatable = capacity | {
        "cpu": f"{pool.cpu * 1000 - 80}m",
        "ephemeral-storage": "95551679124",
        "memory": f"{pool.memory_gib * 1024**2 - 753_664}Ki",
    }
    taints = [{"effect": "NoSchedule", "key": pool.taint, "value": "true"}] if pool.taint else []
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "annotations": {
                "node.alpha.kubernetes.io/ttl": "0",
                "volumes.kubernetes.io/controller-managed-attach-detach": "true",
            },
            "creationTimestamp": BOOT,
            "labels": {
                "beta.kubernetes.io/arch": "amd64",
                "beta.kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": NAME,
                "kubernetes.io/os": "linux",
                "node.kubernetes.io/instance-type": pool.instance_type,
                "pool": pool.name,
                "topology.kubernetes.io/region": "north-1",
                "topology.kubernetes.io/zone": ZONE_WORD,
            },
            "name": NAME,
            "resourceVersion": VERSION,
            "uid": UID,
        },
        "spec": {"providerID": f"cloud:///{ZONE_WORD}/{NAME}"} | ({"taints": taints} if taints else {}),
        "status": {
            "addresses": [
                {"address": HOST_IP, "type": "InternalIP"},
                {"address": NAME, "type": "Hostname"},
            ],
            "allocatable": allocatable,
            "capacity": capacity,
            "conditions": [
                _node_condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
                _node_condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
                _node_condition("PIDPressure", "False", "KubeletHasSufficientPID"),
                _node_condition("Ready", "True", "KubeletReady"),
            ],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "images": [
                {"names": [f"registry.example.com/base/image-{n}:1.{n}"], "sizeBytes": n * 10**7}
                for n in range(1, 9)
            ],
            "nodeInfo": {
                "architecture": "amd64",
                "containerRuntimeVersion": "containerd://1.7.27",
                "kernelVersion": "6.1.0-31-amd64",
                "kubeletVersion": "v1.34.1",
                "operatingSystem": "linux",
                "osImage": "Debian GNU/Linux 12 (bookworm)",
            },
        },
    }


def _node_condition(kind: str, status: str, reason: str) -> Manifest:
    return {
        "lastHeartbeatTime": START,
        "lastTransitionTime": BOOT,
        "message": f"kubelet reports {reason}",
        "reason": reason,
        "status": status,
        "type": kind,
    }
