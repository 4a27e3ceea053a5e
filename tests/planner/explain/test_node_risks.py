"""Changes that would place a pod where it cannot run: other platforms, nodes that are new or about to go."""

import pytest

from tests.builders import labelled, node, pod
from tests.planner.explain.asking import only, summaries

_WINDOWS = {"kubernetes.io/os": "windows"}
_LINUX = {"kubernetes.io/os": "linux"}


def test_a_windows_pod_is_led_to_the_windows_nodes() -> None:
    """The first fix was to drop its nodeSelector, onto Linux; the taint of Windows stood for a sick node."""
    nodes = (
        node("l", labels=_LINUX),
        node("w", labels=_WINDOWS, taints=["node.kubernetes.io/os=windows:NoSchedule"]),
    )
    for words in ({"node_selector": _WINDOWS}, {"only_on": [labelled("kubernetes.io/os", "In", "windows")]}):
        found = only(*nodes, pod("new", **words))
        assert (found.fixes[0].changes[0].action, found.fixes[0].node) == ("AddToleration", "w")
        assert {fix.node for fix in found.fixes if fix.changes[0].action != "AddNode"} == {"w"}
        (dropped,) = [fix for fix in found.risky if fix.changes[0].action == "DropNodeRequirement"]
        assert dropped.risk == "kubernetes.io/os says what the pod's images are built for"


@pytest.mark.parametrize(
    ("taint", "reason"),
    [
        (
            "kubernetes.io/arch=arm64:NoSchedule",
            "keeps nodes for pods that are built for arm64, and this one does not say so",
        ),
        (
            "kubernetes.io/arch:NoSchedule",
            "keeps nodes for pods that are built for another architecture, and this one does not say so",
        ),
        ("node-role.kubernetes.io/control-plane:NoSchedule", "keeps other pods away from the control plane"),
        (
            "virtual-kubelet.io/provider=azure:NoSchedule",
            "keeps a virtual node for pods that may run outside of the cluster's machines",
        ),
        ("ToBeDeletedByClusterAutoscaler=1:NoSchedule", "says that the node is about to go"),
        ("karpenter.sh/disrupted:NoSchedule", "says that the node is about to go"),
        ("ebs.csi.aws.com/agent-not-ready:NoExecute", "says that the node is not set up yet"),
    ],
)
def test_a_taint_that_keeps_all_other_pods_away_is_not_tolerated_lightly(taint: str, reason: str) -> None:
    """The first fix was to tolerate nodes of another architecture, of the control plane, or about to go."""
    found = only(node("a", taints=[taint], cpu="8"), node("b", cpu="1"), pod("new", cpu="2"))
    assert {fix.changes[0].action for fix in found.fixes} == {"LowerRequest", "AddNode"}
    assert not [fix for fix in found.fixes if "arch" in fix.changes[0].summary]
    risks = {fix.risk for fix in found.risky}
    assert risks == {f"{taint.partition(':')[0].partition('=')[0]} {reason}"}


def test_the_taints_that_refuse_a_pod_are_named() -> None:
    """From 1.35 on kube-scheduler only counts `untolerated taint(s)`, and so did the table of nodes."""
    full = "node.kubernetes.io/disk-pressure:NoSchedule"
    nodes = node("a", taints=["gpu=yes:NoSchedule", full, "soft:PreferNoSchedule"]), node("b", taints=[full])
    (refused,) = only(*nodes, pod("new", tolerations=[{"key": "gpu", "operator": "Exists"}])).nodes
    assert (refused.plugin, refused.taints) == ("TaintToleration", (full,))
    assert not only(node("c", cpu="1"), pod("new", cpu="2")).nodes[0].taints


def test_no_node_like_the_control_plane_is_ordered_lightly() -> None:
    """A node like one of the control plane, without its taint, stood among the fixes."""
    nodes = node("cp-0", taints=["node-role.kubernetes.io/control-plane:NoSchedule"]), node("w", cpu="2")
    found = only(*nodes, pod("new", cpu="3"))
    assert [text for text in summaries(found) if text.startswith("one more node like")] == [
        "one more node like w, with 3 cpu",
        "one more node like cp-0, without taint node-role.kubernetes.io/control-plane",
    ]
    assert [fix.node for fix in found.fixes if fix.changes[0].action == "AddNode"] == ["w-2"]


def test_a_pod_that_asks_for_devices_by_limits_alone_may_tolerate_their_taint() -> None:
    """Devices are mostly asked for by limits alone; it was said that such a pod does not ask for one."""
    nodes = node("g", room={"nvidia.com/gpu": "1"}, taints=["nvidia.com/gpu:NoSchedule"]), node("b")
    container = {"name": "c", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    found = only(*nodes, pod("new", containers=[container]))
    assert (found.fixes[0].changes[0].action, found.fixes[0].risk) == ("AddToleration", "")


def test_another_architecture_is_no_typing_error() -> None:
    """An image for arm64 was to be sent to amd64, as the two are spelled alike."""
    found = only(
        node("a", labels={"kubernetes.io/arch": "amd64"}),
        pod("new", node_selector={"kubernetes.io/arch": "arm64"}),
    )
    assert not [text for text in summaries(found) if text.startswith("did you mean")]
