"""A stand-in for a Kubernetes API server on loopback: discovery, and lists of fixed objects."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

#: group/version -> (plural, kind, whether it lives in namespaces)
RESOURCES: Mapping[str, Sequence[tuple[str, str, bool]]] = {
    "v1": (
        ("limitranges", "LimitRange", True),
        ("namespaces", "Namespace", False),
        ("nodes", "Node", False),
        ("persistentvolumeclaims", "PersistentVolumeClaim", True),
        ("persistentvolumes", "PersistentVolume", False),
        ("pods", "Pod", True),
        ("replicationcontrollers", "ReplicationController", True),
        ("resourcequotas", "ResourceQuota", True),
        ("secrets", "Secret", True),
        ("serviceaccounts", "ServiceAccount", True),
        ("services", "Service", True),
    ),
    "admissionregistration.k8s.io/v1": (
        ("mutatingadmissionpolicies", "MutatingAdmissionPolicy", False),
        ("mutatingadmissionpolicybindings", "MutatingAdmissionPolicyBinding", False),
        ("mutatingwebhookconfigurations", "MutatingWebhookConfiguration", False),
        ("validatingadmissionpolicies", "ValidatingAdmissionPolicy", False),
        ("validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", False),
        ("validatingwebhookconfigurations", "ValidatingWebhookConfiguration", False),
    ),
    "apps/v1": (
        ("daemonsets", "DaemonSet", True),
        ("deployments", "Deployment", True),
        ("replicasets", "ReplicaSet", True),
        ("statefulsets", "StatefulSet", True),
    ),
    "autoscaling/v2": (("horizontalpodautoscalers", "HorizontalPodAutoscaler", True),),
    "batch/v1": (("cronjobs", "CronJob", True), ("jobs", "Job", True)),
    "node.k8s.io/v1": (("runtimeclasses", "RuntimeClass", False),),
    "policy/v1": (("poddisruptionbudgets", "PodDisruptionBudget", True),),
    "resource.k8s.io/v1": (
        ("deviceclasses", "DeviceClass", False),
        ("resourceclaims", "ResourceClaim", True),
        ("resourceclaimtemplates", "ResourceClaimTemplate", True),
    ),
    "scheduling.k8s.io/v1": (("priorityclasses", "PriorityClass", False),),
    "storage.k8s.io/v1": (
        ("csinodes", "CSINode", False),
        ("storageclasses", "StorageClass", False),
        ("volumeattachments", "VolumeAttachment", False),
    ),
}


class ApiServer(ThreadingHTTPServer):
    """Serves `objects` by plural name; what is in `forbidden` is answered with 403."""

    daemon_threads = True
    #: kubectl asks for all groups at once; a connection that finds the queue full is tried again after 1 s.
    request_queue_size = 64

    def __init__(
        self,
        objects: Mapping[str, list[dict[str, Any]]],
        forbidden: Sequence[str],
        more: Mapping[str, Sequence[tuple[str, str, bool]]],
        lacks: Sequence[str],
    ) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.objects = objects
        known = {
            version: [resource for resource in resources if resource[0] not in lacks]
            for version, resources in {**RESOURCES, **more}.items()
        }
        self.resources = {version: resources for version, resources in known.items() if resources}
        self.forbidden = forbidden
        self.asked: list[str] = []

    def answer(self, path: str) -> tuple[int, dict[str, Any]]:
        """The status and body of a GET."""
        self.asked.append(path)
        found = {**_discovery(self.resources), **dict(self._lists())}.get(path.rstrip("/"))
        return found or (404, _status(404, "NotFound", "the server could not find it"))

    def _lists(self) -> Iterator[tuple[str, tuple[int, dict[str, Any]]]]:
        for version, resources in self.resources.items():
            for plural, kind, namespaced in resources:
                yield f"{_root(version)}/{plural}", self._list(version, plural, kind)
                if not namespaced and plural not in self.forbidden:
                    for item in self.objects.get(plural, []):
                        one = {"kind": kind, "apiVersion": version, **item}
                        yield f"{_root(version)}/{plural}/{item['metadata']['name']}", (200, one)

    def _list(self, version: str, plural: str, kind: str) -> tuple[int, dict[str, Any]]:
        if plural in self.forbidden:
            reason = f'{plural} is forbidden: User "tester" cannot list resource "{plural}"'
            return 403, _status(403, "Forbidden", reason)
        items = self.objects.get(plural, [])
        return 200, {"kind": f"{kind}List", "apiVersion": version, "metadata": {}, "items": items}


class _Handler(BaseHTTPRequestHandler):
    server: ApiServer

    def do_GET(self) -> None:
        """Answer with JSON, whatever was asked for."""
        status, body = self.server.answer(urlsplit(self.path).path)
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


@contextmanager
def serving(
    objects: Mapping[str, list[dict[str, Any]]],
    forbidden: Sequence[str] = (),
    more: Mapping[str, Sequence[tuple[str, str, bool]]] | None = None,
    lacks: Sequence[str] = (),
) -> Iterator[ApiServer]:
    """A running stand-in, stopped at the end; it has `more` kinds than most clusters, or `lacks` some."""
    server = ApiServer(objects, forbidden, more or {}, lacks)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=5)


def write_kubeconfig(path: Path, port: int, context: str = "standin") -> None:
    """A kubeconfig whose only context is this stand-in."""
    path.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": context,
                "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
                "users": [{"name": "u", "user": {}}],
                "contexts": [{"name": context, "context": {"cluster": "c", "user": "u"}}],
            }
        )
    )


def _root(version: str) -> str:
    return f"/apis/{version}" if "/" in version else f"/api/{version}"


def _discovery(
    known: Mapping[str, Sequence[tuple[str, str, bool]]],
) -> dict[str, tuple[int, dict[str, Any]]]:
    groups = [version for version in known if "/" in version]
    answers: dict[str, tuple[int, dict[str, Any]]] = {
        "/api": (200, {"kind": "APIVersions", "versions": ["v1"]}),
        "/apis": (200, {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(v) for v in groups]}),
        "/version": (200, {"major": "1", "minor": "34", "gitVersion": "v1.34.1"}),
    }
    for version, resources in known.items():
        found = [_resource(*resource) for resource in resources]
        answers[_root(version)] = (
            200,
            {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": found},
        )
    return answers


def _group(version: str) -> dict[str, Any]:
    entry = {"groupVersion": version, "version": version.partition("/")[2]}
    return {"name": version.partition("/")[0], "versions": [entry], "preferredVersion": entry}


def _resource(plural: str, kind: str, namespaced: bool) -> dict[str, Any]:
    return {
        "name": plural,
        "singularName": kind.lower(),
        "namespaced": namespaced,
        "kind": kind,
        "verbs": ["get", "list", "watch"],
    }


def _status(code: int, reason: str, message: str) -> dict[str, Any]:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": message,
    }
