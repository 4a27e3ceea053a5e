"""`planner capacity` foretells a real kube-scheduler: so many more run, and of one more one is Pending."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from tests.e2e.control_plane import ControlPlane, Manifest, wait_for
from tests.e2e.manifests import HOSTNAME, ZONE, node, spread, workload


def drawn(seed: int) -> list[Manifest]:
    """A few nodes in three zones, and five workloads that are held up by different things."""
    draw = random.Random(seed)
    nodes = [
        node(f"n{n}", zone="abc"[n % 3], cpu=draw.choice(("1", "2", "3"))) for n in range(draw.randint(3, 6))
    ]
    affinity = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "apart"}}}
            ]
        }
    }
    return [
        *nodes,
        workload("plain", 1, cpu=draw.choice(("300m", "500m"))),
        workload("zones", 1, spread("zones"), cpu="250m"),
        workload("hosts", 1, spread("hosts", HOSTNAME), cpu="200m"),
        workload("both", 1, spread("both", ZONE, skew=2), spread("both", HOSTNAME), cpu="300m"),
        workload("apart", 1, cpu="100m", affinity=affinity),
    ]


def scaled(live: ControlPlane, name: str, replicas: int) -> list[str]:
    """The messages of pods of a workload that have no node when all of its replicas have been looked at."""
    live.kubectl("scale", f"deployment/{name}", f"--replicas={replicas}", "-n", "default")

    def looked_at() -> tuple[list[str]] | None:
        pods = [pod for pod in live.pods(labels=f"app={name}") if "deletionTimestamp" not in pod["metadata"]]
        waiting = [pod for pod in pods if not pod["spec"].get("nodeName")]
        said = [line for pod in waiting for line in _unscheduled(pod)]
        return (said,) if len(pods) == replicas and len(said) == len(waiting) else None

    return wait_for(f"{replicas} pods of {name}", looked_at)[0]


def _unscheduled(pod: Manifest) -> list[str]:
    conditions: list[Any] = pod.get("status", {}).get("conditions", [])
    return [c["message"] for c in conditions if c["type"] == "PodScheduled" and c["status"] == "False"]


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_so_many_more_run_and_of_one_more_one_is_pending(live: ControlPlane, seed: int) -> None:
    """Five workloads, one after the other, with the scheduler's own line about the one that waits."""
    live.create(*drawn(seed))
    live.at_rest(5)
    for name in ("plain", "zones", "hosts", "both", "apart"):
        # A scale-down may have kept another replica than was there before.
        ended = live.run(*live.command("capacity", f"deploy/{name}", "-n", "default", "-o", "json"))
        assert ended.returncode == 0, ended.stderr
        (row,) = json.loads(ended.stdout)["workloads"]
        assert scaled(live, name, 1 + row["more"]) == []
        assert scaled(live, name, 2 + row["more"]) == [row["message"]]
        scaled(live, name, 1)
        live.at_rest(5)
