"""KubeSchedulerConfiguration: which plugins run, with which weights and arguments, and what is left out."""

import pytest

from planner import simulate, solve
from planner.documents.plan import Decision
from tests.builders import (
    HARD,
    HOST,
    SOFT,
    ZONE,
    Object,
    claim,
    cluster,
    labelled,
    node,
    pod,
    profile,
    scheduler,
    service,
    storage_class,
    term,
    weighted,
    workload,
)

ALL_SCORES = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "NodeResourcesFit": 1,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
    "DynamicResources": 2,
}


def decide(*objects: Object) -> Decision:
    """What becomes of the last pending pod."""
    return simulate(cluster(*objects), verbose=True, preemption=False).decisions[-1]


def named(*names: str, **weights: int) -> list[Object]:
    """A list of plugins for a profile."""
    return [{"name": name} for name in names] + [{"name": n, "weight": w} for n, w in weights.items()]


def by_name(*names: str) -> Object:
    """A term of node affinity for a node that has all of these names."""
    fields = [{"key": "metadata.name", "operator": "In", "values": [name]} for name in names]
    return {"matchFields": fields}


#: The filters that look for claims.
VOLUMES = ("VolumeBinding", "VolumeRestrictions", "VolumeZone", "NodeVolumeLimits")
#: Without these kube-scheduler does not start.
NEEDED = ("PrioritySort", "DefaultBinder")
#: What a profile changes, and whether a pod that is too large for the only node gets on it.
FILTERS: list[tuple[str, Object, bool]] = [
    ("nothing", {}, False),
    ("disabled as a filter", {"filter": {"disabled": named("NodeResourcesFit")}}, True),
    ("all filters disabled", {"filter": {"disabled": named("*")}}, True),
    (
        "all but this one disabled",
        {"filter": {"disabled": named("*"), "enabled": named("NodeResourcesFit")}},
        False,
    ),
    ("disabled everywhere", {"multiPoint": {"disabled": named("NodeResourcesFit")}}, True),
    (
        "everything disabled",
        {"multiPoint": {"disabled": named("*"), "enabled": named(*NEEDED)}},
        True,
    ),
    (
        "everything disabled but this",
        {"multiPoint": {"disabled": named("*"), "enabled": named(*NEEDED, "NodeResourcesFit")}},
        False,
    ),
    (
        "disabled everywhere, enabled as a filter",
        {
            "multiPoint": {"disabled": named("*"), "enabled": named(*NEEDED)},
            "filter": {"enabled": named("NodeResourcesFit")},
        },
        False,
    ),
    (
        "enabled everywhere, disabled as a filter",
        {
            "multiPoint": {"enabled": named("NodeResourcesFit")},
            "filter": {"disabled": named("NodeResourcesFit")},
        },
        True,
    ),
    ("disabled as a score only", {"score": {"disabled": named("NodeResourcesFit")}}, False),
]


@pytest.mark.parametrize(("plugins", "fits"), [pytest.param(*rest, id=title) for title, *rest in FILTERS])
def test_filters_can_be_switched(plugins: Object, fits: bool) -> None:
    """What is said of an extension point beats what is said of all of them."""
    found = decide(node("n1"), pod("p", cpu="5"), scheduler(profile(plugins=plugins)))
    assert (found.node == "n1") is fits


#: What a profile changes, and the filter that refuses a pod for which no port and no room is free.
ORDERS: list[tuple[Object, str]] = [
    ({}, "NodePorts"),
    ({"multiPoint": {"enabled": named("NodePorts", "NodeResourcesFit")}}, "NodePorts"),
    ({"multiPoint": {"disabled": named("NodePorts"), "enabled": named("NodePorts")}}, "NodeResourcesFit"),
    ({"filter": {"disabled": named("NodePorts"), "enabled": named("NodePorts")}}, "NodeResourcesFit"),
    ({"filter": {"enabled": named("NodeResourcesFit")}}, "NodeResourcesFit"),
    (
        {"filter": {"disabled": named("*"), "enabled": named("NodeResourcesFit", "NodePorts")}},
        "NodeResourcesFit",
    ),
]


@pytest.mark.parametrize(("plugins", "first"), ORDERS)
def test_filters_are_asked_in_the_order_of_the_profile(plugins: Object, first: str) -> None:
    """What went wrong: the default order was kept, and the refusal was another than kube-scheduler's."""
    there = node("n1"), pod("old", "n1", ports=[80])
    found = decide(*there, pod("p", cpu="5", ports=[80]), scheduler(profile(plugins=plugins)))
    assert found.rejected is not None
    assert found.rejected["n1"].plugin == first


