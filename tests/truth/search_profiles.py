"""Scheduler profiles as the exhaustive search reads them: filters that are off, arguments of the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.truth import manifests
from tests.truth.manifests import REQUIRED, Object

_DEFAULT = "default-scheduler"


@dataclass(frozen=True)
class Profile:
    """What filters of one profile ask for; `off` names those that it does not run."""

    off: frozenset[str] = frozenset()
    #: Plugins that are off altogether, for scores as well.
    absent: frozenset[str] = frozenset()
    #: Required node affinity that every pod has besides its own.
    added: Object | None = None
    ignored: frozenset[str] = frozenset()
    ignored_groups: frozenset[str] = frozenset()
    #: Spread constraints of pods that have none.
    defaults: tuple[Object, ...] = field(default=())

    def runs(self, plugin: str) -> bool:
        """Whether a filter has a say."""
        return plugin not in self.off and "*" not in self.off

    def has(self, plugin: str) -> bool:
        """Whether it runs a plugin as a filter or as a score."""
        return plugin not in self.absent

    def ignores(self, resource: str) -> bool:
        """Whether no plugin looks at a resource; only extended ones can be ignored."""
        group, _, name = resource.partition("/")
        return bool(name) and (resource in self.ignored or group in self.ignored_groups)


def profiles_of(objects: Iterable[Object]) -> Mapping[str, Profile]:
    """The profiles by the names that pods use."""
    configs = [item for item in objects if item["kind"] == "KubeSchedulerConfiguration"]
    found = [profile for item in configs for profile in item.get("profiles") or ()]
    return {item.get("schedulerName", _DEFAULT): _read(item) for item in found} or {_DEFAULT: Profile()}


def profile_of(profiles: Mapping[str, Profile], pod: Object) -> Profile | None:
    """The profile that a pod names, if there is one."""
    return profiles.get(pod["spec"].get("schedulerName") or _DEFAULT)


def _read(item: Object) -> Profile:
    plugins = item.get("plugins") or {}
    off, unscored = (_disabled(plugins, point) for point in ("filter", "score"))
    args: dict[str, dict[str, Any]] = {
        config["name"]: config.get("args") or {} for config in item.get("pluginConfig") or ()
    }
    fit, spread = args.get("NodeResourcesFit", {}), args.get("PodTopologySpread", {})
    added = (args.get("NodeAffinity", {}).get("addedAffinity") or {}).get(REQUIRED)
    listed = spread.get("defaultingType") == "List"
    return Profile(
        frozenset(off),
        frozenset(off & unscored),
        added,
        frozenset(fit.get("ignoredResources") or ()),
        frozenset(fit.get("ignoredResourceGroups") or ()),
        tuple(spread.get("defaultConstraints") or ()) if listed else (),
    )


def _disabled(plugins: Object, point: str) -> set[str]:
    """The plugins that are disabled at a point; what is enabled there is stronger."""
    off, on = (
        {plugin["name"] for at in points for plugin in (plugins.get(at) or {}).get(key) or ()}
        for key, points in (("disabled", (point, "multiPoint")), ("enabled", (point,)))
    )
    return off - on


def defaulted(profile: Profile, pod: Object, owner: Object | None) -> list[Object]:
    """The spread constraints that the profile gives a pod that has none: of the pods of its controller."""
    selector = None if owner is None else owner["spec"].get("selector")
    if manifests.requirements(selector) in (None, "[]"):
        return []
    return [{**item, "labelSelector": selector} for item in profile.defaults]


def leave_filters_out(objects: Iterable[Object]) -> bool:
    """Whether some profile does not run a filter other than that of spread."""
    return any(profile.off - {"PodTopologySpread"} for profile in profiles_of(objects).values())
