"""A scheduler profile: which plugins it runs, with which arguments and weights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, TypeVar

from models.admission.validation.scheduler import PLUGINS, meant
from models.objects.scheduler_config import (
    DefaultPreemptionArgs,
    InterPodAffinityArgs,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    Plugin,
    Plugins,
    PluginSet,
)
from planner.constraints import FILTERS, WEIGHTS, Filter, Score
from planner.constraints.balanced_allocation import NodeResourcesBalancedAllocation
from planner.constraints.dynamic_resources import DynamicResources
from planner.constraints.family import Family
from planner.constraints.inter_pod_affinity import InterPodAffinity
from planner.constraints.node_affinity import NodeAffinityPlugin
from planner.constraints.node_resources import NodeResourcesFit
from planner.constraints.pod_topology_spread import PodTopologySpread
from planner.problem.problem import Problem
from planner.state.state import State

_PREEMPTION = "DefaultPreemption"
_UNMODELLED_BUT_HARMLESS = {"PrioritySort", "DefaultBinder", "SchedulingGates", _PREEMPTION}
_EVERYTHING = "*"
_Kind = TypeVar("_Kind", bound=Family)


@dataclass(frozen=True, slots=True)
class Profile:
    """The plugins of one profile over one state; a plugin that filters and scores is one object."""

    filters: tuple[Filter, ...]
    scores: tuple[tuple[Score, int], ...]
    preemption: DefaultPreemptionArgs | None
    percentage: int | None = None
    """percentageOfNodesToScore, the profile's own or the configuration's; None and 0 leave it to the size."""
    claims: DynamicResources | None = None
    """The plugin that is asked before preemption whether a claim could be given back."""
    pre_filters: tuple[Filter, ...] = ()
    """The plugins that may refuse a pod, or name its nodes, before any node is looked at."""

    _by_kind: dict[type[Family], Any] = field(default_factory=dict, init=False, compare=False, repr=False)

    def of(self, kind: type[_Kind]) -> tuple[_Kind, ...]:
        """The plugin of a kind, if the profile runs it."""
        found: tuple[_Kind, ...] | None = self._by_kind.get(kind)
        if found is None:
            plugins = {id(plugin): plugin for plugin in (*self.filters, *(score for score, _ in self.scores))}
            found = self._by_kind[kind] = tuple(p for p in plugins.values() if isinstance(p, kind))
        return found

    @property
    def heeds_affinity(self) -> bool:
        """Whether it runs the filter that holds pods to a node affinity, such as a pin."""
        return any(isinstance(plugin, NodeAffinityPlugin) for plugin in self.filters)


def profiles_of(config: KubeSchedulerConfiguration | None) -> dict[str, KubeSchedulerProfile]:
    """The profiles of a configuration by scheduler name; without any, the default scheduler."""
    found = config.profiles if config is not None and config.profiles else (_default_profile(),)
    return {profile.scheduler_name: profile for profile in found}


@cache
def _default_profile() -> KubeSchedulerProfile:
    return KubeSchedulerProfile()


def build(config: KubeSchedulerProfile, problem: Problem, state: State, *, reserves: bool = True) -> Profile:
    """The plugins that a profile runs, ready to be asked about this state.

    Without `reserves` no plugin checks for how many pods a claim is reserved already.
    """
    made: dict[type[Family], Any] = {}
    chosen = _chosen(config.plugins, FILTERS, (*WEIGHTS.items(),))

    def get(kind: type[_Kind]) -> _Kind:
        if kind not in made:
            made[kind] = _make(kind, config, problem, state)
            if kind is DynamicResources:
                made[kind].reserves = reserves
        found: _Kind = made[kind]
        return found

    filters = tuple([get(kind) for kind in chosen.filters])
    pre_filters = tuple([get(kind) for kind in chosen.pre_filters])
    scores = tuple([(get(kind), weight) for kind, weight in chosen.scores])
    return Profile(
        filters,
        scores,
        config.args(DefaultPreemptionArgs) if chosen.preempts else None,
        percentage=percentage_of(config, problem.cluster.scheduler_config),
        claims=made.get(DynamicResources) if chosen.gives_back else None,
        pre_filters=pre_filters,
    )


@dataclass(frozen=True, slots=True)
class _Chosen:
    """What a profile runs, in the order of kube-scheduler."""

    filters: tuple[type[Filter], ...]
    pre_filters: tuple[type[Filter], ...]
    scores: tuple[tuple[type[Score], int], ...]
    preempts: bool
    gives_back: bool


@lru_cache(maxsize=64)
def _chosen(
    plugins: Plugins, filters: tuple[type[Filter], ...], weights: tuple[tuple[type[Score], int], ...]
) -> _Chosen:
    """Worked out once for each choice: searches and draws build the same profile hundreds of times."""
    kinds = {kind.name: kind for kind in filters}
    asked = _running(plugins, plugins.filter, kinds)
    # Switched off at filter alone, a plugin goes on to refuse pods outright.
    before = dict.fromkeys((*_running(plugins, plugins.pre_filter, kinds), *asked))
    return _Chosen(
        tuple(kinds[name] for name in asked),
        tuple(kinds[name] for name in before),
        tuple(
            (kind, _weight(plugins, kind.name, weight))
            for kind, weight in weights
            if _is_on(plugins, plugins.score, kind.name)
        ),
        preempts=_is_on(plugins, plugins.post_filter, _PREEMPTION),
        gives_back=_is_on(plugins, plugins.post_filter, DynamicResources.name),
    )


def switched_off(config: KubeSchedulerProfile) -> list[type[Filter]]:
    return [kind for kind in FILTERS if not _is_on(config.plugins, config.plugins.filter, kind.name)]


def make_filters(
    kinds: Iterable[type[Filter]], config: KubeSchedulerProfile, problem: Problem, state: State
) -> tuple[Filter, ...]:
    """Filters with the arguments of a profile, whether it runs them or not."""
    made = (_make(kind, config, problem, state) for kind in kinds)
    return tuple(found for found in made if isinstance(found, Filter))


def percentage_of(config: KubeSchedulerProfile, whole: KubeSchedulerConfiguration | None) -> int | None:
    """percentageOfNodesToScore: the profile's own, else that of the whole configuration."""
    if config.percentage_of_nodes_to_score is not None or whole is None:
        return config.percentage_of_nodes_to_score
    return whole.percentage_of_nodes_to_score


