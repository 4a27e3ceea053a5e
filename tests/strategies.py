"""Random small clusters for property tests, as lists of manifests.

Pods come as copies of a few kinds, as in a cluster: the engines treat alike pods together, and what
goes wrong with that shows only when several of a kind are mixed with others.
"""

from functools import cache, lru_cache
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tests.builders import (
    HARD,
    HOST,
    SOFT,
    ZONE,
    Object,
    claim,
    labelled,
    namespace,
    node,
    pod,
    profile,
    scheduler,
    selector,
    service,
    spread,
    storage_class,
    term,
    tolerate,
    volume,
    weighted,
)
from tests.seeds import tries

#: Fresh examples on every run.
relaxed = settings(
    max_examples=tries(10),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

RACK = "rack"
GPU = "example.com/gpu"
KEYS = (ZONE, HOST, RACK)
NAMESPACES = ("default", "shop", "ops")


def _expression(key: str, operator: str, *values: str) -> Object:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


#: All four operators, both spellings, the one that selects everything and the one that is missing.
SELECTORS: tuple[Object | None, ...] = (
    selector("web"),
    selector("db"),
    selector("web", rev="1"),
    _expression("app", "In", "web", "db"),
    _expression("app", "NotIn", "web"),
    _expression("rev", "Exists"),
    _expression("rev", "DoesNotExist"),
    {**selector("web"), **_expression("rev", "NotIn", "2")},
    selector("nobody"),
    {},
    None,
)
TAINTS = ("gpu=yes:NoSchedule", "old:NoExecute", "slow:PreferNoSchedule")
NODE_TERMS: tuple[Object, ...] = (
    labelled(ZONE, "In", "a", "b"),
    labelled(ZONE, "NotIn", "a"),
    labelled(RACK, "Exists"),
    labelled(RACK, "DoesNotExist"),
    labelled("size", "Gt", "3"),
    labelled("size", "Lt", "3"),
    {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]},
    {"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n1"]}]},
    {},
)

SIMPLE_RULES: dict[str, tuple[Object, ...]] = {
    "ports": (
        {"ports": [8080]},
        {"ports": [8080, 9090]},
        {"ports": [{"hostPort": 8080, "hostIP": "10.0.0.1"}]},
        {"ports": [{"hostPort": 8080, "protocol": "UDP"}]},
    ),
    "tolerations": (
        {"tolerations": [{"operator": "Exists"}]},
        {"tolerations": [tolerate("gpu=yes:NoSchedule")]},
        {"tolerations": [tolerate("old"), tolerate("node.kubernetes.io/unschedulable")]},
    ),
    "priority": ({"priority": 100}, {"priority": -5}, {"priority": 100, "never": "Never"}),
}


def one_of(*values: Any) -> st.SearchStrategy[Any]:
    """One of these values, simplest first."""
    if all(value is None or isinstance(value, str | int) for value in values):
        return _one_of(*values)
    return st.sampled_from(values)


@lru_cache(maxsize=None, typed=True)
def _one_of(*values: Any) -> st.SearchStrategy[Any]:
    """The same for the same values: to make it takes longer than to draw from it."""
    return st.sampled_from(values)


@st.composite
def nodes(draw: st.DrawFn, most: int = 6) -> list[Object]:
    """Two nodes or more: some without zone or rack, tainted, cordoned, or nearly without room."""
    found = []
    for number in range(draw(st.integers(2, most))):
        labels = {RACK: draw(one_of("r1", "r2", None)), "size": draw(one_of(None, "1", "5", "large"))}
        if draw(one_of(*[False] * 7, True)):
            labels[HOST] = None
        found.append(
            node(
                f"n{number}",
                zone=draw(one_of("a", "b", "c", None)),
                labels=labels,
                taints=draw(st.sets(one_of(*TAINTS), max_size=1) if draw(st.booleans()) else st.just(set())),
                cordoned=draw(one_of(*[False] * 5, True)),
                cpu=draw(one_of("4", "2", "1")),
                pods=draw(one_of("110", "3", "2")),
                room={GPU: draw(one_of(None, None, "2"))},
            )
        )
    return found


@cache
@st.composite
def spreads(draw: st.DrawFn) -> list[Object]:
    """Up to two constraints, hard and soft, with all that the API has to offer."""
    found = []
    for key, when in draw(
        st.lists(st.tuples(one_of(*KEYS), one_of(HARD, HARD, SOFT)), max_size=2, unique=True)
    ):
        more: Object = {"when": when, "selects": draw(one_of(*SELECTORS))}
        if draw(st.booleans()):
            more["nodeAffinityPolicy"] = draw(one_of("Honor", "Ignore"))
            more["nodeTaintsPolicy"] = draw(one_of("Honor", "Ignore"))
        if when == HARD and (least := draw(one_of(None, None, 2, 4))):
            more["minDomains"] = least
        if more["selects"] is not None and draw(one_of(False, False, True)):
            more["matchLabelKeys"] = ["rev"]
        found.append(spread(key, draw(one_of(1, 1, 2)), **more))
    return found


@cache
@st.composite
def terms(draw: st.DrawFn) -> Object:
    """An affinity term over one namespace, named ones, or those that a selector picks."""
    more: Object = {"selects": draw(one_of(*SELECTORS))}
    match draw(one_of("own", "own", "named", "selected", "every")):
        case "named":
            more["namespaces"] = ["shop"]
        case "selected":
            more["namespaceSelector"] = selector(None, team="red")
        case "every":
            more["namespaceSelector"] = {}
    return term(draw(one_of(*KEYS)), **more)


