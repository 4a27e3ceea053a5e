"""What the profile of a pod's scheduler changes, in plain words: filters that it lacks, what it adds."""

from __future__ import annotations

from collections.abc import Iterable

from tests.truth import manifests
from tests.truth.manifests import REQUIRED, Object

#: Who schedules a pod that names nobody.
DEFAULT = "default-scheduler"


class Schedulers:
    """The profiles of the configuration among some objects; without one, the default one."""

    def __init__(self, objects: Iterable[Object]) -> None:
        configs = [item for item in objects if item["kind"] == "KubeSchedulerConfiguration"]
        profiles = configs[0]["profiles"] if configs else [{}]
        self._profiles: dict[str, Object] = {
            profile.get("schedulerName", DEFAULT): profile for profile in profiles
        }

    def _of(self, pod: Object) -> Object | None:
        return self._profiles.get(pod["spec"].get("schedulerName", DEFAULT))

    def known(self, pod: Object) -> bool:
        """Whether some profile schedules the pod."""
        return self._of(pod) is not None

    def asks(self, pod: Object, plugin: str) -> bool:
        """Whether the pod's profile runs a filter."""
        plugins = (self._of(pod) or {}).get("plugins") or {}
        off = [
            item["name"]
            for point in ("filter", "multiPoint")
            for item in plugins.get(point, {}).get("disabled", ())
        ]
        return plugin not in off

    def _arguments(self, pod: Object, plugin: str) -> Object:
        configured = (self._of(pod) or {}).get("pluginConfig") or ()
        found: Object = next((item["args"] for item in configured if item["name"] == plugin), {})
        return found

    def ignores(self, pod: Object, resource: str) -> bool:
        """Whether the pod's profile does not look at room for a resource; the plain ones it always does."""
        args, group = self._arguments(pod, "NodeResourcesFit"), resource.partition("/")[0]
        named = resource in args.get("ignoredResources", ()) or group in args.get("ignoredResourceGroups", ())
        return named and "/" in resource

    def adds(self, pod: Object, node: Object) -> bool:
        """Whether the affinity that the pod's profile adds matches a node."""
        added = self._arguments(pod, "NodeAffinity").get("addedAffinity") or {}
        required = added.get(REQUIRED)
        return required is None or manifests.matches_terms(required, node)
