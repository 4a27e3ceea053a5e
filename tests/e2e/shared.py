"""One control plane for many stories, one after the other: starting one costs more than most stories do.

What a story leaves is deleted before the next one, where nothing remembers it.  After a story that leaves
anything else (a quota, a policy, a custom resource, a namespace), or changes what was there from the start,
the next one gets a new control plane.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from tests.control_plane.api import Api
from tests.e2e.control_plane import ControlPlane, Manifest, running

#: What may be deleted, in this order: controllers come before what they would make again.
_CLEARED = (
    *("deployments", "statefulsets", "daemonsets", "replicasets", "replicationcontrollers", "cronjobs"),
    *("jobs", "pods", "controllerrevisions", "poddisruptionbudgets"),
    *("services", "endpoints", "endpointslices"),
    *("persistentvolumeclaims", "persistentvolumes", "storageclasses", "csinodes", "priorityclasses"),
    *("resourceclaims", "resourceclaimtemplates", "resourceslices", "deviceclasses", "nodes"),
)
#: What changes by itself, or only tells of other objects.
_NOT_COMPARED = frozenset(("leases", "events"))
_CLEAR_SECONDS, _BETWEEN_LOOKS = 60.0, 0.2
_START_SECONDS, _AT_REST_SECONDS = 240.0, 1.0
#: The namespaces of an empty cluster; the last that controllers make there is a ServiceAccount in each.
_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")


class ObjectKind(NamedTuple):
    """A kind of objects, by the path of its group and its plural."""

    group: str
    plural: str


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object on a cluster."""

    kind: ObjectKind
    item: Manifest

    @property
    def path(self) -> str:
        """Where it is."""
        meta = self.item["metadata"]
        inside = f"/namespaces/{meta['namespace']}" if "namespace" in meta else ""
        return f"{self.kind.group}{inside}/{self.kind.plural}/{meta['name']}"

    @property
    def version(self) -> str:
        """Another one after every change."""
        return f"{self.item['metadata']['uid']} {self.item['metadata']['resourceVersion']}"


class SharedControlPlane(AbstractContextManager["SharedControlPlane"]):
    """Gives every story a control plane with nothing on it but what is on a new one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._number = 0
        self._stack = ExitStack()
        self._plane: ControlPlane | None = None
        self._kinds: Sequence[ObjectKind] = ()
        self._empty: dict[str, str] = {}

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def given(self, home: Path) -> ControlPlane:
        """The control plane of a story with a folder of its own."""
        if self._plane is None or not self._is_usable(self._plane):
            self._plane = self._started()
        return replace(self._plane, home=home)

    def _started(self) -> ControlPlane:
        self._stack.close()
        home = self._folder / str(self._number)
        home.mkdir()
        self._number += 1
        plane = self._stack.enter_context(running(home))
        with Api(plane.kubeconfig) as api:
            self._kinds = list(_kinds(api))
            self._empty = self._at_rest(api)
        return plane

    def _at_rest(self, api: Api) -> dict[str, str]:
        """The versions of all objects once controllers have made what they make on an empty cluster."""
        ends, known = time.monotonic() + _START_SECONDS, dict[str, str]()
        accounts = {f"/api/v1/namespaces/{name}/serviceaccounts/default" for name in _NAMESPACES}
        while time.monotonic() < ends:
            found = {one.path: one.version for one in self._all(api)}
            if found == known and accounts <= found.keys():
                return found
            known = found
            time.sleep(_AT_REST_SECONDS)
        raise AssertionError("a new control plane does not come to rest")

    def _all(self, api: Api) -> Iterable[StoredObject]:
        for kind in self._kinds:
            for item in api.call("GET", f"{kind.group}/{kind.plural}")["items"]:
                yield StoredObject(kind, item)

    def _is_usable(self, plane: ControlPlane) -> bool:
        try:
            return self._is_cleared(plane)
        except OSError:
            # A program of it has ended.
            return False

    def _is_cleared(self, plane: ControlPlane) -> bool:
        """Delete what the last story left; False where that is not enough, or takes too long."""
        ends = time.monotonic() + _CLEAR_SECONDS
        with Api(plane.kubeconfig) as api:
            while time.monotonic() < ends:
                found = {one.path: one for one in self._all(api)}
                if any(path not in found or found[path].version != was for path, was in self._empty.items()):
                    return False
                left = [one for path, one in found.items() if path not in self._empty]
                if not {one.kind.plural for one in left} <= {*_CLEARED}:
                    return False
                if not left and not _is_made_again(api):
                    api.call("DELETE", "/api/v1/namespaces/default/events")
                    return True
                for one in sorted(left, key=lambda one: _CLEARED.index(one.kind.plural)):
                    api.remove(one.path, finalizers="finalizers" in one.item["metadata"])
                time.sleep(_BETWEEN_LOOKS)
        return False


def _is_made_again(api: Api) -> bool:
    """A controller that has not heard yet of the end of a Deployment makes its ReplicaSet once more."""
    time.sleep(_BETWEEN_LOOKS)
    return any(api.list(kind) for kind in ("ReplicaSet", "Pod"))


def _kinds(api: Api) -> Iterable[ObjectKind]:
    """All kinds of objects that can be listed and deleted."""
    groups = [item["preferredVersion"]["groupVersion"] for item in api.call("GET", "/apis")["groups"]]
    for group in ("/api/v1", *(f"/apis/{version}" for version in groups)):
        for item in api.call("GET", group)["resources"]:
            if {"list", "delete"} <= {*item["verbs"]} and item["name"] not in _NOT_COMPARED:
                yield ObjectKind(group, item["name"])
