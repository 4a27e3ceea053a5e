"""The API of a control plane without kubectl in between: hundreds of calls a second on one connection."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode, urlsplit

Manifest = dict[str, Any]

#: Where the objects of a kind live: the group's path, the plural, and whether they have a namespace.
PATHS = {
    "Node": ("/api/v1", "nodes", False),
    "Namespace": ("/api/v1", "namespaces", False),
    "PersistentVolume": ("/api/v1", "persistentvolumes", False),
    "Pod": ("/api/v1", "pods", True),
    "PersistentVolumeClaim": ("/api/v1", "persistentvolumeclaims", True),
    "Service": ("/api/v1", "services", True),
    "StorageClass": ("/apis/storage.k8s.io/v1", "storageclasses", False),
    "CSINode": ("/apis/storage.k8s.io/v1", "csinodes", False),
    "PriorityClass": ("/apis/scheduling.k8s.io/v1", "priorityclasses", False),
    "PodDisruptionBudget": ("/apis/policy/v1", "poddisruptionbudgets", True),
    "RuntimeClass": ("/apis/node.k8s.io/v1", "runtimeclasses", False),
    "ReplicaSet": ("/apis/apps/v1", "replicasets", True),
    "ResourceClaim": ("/apis/resource.k8s.io/v1", "resourceclaims", True),
    "ResourceSlice": ("/apis/resource.k8s.io/v1", "resourceslices", False),
    "DeviceClass": ("/apis/resource.k8s.io/v1", "deviceclasses", False),
    "Deployment": ("/apis/apps/v1", "deployments", True),
    "StatefulSet": ("/apis/apps/v1", "statefulsets", True),
    "DaemonSet": ("/apis/apps/v1", "daemonsets", True),
    "Job": ("/apis/batch/v1", "jobs", True),
    "ResourceQuota": ("/api/v1", "resourcequotas", True),
    "Event": ("/api/v1", "events", True),
}
KIND_OF = {plural: kind for kind, (_, plural, _) in PATHS.items()}


class Api:
    """One connection to an API server, as the administrator of its kubeconfig."""

    def __init__(self, kubeconfig: Path) -> None:
        read = json.loads(kubeconfig.read_text())
        server = urlsplit(read["clusters"][0]["cluster"]["server"])
        self._token = read["users"][0]["user"]["token"]
        context = ssl._create_unverified_context()
        self._line = http.client.HTTPSConnection(str(server.hostname), server.port, context=context)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._line.close()

    def call(
        self, method: str, path: str, body: Manifest | None = None, kind: str = "application/json"
    ) -> Manifest:
        """The answer to one request; an AssertionError with the server's words when it refuses."""
        status, found = self._ask(method, path, body, kind)
        assert status < 300, f"{method} {path}: {found.get('message')}"
        return found

    def _ask(self, method: str, path: str, body: Manifest | None, kind: str) -> tuple[int, Manifest]:
        answer = self._answer(method, path, body, kind)
        found: Manifest = json.loads(answer.read())
        return answer.status, found

    def _answer(self, method: str, path: str, body: Manifest | None, kind: str) -> http.client.HTTPResponse:
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": kind}
        try:
            self._line.request(method, path, None if body is None else json.dumps(body), headers)
            return self._line.getresponse()
        except (OSError, http.client.HTTPException):
            # The next request gets a connection of its own.
            self._line.close()
            raise

    def try_to(self, method: str, path: str, body: Manifest) -> None:
        """Ask for a change, whatever the server says."""
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        self._ask(method, path, body, kind)

    def watch(self, path: str) -> Iterator[tuple[str, Manifest]]:
        """What happens to objects, those that are there now first, until the server ends it."""
        status, listed = self._ask("GET", path, None, "application/json")
        if status != 200:
            return
        for item in listed["items"]:
            yield "ADDED", item
        since = f"{path}?watch=1&resourceVersion={listed['metadata']['resourceVersion']}"
        with self._answer("GET", since, None, "application/json") as lines:
            for event in map(json.loads, lines):
                if event["type"] == "ERROR":
                    break
                yield event["type"], event["object"]
        self._line.close()

    def create(self, item: Manifest) -> Manifest:
        """The object as it is once admission has seen it."""
        return self.call("POST", self._folder(item["kind"], item["metadata"].get("namespace")), item)

    def patch_status(self, item: Manifest, status: Manifest) -> None:
        """Set parts of an object's status."""
        path = f"{self.path(item)}/status"
        self.call("PATCH", path, {"status": status}, "application/merge-patch+json")

    def path(self, item: Manifest) -> str:
        """Where an object lives."""
        meta = item["metadata"]
        return f"{self._folder(item['kind'], meta.get('namespace'))}/{meta['name']}"

    def get(self, item: Manifest) -> Manifest | None:
        """An object as it is now; None when it is gone."""
        status, found = self._ask("GET", self.path(item), None, "application/json")
        return found if status == 200 else None

    def list(self, kind: str, **selected: str) -> list[Manifest]:
        """All objects of a kind, each with its kind, that `labelSelector` and `fieldSelector` choose."""
        group, plural, _ = PATHS[kind]
        found: dict[str, Any] = self.call("GET", f"{group}/{plural}?{urlencode(selected)}")
        version = group.removeprefix("/apis/").removeprefix("/api/")
        return [{"apiVersion": version, "kind": kind, **item} for item in found["items"]]

    def delete(self, item: Manifest) -> None:
        """Away with it at once, if it is still there."""
        self.remove(self.path(item))

    def remove(self, path: str, *, finalizers: bool = False) -> None:
        """Away with what is there, if it is; also with what its finalizers would wait for."""
        if finalizers:
            change = {"metadata": {"finalizers": None}}
            self._expect((200, 404), "PATCH", path, change, "application/merge-patch+json")
        self._expect((200, 202, 404), "DELETE", path, {"gracePeriodSeconds": 0}, "application/json")

    def _expect(self, answers: Collection[int], *asked: Any) -> None:
        status, found = self._ask(*asked)
        assert status in answers, found.get("message")

    @staticmethod
    def _folder(kind: str, namespace: str | None) -> str:
        group, plural, has_namespace = PATHS[kind]
        return (
            f"{group}/namespaces/{namespace or 'default'}/{plural}" if has_namespace else f"{group}/{plural}"
        )
