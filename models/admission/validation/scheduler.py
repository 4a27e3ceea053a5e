"""What kube-scheduler does not start with, in its words: the rules for its configuration.

Release 1.36.  Plugins that do not come with kube-scheduler belong to a scheduler that somebody built:
nothing is known of them.  A name one letter away from that of a plugin that comes with it counts as a slip.
What has no part in a decision, such as leader election, back-off, timeouts and extenders, is not looked at.
Snapshots leave out what is the default: a missing schedulerName or type of a strategy stands for it.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from models.admission.validation.fields import (
    Fields,
    duplicates,
    fields_of,
    invalid_value,
    items_of,
    names_of,
    near,
    text_of,
)

_TAKEN_AWAY = (
    'was invalid in version "v1" (KubeSchedulerConfiguration is version "kubescheduler.config.k8s.io/v1")'
)
_EVERYTHING = "*"
_QUEUE_SORT, _BIND, _MULTI_POINT = "queueSort", "bind", "multiPoint"
_FILTERS = ("preFilter", "filter")
_SCORES = ("preScore", "score")
#: The plugins that come with kube-scheduler, some behind a feature gate, and the extension points of each.
PLUGINS: dict[str, tuple[str, ...]] = {
    "DefaultBinder": (_BIND,),
    "DefaultPreemption": ("preEnqueue", "postFilter"),
    "DynamicResources": ("preEnqueue", *_FILTERS, "postFilter", "score", "reserve", "preBind"),
    "GangScheduling": ("preEnqueue", "permit"),
    "ImageLocality": ("score",),
    "InterPodAffinity": (*_FILTERS, *_SCORES),
    "NodeAffinity": (*_FILTERS, *_SCORES),
    "NodeDeclaredFeatures": _FILTERS,
    "NodeName": ("filter",),
    "NodePorts": _FILTERS,
    "NodeResourcesBalancedAllocation": _SCORES,
    "NodeResourcesFit": (*_FILTERS, *_SCORES, "placementScore"),
    "NodeUnschedulable": ("filter",),
    "NodeVolumeLimits": _FILTERS,
    "PodGroupPodsCount": ("placementScore",),
    "PodTopologySpread": (*_FILTERS, *_SCORES),
    "PrioritySort": (_QUEUE_SORT,),
    "SchedulingGates": ("preEnqueue",),
    "TaintToleration": ("filter", *_SCORES),
    "TopologyPlacementGenerator": ("placementGenerate",),
    "VolumeBinding": (*_FILTERS, *_SCORES, "reserve", "preBind"),
    "VolumeRestrictions": _FILTERS,
    "VolumeZone": _FILTERS,
}
#: Those that v1 took away.
_GONE = {"AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"}
#: Where some plugin has to run: the one that does by default, and what is said without any.
_NEEDED = {
    _QUEUE_SORT: ("PrioritySort", "only one queue sort plugin required, but got 0"),
    _BIND: ("DefaultBinder", "at least one bind plugin is needed"),
}
#: All of them, in the order of a scheduling cycle.
EXTENSION_POINTS = (
    *("preEnqueue", _QUEUE_SORT, *_FILTERS, "postFilter", *_SCORES, "reserve", "permit", "preBind", _BIND),
    *("postBind", "placementGenerate", "placementScore", _MULTI_POINT),
)


def invalid_configuration(item: Fields) -> Iterator[str]:
    """Every field of a KubeSchedulerConfiguration that is not as it has to be."""
    profiles = items_of(item, "profiles")
    for number, profile in enumerate(profiles):
        at = f"profiles[{number}]"
        if profile.get("schedulerName") == "":
            yield f"{at}.schedulerName: Required value"
        yield from _plugins(fields_of(profile, "plugins"), f"{at}.plugins")
        if _queue_sort(profile) != _queue_sort(profiles[0]):
            yield f"{at}.plugins.queueSort: Invalid value: must be the same for all profiles"
        yield from duplicates(names_of(profile, "pluginConfig"), at + ".pluginConfig[{}]")
        for place, config in enumerate(items_of(profile, "pluginConfig")):
            yield from _arguments(
                text_of(config, "name"), fields_of(config, "args"), f"{at}.pluginConfig[{place}]"
            )


def meant(name: str) -> str | None:
    """The plugin of kube-scheduler that a name was to be, where it is so near that it can be nothing else."""
    return near(name, PLUGINS)


def _plugins(plugins: Fields, path: str) -> Iterator[str]:
    for point in EXTENSION_POINTS:
        enabled = names_of(fields_of(plugins, point), "enabled")
        for place, name in enumerate(enabled):
            where = f"{path}.{point}.enabled[{place}]"
            yield from _enabled(name, point, where, again=name in enabled[:place])
    for point, (default, message) in _NEEDED.items():
        if not _runs(default, point, plugins):
            yield f"{path}: {message}, such as {default}"


def _runs(default: str, point: str, plugins: Fields) -> bool:
    """Whether any plugin runs at an extension point; one of which nothing is known may run at each."""
    here, everywhere = fields_of(plugins, point), fields_of(plugins, _MULTI_POINT)
    names = names_of(everywhere, "enabled") + ([] if _is_off(default, everywhere) else [default])
    left = [name for name in names if point in PLUGINS.get(name, (point,)) and not _is_off(name, here)]
    return bool(left or names_of(here, "enabled"))


def _enabled(name: str, point: str, where: str, *, again: bool) -> Iterator[str]:
    kind = f"{point[0].upper()}{point[1:]}Plugin"
    if name in _GONE:
        yield invalid_value(where, name, _TAKEN_AWAY)
    elif again:
        yield f'{where}: plugin "{name}" already registered'
    elif name in PLUGINS and point not in (*PLUGINS[name], _MULTI_POINT):
        yield f'{where}: plugin "{name}" does not extend {kind} plugin'
    elif name in ("", _EVERYTHING) or meant(name):
        hint = f', did you mean "{meant(name)}"?' if meant(name) else ""
        yield f'{where}: plugin "{name}" does not exist{hint}'


def _is_off(name: str, point: Fields) -> bool:
    return not {name, _EVERYTHING}.isdisjoint(names_of(point, "disabled"))


def _queue_sort(profile: Fields) -> tuple[list[str], list[str]]:
    found = fields_of(fields_of(profile, "plugins"), _QUEUE_SORT)
    return names_of(found, "enabled"), names_of(found, "disabled")


def _arguments(name: str, args: Fields, path: str) -> Iterator[str]:
    """What is wrong with the arguments of a plugin."""
    if name in _GONE:
        yield invalid_value(path, name, _TAKEN_AWAY)
    if name in PLUGINS and (args.get("kind") or f"{name}Args") != f"{name}Args":
        yield f"{path}: args for plugin {name} were not of type {name}Args, got {args['kind']}"
    if name in _RULES:
        yield from _RULES[name](args, f"{path}.args")


def _candidates(args: Fields, path: str) -> Iterator[str]:
    percentage, absolute = "minCandidateNodesPercentage", "minCandidateNodesAbsolute"
    if args.get(percentage) == 0 and args.get(absolute) == 0:
        yield invalid_value(f"{path}.{percentage}", 0, f"cannot be zero at the same time as {absolute}")


def _balanced(args: Fields, path: str) -> Iterator[str]:
    yield from duplicates(names_of(args, "resources"), path + ".resources[{}].name")
    for place, resource in enumerate(items_of(args, "resources")):
        if resource.get("weight") not in (None, 0, 1):
            yield invalid_value(f"{path}.resources[{place}].weight", resource["weight"], "must be 1")


def _fit(args: Fields, path: str) -> Iterator[str]:
    for place, group in enumerate(args.get("ignoredResourceGroups") or ()):
        if "/" in str(group):
            where = f"{path}.ignoredResourceGroups[{place}]"
            yield invalid_value(where, group, "resource group name can't contain '/'")
    if isinstance(args.get("scoringStrategy"), dict):
        yield from _scoring(args["scoringStrategy"], f"{path}.scoringStrategy")


def _scoring(strategy: Fields, path: str) -> Iterator[str]:
    ratio, kind = strategy.get("requestedToCapacityRatio"), strategy.get("type")
    where = f"{path}.requestedToCapacityRatio"
    if kind != "RequestedToCapacityRatio":
        if ratio is not None:
            yield f"{where}: Forbidden: must be nil when type is not RequestedToCapacityRatio"
    elif ratio is None:
        yield f"{where}: Required value: must be specified when type is RequestedToCapacityRatio"
    else:
        shape = items_of(ratio, "shape") if isinstance(ratio, dict) else []
        if not shape:
            yield f"{where}.shape: Required value: at least one point must be specified"
        yield from _sorted([point.get("utilization", 0) for point in shape], f"{where}.shape")


def _sorted(values: list[Any], path: str) -> Iterator[str]:
    for place, (one, following) in enumerate(pairwise(values), 1):
        if one >= following:
            what = "values must be sorted in increasing order"
            yield invalid_value(f"{path}[{place}].utilization", following, what)
            return


def _default_constraints(args: Fields, path: str) -> Iterator[str]:
    constraints, path = items_of(args, "defaultConstraints"), f"{path}.defaultConstraints"
    pairs = [f"{{{text_of(c, 'topologyKey')}, {text_of(c, 'whenUnsatisfiable')}}}" for c in constraints]
    yield from duplicates(pairs, path + "[{}]")
    for place, constraint in enumerate(constraints):
        if constraint.get("labelSelector") is not None:
            what = "constraint must not define a selector, as they deduced for each pod"
            yield f"{path}[{place}].labelSelector: Forbidden: {what}"


_RULES: dict[str, Callable[[Fields, str], Iterator[str]]] = {
    "DefaultPreemption": _candidates,
    "NodeResourcesBalancedAllocation": _balanced,
    "NodeResourcesFit": _fit,
    "PodTopologySpread": _default_constraints,
}