SCORES: list[tuple[str, Object, dict[str, int]]] = [
    ("nothing", {}, ALL_SCORES),
    ("all disabled", {"score": {"disabled": named("*")}}, {}),
    (
        "one with a weight",
        {"score": {"disabled": named("*"), "enabled": named(ImageLocality=7)}},
        {"ImageLocality": 7},
    ),
    (
        "one without a weight",
        {"score": {"disabled": named("*"), "enabled": named("TaintToleration")}},
        {"TaintToleration": 1},
    ),
    ("another weight", {"score": {"enabled": named(NodeAffinity=50)}}, {**ALL_SCORES, "NodeAffinity": 50}),
    (
        "another weight everywhere",
        {"multiPoint": {"enabled": named(NodeAffinity=50)}},
        {**ALL_SCORES, "NodeAffinity": 50},
    ),
    (
        "the weight of the extension point counts",
        {"multiPoint": {"enabled": named(NodeAffinity=50)}, "score": {"enabled": named(NodeAffinity=9)}},
        {**ALL_SCORES, "NodeAffinity": 9},
    ),
]


@pytest.mark.parametrize(("plugins", "weights"), [pytest.param(*rest, id=title) for title, *rest in SCORES])
def test_scores_count_as_configured(plugins: Object, weights: dict[str, int]) -> None:
    """n2 is the best in every plugin's eyes, so its score there is 100 times the weight."""
    zones = [node("n1", zone="a", taints=["slow:PreferNoSchedule"], cpu="64"), node("n2", zone="b", cpu="64")]
    image = "example.com/app:v1"
    zones[1]["status"]["images"] = [{"names": [image], "sizeBytes": 2 * 1000 * 2**20}]
    there = [pod("web", "n1", app="web", cpu="32"), pod("db", "n2", app="db", memory="1m")]
    asking = pod(
        "p",
        likes=[weighted(1, term(ZONE, "db"))],
        labels={"app": "web"},
        containers=[{"name": "c", "image": image, "resources": {"requests": {"memory": "1m"}}}],
        spread=[
            {
                "maxSkew": 1,
                "topologyKey": HOST,
                "whenUnsatisfiable": SOFT,
                "labelSelector": {"matchLabels": {"app": "web"}},
            }
        ],
    )
    like = {"weight": 1, "preference": labelled(ZONE, "In", "b")}
    asking["spec"]["affinity"]["nodeAffinity"] = {"preferredDuringSchedulingIgnoredDuringExecution": [like]}
    found = decide(*zones, *there, asking, scheduler(profile(plugins=plugins)))
    scores, totals = found.scores or {}, found.totals or {}
    nearly_full = {"NodeResourcesFit", "NodeResourcesBalancedAllocation"}
    assert set(scores) == set(weights)
    # Devices make no difference to a pod that claims none.
    for name in set(weights) - nearly_full - {"DynamicResources"}:
        assert scores[name]["n2"] == 100 * weights[name], name
    assert all(totals[name] == sum(score[name] for score in scores.values()) for name in totals)


