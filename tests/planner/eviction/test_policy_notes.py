"""What of a DeschedulerPolicy the planner does not follow is said."""

import pytest

from models import Cluster
from planner.eviction.protections import unmodelled


@pytest.mark.parametrize(
    ("name", "args", "words"),
    [
        ("PodLifeTime", {}, "PodLifeTime of the DeschedulerPolicy does not affect how pods are spread"),
        ("SpreadMine", {}, "SpreadMine of the DeschedulerPolicy does not come with Descheduler"),
        ("DefaultEvictor", {"nodeSelector": "a=b"}, "nodeSelector"),
        ("DefaultEvictor", {"namespaceLabelSelector": {"matchLabels": {"a": "b"}}}, "namespaceLabelSelector"),
        (
            "DefaultEvictor",
            {
                "podProtections": {
                    "extraEnabled": ["PodsWithPVC"],
                    "config": {"PodsWithPVC": {"protectedStorageClasses": [{"name": "fast"}]}},
                }
            },
            "protectedStorageClasses",
        ),
    ],
)
def test_each_has_a_sentence(name: str, args: dict[str, object], words: str) -> None:
    """What went wrong: two arguments were passed over, and a plugin that there is not was no matter."""
    profile = {"name": "p", "pluginConfig": [{"name": name, "args": args}]}
    policy = {"apiVersion": "descheduler/v1alpha2", "kind": "DeschedulerPolicy", "profiles": [profile]}
    (note,) = unmodelled(Cluster.from_objects([policy], partial=True).descheduler_policy)
    assert words in note
