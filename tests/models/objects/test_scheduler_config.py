"""A KubeSchedulerConfiguration knows its plugins' arguments by name."""

import pytest

from models import Cluster, InputError
from models.objects.scheduler_config import (
    InterPodAffinityArgs,
    NodeResourcesFitArgs,
    PluginConfig,
    PodTopologySpreadArgs,
)
from tests.builders import node

CONFIG = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {
            "schedulerName": "batch",
            "plugins": {
                "score": {"disabled": [{"name": "*"}], "enabled": [{"name": "A", "weight": 5}]},
                "multiPoint": {"enabled": [{"name": "B"}]},
            },
            "pluginConfig": [
                {
                    "name": "PodTopologySpread",
                    "args": {
                        "defaultingType": "List",
                        "defaultConstraints": [
                            {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}
                        ],
                    },
                },
                {
                    "name": "NodeResourcesFit",
                    "args": {
                        "scoringStrategy": {
                            "type": "RequestedToCapacityRatio",
                            "requestedToCapacityRatio": {"shape": [{"utilization": 0, "score": 9}]},
                        }
                    },
                },
                {"name": "Mine", "args": {"any": [1, "thing"]}},
            ],
        }
    ],
}


def test_a_configuration_is_read() -> None:
    """Typed arguments for known plugins, plain ones for others, defaults where none are given."""
    config = Cluster.from_objects([CONFIG]).scheduler_config
    assert config is not None
    (profile,) = config.profiles
    assert profile.plugins.score.enabled[0].weight == 5
    assert profile.plugins.score.disabled[0].name == "*"
    assert profile.plugins.multi_point.enabled[0].name == "B"
    assert profile.args(PodTopologySpreadArgs).default_constraints[0].topology_key == "z"
    strategy = profile.args(NodeResourcesFitArgs).scoring_strategy
    assert strategy.requested_to_capacity_ratio is not None
    assert strategy.requested_to_capacity_ratio.shape[0].score == 9
    assert [item.name for item in strategy.resources] == ["cpu", "memory"]
    assert profile.args(InterPodAffinityArgs).hard_pod_affinity_weight == 1
    assert profile.plugin_config[2] == PluginConfig(name="Mine", args={"any": [1, "thing"]})


def test_a_weight_of_zero_is_the_default() -> None:
    """kube-scheduler takes it for 1; it was refused."""
    strategy = {"type": "LeastAllocated", "resources": [{"name": "cpu", "weight": 0}]}
    args = PluginConfig.model_validate(
        {"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy}}
    ).args
    assert isinstance(args, NodeResourcesFitArgs)
    assert args.scoring_strategy.resources[0].weight == 1


@pytest.mark.parametrize(
    ("version", "kind", "expected"),
    [
        (
            "kubescheduler.config.k8s.io/v1beta3",
            "KubeSchedulerConfiguration",
            "kubescheduler.config.k8s.io/v1",
        ),
        ("kubescheduler.config.k8s.io/v2", "KubeSchedulerConfiguration", "kubescheduler.config.k8s.io/v1"),
        ("descheduler/v1alpha1", "DeschedulerPolicy", "descheduler/v1alpha2"),
    ],
)
def test_another_version_is_refused(version: str, kind: str, expected: str) -> None:
    """What went wrong: it was read as if its fields were those of this version, so most were passed over."""
    with pytest.raises(InputError) as caught:
        Cluster.from_objects([node("a"), {"apiVersion": version, "kind": kind}])
    assert caught.value.problems == (
        f"objects, items[1], {kind}, apiVersion: expected '{expected}', found '{version}'",
    )
    Cluster.from_objects([node("a"), {"apiVersion": expected, "kind": kind}])