def test_added_affinity_holds_for_every_pod_of_the_profile() -> None:
    """Required terms refuse with words of their own, preferred ones score; other profiles go without."""
    required = {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [labelled(ZONE, "In", "b")]}
    }
    config = scheduler(profile(NodeAffinity={"addedAffinity": required}), profile("other"))
    machines = [node("n1", zone="a"), node("n2", zone="b")]
    found = decide(*machines, pod("p"), config)
    assert found.node == "n2"
    assert found.rejected is not None
    assert found.rejected["n1"].reasons == ("node(s) didn't match scheduler-enforced node affinity",)
    assert decide(*machines, pod("p", scheduler="other"), config).node == "n1"

    preferred = [{"weight": 5, "preference": labelled(ZONE, "In", "b")}]
    liked = scheduler(
        profile(
            NodeAffinity={"addedAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
        )
    )
    assert decide(*machines, pod("p"), liked).node == "n2"


def test_required_affinity_of_others_attracts_by_its_weight() -> None:
    """hardPodAffinityWeight 0 takes the attraction away."""
    machines = [node("n1"), node("n2")]
    there = pod("there", "n2", app="web", near=[term(HOST, "web")])
    for weight, expected in ((100, "n2"), (0, "n1")):
        config = scheduler(profile(InterPodAffinity={"hardPodAffinityWeight": weight}))
        assert decide(*machines, there, pod("p", app="web"), config).node == expected


def test_preferred_terms_of_others_can_be_ignored() -> None:
    """Only for pods that have no preferred terms of their own."""
    machines = [node("n1"), node("n2")]
    there = pod("there", "n2", likes=[weighted(100, term(HOST, "web"))])
    config = scheduler(profile(InterPodAffinity={"ignorePreferredTermsOfExistingPods": True}))
    assert decide(*machines, there, pod("p", app="web")).node == "n2"
    assert decide(*machines, there, pod("p", app="web"), config).node == "n1"
    own = pod("p", app="web", likes=[weighted(1, term(ZONE, "nobody"))])
    assert decide(*machines, there, own, config).node == "n2"


@pytest.mark.parametrize(
    ("group", "words"),
    [
        (service("web", app="web"), {}),
        (workload("ReplicaSet", "web"), {"owner": "ReplicaSet/web"}),
        (workload("StatefulSet", "web"), {"owner": "StatefulSet/web"}),
        (workload("ReplicationController", "web"), {"owner": "ReplicationController/web"}),
    ],
    ids=["Service", "ReplicaSet", "StatefulSet", "ReplicationController"],
)
def test_default_constraints_count_the_pods_of_a_group(group: Object, words: Object) -> None:
    """A pod without constraints gets the profile's, over the pods that its Service or controller selects."""
    default = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": HARD}
    args = {"defaultingType": "List", "defaultConstraints": [default]}
    config = scheduler(profile(PodTopologySpread=args))
    machines = [node("n1", zone="a"), node("n2", zone="b", cordoned=True)]
    there = pod("there", "n1", app="web", **words)
    assert decide(*machines, there, pod("p", app="web", **words), group, config).node is None
    assert decide(*machines, there, pod("p", app="web", **words), group).node == "n1"
    assert decide(*machines, there, pod("p", app="web"), config).node == "n1"


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (scheduler(profile(), percentageOfNodesToScore=50), "percentageOfNodesToScore"),
        (scheduler(profile(), extenders=[{"urlPrefix": "http://x"}]), "extenders"),
        (scheduler(profile(plugins={"score": {"enabled": [{"name": "MyPlugin"}]}})), "MyPlugin"),
        (
            scheduler(profile(plugins={"filter": {"disabled": named("NodeAffinty")}})),
            "disables NodeAffinty: kube-scheduler has no such plugin, did you mean NodeAffinity?",
        ),
        (
            scheduler(profile(PodTopologySpred={})),
            "configures PodTopologySpred: kube-scheduler has no such plugin, did you mean PodTopologySpread?",
        ),
    ],
)
def test_what_is_not_modelled_is_said(config: Object, words: str) -> None:
    """A note names each part of a configuration that the planner does not do."""
    assert any(words in note for note in simulate(cluster(node("n1"), config)).notes)


#: Filters that a profile disables, a pod that they would refuse before any node is looked at, and its line.
OUTRIGHT: list[tuple[tuple[str, ...], Object, str]] = [
    (("NodeAffinity",), {"only_on": [by_name("n9")]}, "1 node(s) didn't satisfy plugin(s) [NodeAffinity]"),
    (("NodeAffinity",), {"only_on": [by_name("n1", "n2")]}, "pod affinity terms conflict"),
    (VOLUMES, {"claims": ["none"]}, 'persistentvolumeclaim "none" not found'),
    (VOLUMES, {"claims": ["stuck"]}, "pod has unbound immediate PersistentVolumeClaims"),
]


@pytest.mark.parametrize(("filters", "words", "line"), OUTRIGHT)
def test_a_filter_that_is_off_still_refuses_pods_outright(
    filters: tuple[str, ...], words: Object, line: str
) -> None:
    """What went wrong: such pods were placed; the plugin still runs at preFilter.

    Seen on kube-scheduler 1.36.2.
    """
    stuck = claim("stuck")
    stuck["spec"]["storageClassName"] = "now"
    there = node("n1"), stuck, {**storage_class("now"), "volumeBindingMode": "Immediate"}
    off = {"disabled": named(*filters)}
    told = decide(*there, pod("p", **words), scheduler(profile(plugins={"filter": off})))
    assert (told.node, told.message.split(": ")[1].split(". ")[0]) == (None, line)
    both = scheduler(profile(plugins={"filter": off, "preFilter": off}))
    assert decide(*there, pod("p", **words), both).node == "n1"