def _make(kind: type[Family], config: KubeSchedulerProfile, problem: Problem, state: State) -> Family:
    if kind is NodeAffinityPlugin:
        return NodeAffinityPlugin(problem, state, config.args(NodeAffinityArgs).added_affinity)
    if kind is NodeResourcesFit:
        return NodeResourcesFit(problem, state, config.args(NodeResourcesFitArgs))
    if kind is NodeResourcesBalancedAllocation:
        args = config.args(NodeResourcesBalancedAllocationArgs)
        return NodeResourcesBalancedAllocation(problem, state, args)
    if kind is PodTopologySpread:
        return PodTopologySpread.of_profile(problem, state, config)
    if kind is InterPodAffinity:
        return InterPodAffinity(problem, state, config.args(InterPodAffinityArgs))
    return kind(problem, state)


def _is_on(plugins: Plugins, point: PluginSet, name: str) -> bool:
    """Whether a default plugin runs at an extension point."""
    return name in _running(plugins, point, (name,))


def _running(plugins: Plugins, point: PluginSet, default: Iterable[str]) -> list[str]:
    """Those of the default plugins that run at an extension point, in kube-scheduler's order.

    First those that are named at the point and run by multiPoint, too, then the rest of multiPoint, then
    the rest of the point.
    """
    by_default = set(default)
    every, here = plugins.multi_point, [plugin.name for plugin in point.enabled]
    kept = [name for name in default if not _has(every.disabled, name, _EVERYTHING)]
    multi = dict.fromkeys((*kept, *(plugin.name for plugin in every.enabled)))
    inherited = [name for name in multi if not _has(point.disabled, name, _EVERYTHING)]
    both = [name for name in here if name in inherited]
    return [name for name in dict.fromkeys((*both, *inherited, *here)) if name in by_default]


def _has(plugins: tuple[Plugin, ...], *names: str) -> bool:
    """Whether one of these is among them: asked often, and there are seldom any at all."""
    return bool(plugins) and any(plugin.name in names for plugin in plugins)


def _weight(plugins: Plugins, name: str, default: int) -> int:
    """The weight a score was enabled with: at its own point, else at multiPoint, else the default."""
    for point in (plugins.score, plugins.multi_point):
        for plugin in point.enabled:
            if plugin.name == name:
                return plugin.weight or 1
    return default


def _names(plugins: tuple[object, ...]) -> set[str]:
    return {plugin.name for plugin in plugins}  # type: ignore[attr-defined]


def unmodelled(config: KubeSchedulerConfiguration | None) -> Iterator[str]:
    """What a configuration asks for that the planner does not do, a sentence each."""
    if config is None:
        return
    if config.extenders:
        yield "scheduler extenders are not modelled"
    if not {
        config.percentage_of_nodes_to_score,
        *(one.percentage_of_nodes_to_score for one in config.profiles),
    } <= {None, 0, 100}:
        yield (
            "percentageOfNodesToScore counts in simulate --seed and in the replays of compare: "
            "everywhere else all nodes are scored"
        )
    known = {kind.name for kind in (*FILTERS, *WEIGHTS)} | _UNMODELLED_BUT_HARMLESS
    for profile in config.profiles:
        points = [getattr(profile.plugins, point) for point in type(profile.plugins).model_fields]
        wanted = {name for point in points for name in _names(point.enabled)}
        for name in sorted(wanted - known):
            yield f"plugin {name} of profile {profile.scheduler_name} is not modelled"
        yield from _unprepared(profile)
        unwanted = {name for point in points for name in _names(point.disabled)} - {_EVERYTHING}
        for what, names in (("disables", unwanted), ("configures", _names(profile.plugin_config))):
            for name in sorted(names - wanted - PLUGINS.keys()):
                hint = f", did you mean {meant(name)}?" if meant(name) else ""
                does = f"profile {profile.scheduler_name} {what} {name}"
                yield f"{does}: kube-scheduler has no such plugin{hint}"


def _unprepared(profile: KubeSchedulerProfile) -> Iterator[str]:
    """Plugins that run without what they prepare beforehand, of which most fail then with every pod."""
    plugins = profile.plugins
    for kinds, before, prepares, point, runs_at in (
        (FILTERS, "preFilter", plugins.pre_filter, "filter", plugins.filter),
        (WEIGHTS, "preScore", plugins.pre_score, "score", plugins.score),
    ):
        for name in (kind.name for kind in kinds if before in PLUGINS[kind.name]):
            if _is_on(plugins, runs_at, name) and not _is_on(plugins, prepares, name):
                runs = f"profile {profile.scheduler_name} runs {name} at {point} and not at {before}"
                yield f"{runs}: kube-scheduler may fail with every pod then, which is not modelled"
