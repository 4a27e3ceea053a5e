"""Pod Security on a real API server: hundreds of random pods, each admitted or refused in the same words."""

from __future__ import annotations

import json
import random
import re
from typing import Any

from models import Cluster
from models.admission.pod_security import ENFORCE, violations
from tests.e2e.control_plane import ControlPlane, Manifest, wait_for
from tests.e2e.manifests import node, spread, workload
from tests.e2e.test_admission import told
from tests.seeds import fresh

LEVELS = ("restricted", "baseline")
CAPABILITIES = ("NET_ADMIN", "NET_BIND_SERVICE", "CHOWN", "SYS_TIME")


def context(chance: random.Random, *, of_pod: bool = False) -> Manifest:
    """Some of what a security context may say."""

    def sometimes(share: float, **found: Any) -> Manifest:
        return found if chance.random() < share else {}

    shared = {
        **sometimes(0.5, runAsNonRoot=chance.random() < 0.7),
        **sometimes(0.3, runAsUser=chance.choice([0, 7])),
        **sometimes(0.5, seccompProfile={"type": chance.choice(["RuntimeDefault", "Unconfined"])}),
    }
    if of_pod:
        return shared
    added = sometimes(0.5, add=chance.sample(CAPABILITIES, chance.randint(1, 3)))
    own = sometimes(0.6, capabilities={**sometimes(0.8, drop=chance.choice([["ALL"], ["NET_RAW"]])), **added})
    escalates = sometimes(0.4, allowPrivilegeEscalation=False)
    return {**shared, **own, **(escalates or sometimes(0.2, privileged=True))}


def pod(chance: random.Random, number: int, namespace: str) -> Manifest:
    """A pod of one to three containers, with now and then something of its host."""
    containers: list[Manifest] = []
    for place in range(chance.randint(1, 3)):
        found: Manifest = {"name": f"c{place}", "image": "none"}
        if chance.random() < 0.8:
            found["securityContext"] = context(chance)
        if chance.random() < 0.15:
            found["ports"] = [{"containerPort": 80 + place, "hostPort": 80 + place}]
        containers.append(found)
    spec: Manifest = {"containers": containers}
    if len(containers) > 1 and chance.random() < 0.4:
        spec["initContainers"] = [containers.pop()]
    if chance.random() < 0.6:
        spec["securityContext"] = context(chance, of_pod=True)
    spec |= {field: True for field in ("hostPID", "hostIPC", "hostNetwork") if chance.random() < 0.1}
    spec["volumes"] = [{"name": name, "hostPath": {"path": "/x"}} for name in "hi" if chance.random() < 0.15]
    metadata = {"name": f"{namespace}-{number}", "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def test_random_pods_are_judged_in_the_same_words(live: ControlPlane) -> None:
    """Under both levels; what is not valid at all is not compared."""
    seed = fresh()
    chance = random.Random(seed)
    for level in LEVELS:
        metadata = {"name": level, "labels": {ENFORCE: level}}
        live.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    pods = [pod(chance, number, level) for number in range(200) for level in LEVELS]
    listing = json.dumps({"apiVersion": "v1", "kind": "List", "items": pods})
    ended = live.run("kubectl", "create", "--dry-run=server", "-f", "-", "-o", "name", given=listing)
    told = dict(re.findall(r'(?:pods|Pod) "([^"]+)" is (.*)', ended.stderr))
    read = Cluster.from_objects([{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}, *pods]).pods
    compared = [item for item in read if not told.get(item.name, "").startswith("invalid")]
    assert len(compared) > len(LEVELS) * 100, seed
    for item in compared:
        words = violations({ENFORCE: item.namespace}, item.spec)
        assert told.get(item.name, "") == (words and f"forbidden: {words}"), (seed, item.name)


def test_pods_that_would_not_be_made_again_are_not_moved(live: ControlPlane) -> None:
    """They ran before the namespace had a level; a drain of their node says that none comes back."""
    live.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    web = workload("web", 4, spread("web"))
    web["metadata"]["namespace"] = "shop"
    live.create(node("a1"), web)
    live.at_rest(4)
    live.create(node("b1", zone="b"))
    assert told(live, "rebalance", "--time-limit", "60")[1]["steps"]
    live.kubectl("label", "namespace", "shop", f"{ENFORCE}=restricted")
    _, plan = told(live, "rebalance", "--time-limit", "60")
    assert not plan["steps"]
    code, plan = told(live, "drain", "a1")
    assert code == 1
    live.kubectl("cordon", "a1")
    live.kubectl("delete", "pods", "--all", "-n", "shop")
    failed = wait_for("refusal", lambda: _failed(live))
    assert "violates PodSecurity" in failed
    assert live.pods() == []


def _failed(live: ControlPlane) -> str | None:
    found = [c for item in live.get("replicasets") for c in item["status"].get("conditions", ())]
    return next((c["message"] for c in found if c["type"] == "ReplicaFailure"), None)