@pytest.mark.parametrize(
    ("plugins", "runs"),
    [
        (
            {
                "multiPoint": {"disabled": named("TaintToleration")},
                "score": {"enabled": named(TaintToleration=3)},
            },
            "TaintToleration at score and not at preScore",
        ),
        ({"preFilter": {"disabled": named("NodePorts")}}, "NodePorts at filter and not at preFilter"),
    ],
)
def test_a_plugin_without_what_it_prepares_is_told(plugins: Object, runs: str) -> None:
    """What went wrong: kube-scheduler failed with every pod of such a profile, and nothing was said."""
    notes = simulate(cluster(node("n1"), pod("p"), scheduler(profile(plugins=plugins)))).notes
    fails = "kube-scheduler may fail with every pod then, which is not modelled"
    assert notes == (f"profile default-scheduler runs {runs}: {fails}",)


def test_a_plugin_of_ones_own_may_be_disabled_at_a_point() -> None:
    """It was enabled at all of them; nothing is amiss, but that it is not modelled."""
    plugins = {"multiPoint": {"enabled": named("Mine")}, "score": {"disabled": named("Mine")}}
    notes = simulate(cluster(node("n1"), pod("p"), scheduler(profile(plugins=plugins)))).notes
    assert notes == ("plugin Mine of profile default-scheduler is not modelled",)


@pytest.mark.parametrize("percentage", [0, 100])
def test_scoring_all_nodes_needs_no_note(percentage: int) -> None:
    """0 is kube's own choice and 100 is what the planner does."""
    config = scheduler(profile(), percentageOfNodesToScore=percentage)
    assert simulate(cluster(node("n1"), pod("p"), config)).notes == ()


def test_preemption_can_be_disabled_by_a_profile() -> None:
    """PostFilter is an extension point like the others; profiles that keep it go on preempting."""
    off = {"postFilter": {"disabled": named("DefaultPreemption")}}
    config = scheduler(profile(plugins=off), profile("other"))
    full = [node("n1", cpu="1"), pod("low", "n1", cpu="1")]
    calm = simulate(cluster(*full, pod("p", cpu="1", priority=9), config)).decisions[0]
    told = "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate"
    assert (calm.node, calm.message) == (None, told)
    rough = simulate(cluster(*full, pod("p", cpu="1", priority=9, scheduler="other"), config)).decisions[0]
    assert rough.victims == ("default/low",)


def test_ignored_resources_are_not_checked() -> None:
    """A resource by name, or a group of them by what stands before the slash."""
    wants = pod("p", requests={"example.com/a": "1", "example.org/b": "1"})
    args = {"ignoredResources": ["example.com/a"], "ignoredResourceGroups": ["example.org"]}
    assert decide(node("n1"), wants, scheduler(profile(NodeResourcesFit=args))).node == "n1"
    assert decide(node("n1"), wants).message == (
        "0/1 nodes are available: 1 Insufficient example.com/a, 1 Insufficient example.org/b. "
        "no new claims to deallocate"
    )


def test_only_extended_resources_are_ignored() -> None:
    """kube accepts other names in the list, and goes on looking at room for them."""
    args = {"ignoredResources": ["cpu", "pods", "hugepages-2Mi"], "ignoredResourceGroups": ["cpu"]}
    wants = pod("p", cpu="2", requests={"hugepages-2Mi": "2Mi"})
    assert decide(node("n1", cpu="1"), wants, scheduler(profile(NodeResourcesFit=args))).message == (
        "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient hugepages-2Mi. "
        "no new claims to deallocate"
    )


def test_what_a_profile_ignores_bounds_no_batch() -> None:
    """Pods of the profile that ignores a resource come past the limit that another profile has for it."""
    args = {"ignoredResources": ["example.com/gpu"]}
    config = scheduler(profile(), profile("other", NodeResourcesFit=args))
    wants: Object = {"requests": {"example.com/gpu": "1"}}
    given = cluster(
        node("n1", room={"example.com/gpu": "1"}),
        *(pod(f"p{n}", **wants) for n in range(2)),
        *(pod(f"q{n}", scheduler="other", **wants) for n in range(2)),
        config,
    )
    plan = solve(given)
    stage = plan.objective[0]
    assert (stage.value, stage.bound, stage.proved) == (3, 3, True)
    # The first pod's own profile would not take it beside the others.
    assert not plan.verdicts.final_state
