"""What Descheduler 0.36 does not start with, in its words: the rules for its policy.

Arguments are looked at where they count here: those of DefaultEvictor and of the plugin for topology spread.
"""

from collections.abc import Iterator

from models.admission.validation.fields import Fields, fields_of, items_of, near, text_of

EVICTOR, SPREAD = "DefaultEvictor", "RemovePodsViolatingTopologySpreadConstraint"
#: The plugins that come with Descheduler.
PLUGINS = {
    EVICTOR,
    SPREAD,
    *("HighNodeUtilization", "LowNodeUtilization", "PodLifeTime", "RemoveDuplicates", "RemoveFailedPods"),
    *("RemovePodsHavingTooManyRestarts", "RemovePodsViolatingInterPodAntiAffinity"),
    *("RemovePodsViolatingNodeAffinity", "RemovePodsViolatingNodeTaints"),
}
#: What `podProtections` says today.
_OLD = ("evictLocalStoragePods", "evictDaemonSetPods", "evictSystemCriticalPods", "evictFailedBarePods")
_OLDER = (*_OLD, "ignorePvcPods", "ignorePodsWithoutPDB")
_PROTECTIONS = {
    "defaultDisabled": ("PodsWithLocalStorage", "SystemCriticalPods", "FailedBarePods", "DaemonSetPods"),
    "extraEnabled": ("PodsWithPVC", "PodsWithoutPDB", "PodsWithResourceClaims"),
}


def invalid_policy(item: Fields) -> Iterator[str]:
    """Every argument of a DeschedulerPolicy that is not as it has to be."""
    for number, profile in enumerate(items_of(item, "profiles")):
        for place, config in enumerate(items_of(profile, "pluginConfig")):
            at, name = f"profiles[{number}].pluginConfig[{place}]", text_of(config, "name")
            args = fields_of(config, "args")
            if meant := near(name, PLUGINS):
                yield f'{at}: plugin {name} in pluginConfig not registered, did you mean "{meant}"?'
            elif name == EVICTOR:
                yield from _evictor(args, f"{at}.args")
            elif name == SPREAD:
                chosen = fields_of(args, "namespaces")
                if chosen.get("include") and chosen.get("exclude"):
                    yield f"{at}.args.namespaces: only one of Include/Exclude namespaces can be set"


def _evictor(args: Fields, path: str) -> Iterator[str]:
    threshold, protections = fields_of(args, "priorityThreshold"), fields_of(args, "podProtections")
    if threshold.get("value") is not None and threshold.get("name"):
        yield f"{path}.priorityThreshold: only one of priorityThreshold fields can be set"
    if any(map(protections.get, _PROTECTIONS)) and any(map(args.get, _OLDER)):
        yield (
            f"{path}: cannot use Deprecated fields alongside PodProtections.ExtraEnabled or "
            "PodProtections.DefaultDisabled"
        )
    for field, supported in _PROTECTIONS.items():
        found = protections.get(field) or []
        if len(set(map(str, found))) < len(found):
            yield f"{path}.podProtections.{field}: contains duplicate entries"
        for one in found:
            if one not in supported:
                yield f'{path}.podProtections.{field}: "{one}", valid options are: {", ".join(supported)}'