@cache
@st.composite
def kinds(draw: st.DrawFn) -> Object:
    """What a few pods have in common: the words for the builder `pod`."""
    words: Object = {
        "namespace": draw(one_of("default", *NAMESPACES)),
        "labels": {
            key: value
            for key, value in (
                ("app", draw(one_of("web", "db", None))),
                ("rev", draw(one_of(None, "1", "2"))),
            )
            if value
        },
        "requests": draw(one_of({}, {"cpu": "500m"}, {"cpu": "1"}, {"cpu": "2"}, {GPU: "1"})),
    }
    more = ("spread", "near", "apart", "likes", "dislikes", "node", *SIMPLE_RULES)
    for word in draw(st.lists(one_of(*more), max_size=4, unique=True)):
        words |= draw(_preference(word))
    return words


@cache
def _preference(word: str) -> st.SearchStrategy[Object]:
    """What one word may add to a kind."""
    if word in ("near", "apart"):
        return st.lists(terms(), min_size=1, max_size=2).map(lambda found: {word: found})
    if word in ("likes", "dislikes"):
        return st.tuples(one_of(1, 10, 100), terms()).map(lambda found: {word: [weighted(*found)]})
    if word == "spread":
        return spreads().map(lambda found: {word: found})
    if word == "node":
        some = st.lists(one_of(*NODE_TERMS), min_size=1, max_size=2).map(lambda found: {"only_on": found})
        return st.one_of(some, one_of({"node_selector": {ZONE: "a"}}, {"node_selector": {RACK: "r1"}}))
    return one_of(*SIMPLE_RULES[word])


@st.composite
def copies(draw: st.DrawFn, names: list[str], *, running: bool, most: int) -> list[Object]:
    """Pods of a few kinds, in mixed order, running on these nodes, pending, or on their way out."""
    chosen = draw(st.lists(kinds(), min_size=1, max_size=4))
    places = ("", "", *names) if running else ("",)
    drawn = st.tuples(st.integers(0, len(chosen) - 1), one_of(*places), one_of(*[False] * 6, True))
    return [
        pod(f"p{number:02}", on=place, gone=gone and running, **_copied(chosen[kind]))
        for number, (kind, place, gone) in enumerate(draw(st.lists(drawn, max_size=most)))
    ]


def _copied(words: Object) -> Object:
    return {word: value.copy() if isinstance(value, dict | list) else value for word, value in words.items()}


@st.composite
def clusters(draw: st.DrawFn, *, running: bool = True, config: bool = False, pods: int = 12) -> list[Object]:
    """A whole small cluster; with `config` the scheduler may be configured as well."""
    machines = draw(nodes())
    names = [item["metadata"]["name"] for item in machines]
    found = [*machines, namespace("shop", team="red"), namespace("ops", team="blue")]
    found += draw(copies(names, running=running, most=pods))
    if config:
        found += draw(configurations())
    return found


@st.composite
def configurations(draw: st.DrawFn) -> list[Object]:
    """No configuration, or one that changes what the filters say; Services go with default constraints."""
    default = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": HARD}
    added = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [NODE_TERMS[1]]}}
    off = draw(
        st.sets(one_of("NodeResourcesFit", "TaintToleration", "PodTopologySpread", "NodePorts"), max_size=2)
    )
    chosen: list[Object] = draw(
        one_of(
            [],
            [scheduler(profile(NodeAffinity={"addedAffinity": added}))],
            [scheduler(profile(plugins={"filter": {"disabled": [{"name": name} for name in sorted(off)]}}))],
            [
                scheduler(
                    profile(PodTopologySpread={"defaultingType": "List", "defaultConstraints": [default]})
                ),
                service("web", app="web"),
                service("first", "shop", rev="1"),
            ],
        )
    )
    return chosen


@st.composite
def claiming(draw: st.DrawFn, *, shared: bool) -> list[Object]:
    """A cluster whose pods mount claims that wait for a volume or are provisioned, some for one pod only."""
    machines = draw(nodes(most=4))
    names = [item["metadata"]["name"] for item in machines]
    volumes = [
        volume(f"pv{number}", draw(one_of((), ("a",), ("b",), ("a", "b"))), size=draw(one_of("1Gi", "5Gi")))
        for number in range(draw(st.integers(0, 4)))
    ]
    claims = [
        claim(f"c{number}", modes=draw(one_of(["ReadWriteMany"], ["ReadWriteOncePod"])))
        for number in range(4 if shared else 12)
    ]
    for item in claims:
        item["spec"]["storageClassName"] = draw(one_of("local", "cloud"))
    pods = [
        pod(f"p{number}", on=draw(one_of("", *names)), cpu="500m", claims=draw(_claims(number, shared)))
        for number in range(draw(st.integers(1, 6)))
    ]
    classes = [storage_class("local"), storage_class("cloud", "example.com/disk")]
    return [*machines, *volumes, *claims, *classes, *pods]


def _claims(number: int, shared: bool) -> st.SearchStrategy[list[str]]:
    """Up to two claims for a pod: its own, or any."""
    names = [f"c{n}" for n in (range(4) if shared else (2 * number, 2 * number + 1))]
    return st.lists(one_of(*names), max_size=2, unique=True)
