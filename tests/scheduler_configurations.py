"""Configurations of kube-scheduler with one mistake each, and others without any, as 1.36.2 has them."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]


def profile(**fields: Any) -> Object:
    """A configuration with one profile."""
    return {"profiles": [fields]}


def plugins(point: str, enabled: tuple[str, ...] = (), disabled: tuple[str, ...] = ()) -> Object:
    """A configuration that enables and disables plugins at one extension point."""
    on, off = ([{"name": name} for name in names] for names in (enabled, disabled))
    return profile(plugins={point: {"enabled": on, "disabled": off}})


def args(plugin: str, **fields: Any) -> Object:
    """A configuration with arguments for one plugin."""
    return profile(pluginConfig=[{"name": plugin, "args": fields}])


def strategy(kind: str, *shape: tuple[int, int], **fields: Any) -> Object:
    """A configuration with a scoring strategy, and points of a curve."""
    points = [{"utilization": utilization, "score": score} for utilization, score in shape]
    ratio = {"requestedToCapacityRatio": {"shape": points}} if shape else {}
    return args("NodeResourcesFit", scoringStrategy={"type": kind, **ratio, **fields})


def constraints(*keys: str, **fields: Any) -> Object:
    """A configuration with default constraints over these keys."""
    hard = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **fields}
    listed = [{**hard, "topologyKey": key} for key in keys]
    return args("PodTopologySpread", defaultingType="List", defaultConstraints=listed)


#: Where the mistake is, as it is told, and a configuration with it.
REFUSED: list[tuple[str, Object]] = [
    ('unknown field "profile", did you mean "profiles"?', {"profile": []}),
    ('unknown field "metadata"', {"metadata": {}}),
    ('unknown field "profiles[0].schedulername"', profile(schedulername="x")),
    ('unknown field "profiles[0].plugins.filters"', plugins("filters")),
    ('unknown field "profiles[0].plugins.filter.enable"', profile(plugins={"filter": {"enable": []}})),
    ('unknown field "profiles[0].defaultConstraints"', profile(defaultConstraints=[])),
    ("args.hardPodAffinityWeigt", args("InterPodAffinity", hardPodAffinityWeigt=5)),
    ("args.bindTimeout", args("VolumeBinding", bindTimeout=5)),
    ("addedAffinity.required", args("NodeAffinity", addedAffinity={"required": {}})),
    ("defaultConstraints[0].minDomain", constraints("zone", minDomain=2)),
    ('unknown field "extenders[0].wait"', {"extenders": [{"wait": 1}]}),
    ("clientConnection.qps: expected a number", {"clientConnection": {"qps": "5"}}),
    (
        "plugins.score.enabled[0].weight",
        profile(plugins={"score": {"enabled": [{"name": "A", "weight": "5"}]}}),
    ),
    ('"NodeAffinty" does not exist, did you mean "NodeAffinity"?', plugins("filter", ("NodeAffinty",))),
    ('"nodeports" does not exist, did you mean "NodePorts"?', plugins("multiPoint", ("nodeports",))),
    ('"*" does not exist', plugins("score", ("*",))),
    ('"ImageLocality" does not extend FilterPlugin', plugins("filter", ("ImageLocality",))),
    ('"NodeName" does not extend ScorePlugin', plugins("score", ("NodeName",))),
    ('"NodeName" already registered', plugins("filter", ("NodeName", "NodeName"))),
    ('"EBSLimits": was invalid in version "v1"', plugins("filter", ("EBSLimits",))),
    ('"EBSLimits": was invalid in version "v1"', args("EBSLimits")),
    ("only one queue sort plugin required", plugins("queueSort", disabled=("*",))),
    ("only one queue sort plugin required", plugins("multiPoint", ("DefaultBinder",), ("*",))),
    ("at least one bind plugin is needed", plugins("multiPoint", ("PrioritySort",), ("*",))),
    ("at least one bind plugin is needed", plugins("bind", disabled=("DefaultBinder",))),
    ("profiles[0].schedulerName: Required value", profile(schedulerName="")),
    ("different schedulerNames", {"profiles": [{"schedulerName": "a"}, {"schedulerName": "a"}]}),
    (
        "profiles[1].plugins.queueSort: Invalid value: must be the same for all profiles",
        {
            "profiles": [
                {**plugins("queueSort", ("PrioritySort",))["profiles"][0], "schedulerName": "a"},
                {"schedulerName": "b"},
            ]
        },
    ),
    ("percentageOfNodesToScore: expected at most 100", profile(percentageOfNodesToScore=101)),
    (
        "pluginConfig[1]: Duplicate value",
        profile(pluginConfig=[{"name": "NodeAffinity"}, {"name": "NodeAffinity"}]),
    ),
    (
        "were not of type NodeAffinityArgs",
        args("NodeAffinity", kind="VolumeBindingArgs", apiVersion="kubescheduler.config.k8s.io/v1"),
    ),
    (
        "cannot be zero at the same time",
        args("DefaultPreemption", minCandidateNodesPercentage=0, minCandidateNodesAbsolute=0),
    ),
    (
        "resources[0].weight: Invalid value: 2: must be 1",
        args("NodeResourcesBalancedAllocation", resources=[{"name": "cpu", "weight": 2}]),
    ),
    (
        "resources[1].name: Duplicate value",
        args("NodeResourcesBalancedAllocation", resources=[{"name": "cpu"}, {"name": "cpu"}]),
    ),
    ("resource group name can't contain '/'", args("NodeResourcesFit", ignoredResourceGroups=["a/b"])),
    ("scoringStrategy.type: expected", strategy("Least")),
    (
        "resources[0].weight: expected at most 100",
        strategy("LeastAllocated", resources=[{"name": "cpu", "weight": 101}]),
    ),
    ("Required value: must be specified", strategy("RequestedToCapacityRatio")),
    (
        "at least one point must be specified",
        strategy("RequestedToCapacityRatio", requestedToCapacityRatio={}),
    ),
    ("values must be sorted", strategy("RequestedToCapacityRatio", (5, 1), (5, 2))),
    ("shape[0].score: expected at most 10", strategy("RequestedToCapacityRatio", (5, 11))),
    ("must be nil when type is not", strategy("MostAllocated", (5, 1))),
    ("labelSelector: Forbidden", constraints("zone", labelSelector={})),
    ('defaultConstraints[1]: Duplicate value: "{zone, DoNotSchedule}"', constraints("zone", "zone")),
    (
        "need defaultingType List",
        args(
            "PodTopologySpread",
            defaultConstraints=[{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}],
        ),
    ),
]
ACCEPTED: list[Object] = [
    {},
    {"profiles": None},
    {
        "parallelism": 4,
        "podMaxBackoffSeconds": 30,
        "enableProfiling": False,
        "extenders": [{"urlPrefix": "http://a"}],
    },
    profile(plugins=None, pluginConfig=None),
    {"profiles": [{"schedulerName": "a"}, {"schedulerName": "b", "percentageOfNodesToScore": 5}]},
    plugins("filter", disabled=("NoSuch", "NodeName", "NodeName")),
    plugins("filter", ("NodeName",), ("*",)),
    plugins("multiPoint", ("PrioritySort", "DefaultBinder", "NodeName"), ("*",)),
    plugins("multiPoint", ("PrioritySort",), ("PrioritySort",)),
    plugins("postFilter", ("DefaultPreemption",)),
    plugins("permit", ("GangScheduling",)),
    profile(
        plugins={
            "score": {
                "enabled": [{"name": "NodeAffinity", "weight": 0}, {"name": "ImageLocality", "weight": 500}]
            }
        }
    ),
    args("Mine", any=[1, "thing"]),
    profile(pluginConfig=[{"name": "Mine", "args": [1, "thing"]}]),
    args("NodeAffinity", kind=None),
    args(
        "NodeResourcesFit",
        scoringStrategy={
            "type": "RequestedToCapacityRatio",
            "requestedToCapacityRatio": {"shape": [{"score": 5}, {"utilization": 50}]},
        },
    ),
    args("ImageLocality", any=1),
    profile(pluginConfig=[{"name": "NodeAffinity", "args": None}]),
    args("NodeAffinity", kind="NodeAffinityArgs", apiVersion="kubescheduler.config.k8s.io/v1"),
    args("DynamicResources", filterTimeout="5s"),
    strategy("LeastAllocated", resources=[{"name": "cpu", "weight": 0}]),
    strategy("RequestedToCapacityRatio", (0, 0), (100, 10)),
    args("NodeResourcesBalancedAllocation", resources=[{"name": "cpu"}, {"name": "memory", "weight": 1}]),
    constraints("zone", "host", minDomains=2, matchLabelKeys=["a"], nodeTaintsPolicy="Honor"),
    args("PodTopologySpread", defaultingType="List"),
]
#: Without a name or a type kube-scheduler does not start; here they stand for the default, as in a snapshot.
DEFAULTS: list[Object] = [
    {"profiles": [{}, {"schedulerName": "b"}]},
    args("NodeResourcesFit", scoringStrategy={"resources": [{"name": "cpu"}]}),
]
#: A plugin that kube-scheduler does not come with: it does not start, a scheduler that somebody built does.
OTHERS = plugins("multiPoint", ("Coscheduling",))
