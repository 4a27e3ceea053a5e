"""The configurations of kube-scheduler and Descheduler are read as strictly as these programs do."""

from typing import Any

import pytest

from models import Cluster, InputError
from models.admission.validation.scheduler import PLUGINS, meant
from tests.scheduler_configurations import ACCEPTED, DEFAULTS, OTHERS, REFUSED

Object = dict[str, Any]
SPREAD = "RemovePodsViolatingTopologySpreadConstraint"


def read(api_version: str, kind: str, fields: Object) -> Cluster:
    """What is read of a configuration."""
    return Cluster.from_objects([{"apiVersion": api_version, "kind": kind, **fields}], partial=True)


def scheduler(fields: Object) -> Cluster:
    """What is read of a KubeSchedulerConfiguration."""
    return read("kubescheduler.config.k8s.io/v1", "KubeSchedulerConfiguration", fields)


def policy(*configs: Object, **fields: Object) -> Cluster:
    """What is read of a DeschedulerPolicy with arguments for plugins."""
    profiles = [{"name": "p", "pluginConfig": list(configs), **fields}]
    return read("descheduler/v1alpha2", "DeschedulerPolicy", {"profiles": profiles})


@pytest.mark.parametrize(("where", "config"), REFUSED)
def test_what_kube_scheduler_does_not_start_with_is_refused(where: str, config: Object) -> None:
    """What went wrong: it was passed over, and the answer was about a scheduler that there is not."""
    with pytest.raises(InputError) as caught:
        scheduler(config)
    assert where in caught.value.problems[0]


@pytest.mark.parametrize("config", [*ACCEPTED, *DEFAULTS, OTHERS])
def test_what_kube_scheduler_starts_with_is_read(config: Object) -> None:
    """So is one that names a plugin of a scheduler that somebody built, and one that leaves out a default."""
    assert scheduler(config).scheduler_config is not None


@pytest.mark.parametrize(
    ("name", "known"),
    [
        *(
            ("NodeAffinty", "NodeAffinity"),
            ("NodeAffinityy", "NodeAffinity"),
            ("NodeAffniity", "NodeAffinity"),
        ),
        *(("NodeAffinitx", "NodeAffinity"), ("nodeaffinity", "NodeAffinity"), ("VolumeZones", "VolumeZone")),
        *(("NodeAffinity", None), ("NodeAffinity2", None), ("NodeAfinty", None), ("Coscheduling", None)),
        *(("NodeResourcesAllocatable", None), ("NodeResourceTopologyMatch", None), ("", None)),
    ],
)
def test_a_slip_is_one_letter(name: str, known: str | None) -> None:
    """More than that, or a digit, may be the name of somebody's own plugin."""
    assert meant(name) == known


def test_no_plugin_is_a_slip_of_another_one() -> None:
    """Else there would be two that could be meant."""
    assert not any(meant(name) for name in PLUGINS)


@pytest.mark.parametrize(
    ("name", "args", "problem"),
    [
        (
            SPREAD,
            {"constraint": []},
            'unknown field "profiles[0].pluginConfig[0].args.constraint", did you mean "constraints"?',
        ),
        (
            "DefaultEvictor",
            {"nodefit": True},
            'unknown field "profiles[0].pluginConfig[0].args.nodefit", did you mean "nodeFit"?',
        ),
        (
            f"{SPREAD}s",
            {},
            f"profiles[0].pluginConfig[0]: plugin {SPREAD}s in pluginConfig not registered, "
            f'did you mean "{SPREAD}"?',
        ),
        (
            "DefaultEvictor",
            {"priorityThreshold": {"value": 5, "name": "high"}},
            "profiles[0].pluginConfig[0].args.priorityThreshold: only one of priorityThreshold fields "
            "can be set",
        ),
        (
            SPREAD,
            {"namespaces": {"include": ["a"], "exclude": ["b"]}},
            "profiles[0].pluginConfig[0].args.namespaces: only one of Include/Exclude namespaces can be set",
        ),
        (
            "DefaultEvictor",
            {"podProtections": {"extraEnabled": ["PodsWithPVC", "PodsWithPVC"]}},
            "profiles[0].pluginConfig[0].args.podProtections.extraEnabled: contains duplicate entries",
        ),
        (
            "DefaultEvictor",
            {"podProtections": {"defaultDisabled": ["PodsWithPVC"]}},
            'profiles[0].pluginConfig[0].args.podProtections.defaultDisabled: "PodsWithPVC", valid options '
            "are: PodsWithLocalStorage, SystemCriticalPods, FailedBarePods, DaemonSetPods",
        ),
        (
            "DefaultEvictor",
            {"ignorePvcPods": True, "podProtections": {"extraEnabled": ["PodsWithoutPDB"]}},
            "profiles[0].pluginConfig[0].args: cannot use Deprecated fields alongside "
            "PodProtections.ExtraEnabled or PodProtections.DefaultDisabled",
        ),
    ],
)
def test_what_descheduler_does_not_start_with_is_refused(name: str, args: Object, problem: str) -> None:
    """It decodes the arguments of its plugins strictly: pkg/api/v1alpha2/conversion.go of 0.36."""
    with pytest.raises(InputError) as caught:
        policy({"name": name, "args": args})
    assert [line.partition("DeschedulerPolicy")[2].lstrip(":, ") for line in caught.value.problems] == [
        problem
    ]


def test_other_fields_descheduler_passes_over() -> None:
    """It does not decode the policy itself strictly; that something counts for nothing is said."""
    found = policy({"name": "PodLifeTime", "args": {"mine": 1}}, pluginConfigs={})
    assert found.notes == (
        'objects, DeschedulerPolicy: unknown field "profiles[0].pluginConfigs", did you mean "pluginConfig"?'
        ": Descheduler passes it over",
    )
