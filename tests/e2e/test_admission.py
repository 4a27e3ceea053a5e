"""What the API server does to pods, foretold: quotas, limits, runtime classes and mutating policies."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.control_plane import PATIENCE_SECONDS, ControlPlane, Manifest, is_ready, wait_for
from tests.e2e.generated import static
from tests.e2e.manifests import node, spread, workload
from tests.e2e.stories import lopsided, per_zone


def quota(**hard: str) -> Manifest:
    """A ResourceQuota of the namespace default; `requests_cpu` stands for `requests.cpu`."""
    named = {key.replace("_", "."): amount for key, amount in hard.items()}
    return _object("v1", "ResourceQuota", "q", spec={"hard": named})


def create_quota(live: ControlPlane, item: Manifest) -> None:
    """Create a quota, and wait for its count: until then every pod is refused, in other words."""
    live.create(item)
    wait_for(
        "the count", lambda: all(found.get("status", {}).get("used") for found in live.get("resourcequotas"))
    )


def limits(**item: Any) -> Manifest:
    """A LimitRange for containers."""
    return _object("v1", "LimitRange", "l", spec={"limits": [{"type": "Container", **item}]})


def _object(version: str, kind: str, name: str, **more: Any) -> Manifest:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "default"}, **more}


def told(live: ControlPlane, *command: str, given: Manifest | None = None) -> tuple[int, Any]:
    """The exit code and the document of a command."""
    ended = live.run(*live.command(*command, "-o", "json"), given="" if given is None else json.dumps(given))
    assert ended.returncode in (0, 1), ended.stderr
    return ended.returncode, json.loads(ended.stdout)


def refusal(live: ControlPlane) -> str:
    """What the API server says of the pods of the Deployment web, after the word that names the pod."""

    def failed() -> str | None:
        (found,) = live.get("deployments", fields="metadata.name=web")
        conditions = found["status"].get("conditions", ())
        lines = [item["message"] for item in conditions if item["type"] == "ReplicaFailure"]
        return lines[0].partition(" is ")[2] if lines else None

    return wait_for("refusal", failed)


def at_rest(live: ControlPlane) -> list[Manifest]:
    """The pods of web when nothing changes any more."""
    static(live)
    return live.pods(labels="app=web")


def test_a_quota_stops_a_rollout(live: ControlPlane) -> None:
    """Five pods are asked for, three are made; the line is the API server's."""
    live.create(node("n1"))
    create_quota(live, quota(requests_cpu="3"))
    web = workload("web", 5, cpu="1")
    code, rollout = told(live, "rollout", "-f", "-", given=web)
    live.create(web)
    assert code == 1
    assert len(at_rest(live)) == 3
    assert rollout["workloads"][0]["message"] == f"not created: {refusal(live)}"
    code, found = told(live, "simulate")
    assert (code, found["pending"][0]["pods"]) == (1, 2)
    assert found["pending"][0]["message"] == f"not created: {refusal(live)}"


def test_a_default_makes_pods_too_large(live: ControlPlane) -> None:
    """Pods without a request get the namespace's, and only two of them fit."""
    live.create(node("n1", cpu="4"), limits(defaultRequest={"cpu": "1500m"}))
    web = workload("web", 3)
    web["spec"]["template"]["spec"]["containers"][0]["resources"] = {}
    code, rollout = told(live, "rollout", "-f", "-", given=web)
    assert (code, rollout["completes"]) == (1, False)
    live.create(web)
    (pending,) = [pod for pod in at_rest(live) if not is_ready(pod)]
    (condition,) = [c for c in pending["status"]["conditions"] if c["type"] == "PodScheduled"]
    assert condition["message"].startswith(rollout["workloads"][0]["message"].partition(" preemption")[0])


def test_a_bound_refuses_pods(live: ControlPlane) -> None:
    """No pod is made: what a container asks for is beyond the maximum."""
    live.create(node("n1"), limits(max={"cpu": "500m"}))
    web = workload("web", 1)
    web["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "1"}}
    code, rollout = told(live, "rollout", "-f", "-", given=web)
    live.create(web)
    assert (code, rollout["workloads"][0]["message"]) == (1, f"not created: {refusal(live)}")


def test_a_runtime_class_costs_room_and_chooses_nodes(live: ControlPlane) -> None:
    """With its overhead one pod fits on the node where the runtime is installed, not two."""
    runtime = _object("node.k8s.io/v1", "RuntimeClass", "kata", handler="kata")
    runtime |= {"overhead": {"podFixed": {"cpu": "1"}}, "scheduling": {"nodeSelector": {"kata": "yes"}}}
    del runtime["metadata"]["namespace"]
    special = node("n2", cpu="3")
    special["metadata"]["labels"]["kata"] = "yes"
    live.create(node("n1"), special, runtime)
    web = workload("web", 2, cpu="1", runtimeClassName="kata")
    code, rollout = told(live, "rollout", "-f", "-", given=web)
    live.create(web)
    assert sorted(is_ready(pod) for pod in at_rest(live)) == [False, True]
    assert (code, rollout["completes"]) == (1, False)
    missing = workload("api", 1, runtimeClassName="gvisor")
    code, rollout = told(live, "rollout", "-f", "-", given=missing)
    line = 'not created: forbidden: pod rejected: RuntimeClass "gvisor" not found'
    assert (code, rollout["workloads"][0]["message"]) == (1, line)


def test_no_pod_is_moved_that_its_quota_would_not_let_back(live: ControlPlane) -> None:
    """The quota was lowered since: what an eviction takes would be gone for good."""
    lopsided(live)
    create_quota(live, quota(pods="3"))
    _, plan = told(live, "rebalance", "--time-limit", "60")
    assert not plan["steps"]
    live.kubectl("delete", "resourcequota", "q", "-n", "default")
    create_quota(live, quota(pods="4"))
    _, plan = told(live, "rebalance", "--time-limit", "60")
    assert len(plan["steps"]) == 2
    (victim, *_) = [step["pod"].partition("/")[2] for step in plan["steps"]]
    live.kubectl("delete", "pod", victim, "-n", "default", "--wait=false")
    live.at_rest(4)


@pytest.mark.parametrize("most", ["4", "5"])
def test_a_surge_needs_room_in_the_quota(live: ControlPlane, most: str) -> None:
    """Where no pod may be unavailable, a full quota stops the rollout before it begins."""
    old = workload("web", 4, spread("web"))
    old["spec"]["strategy"] = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    live.create(node("n1"), quota(pods=most), old)
    live.at_rest(4)
    new = json.loads(json.dumps(old))
    new["spec"]["template"]["spec"]["containers"][0]["image"] = "other"
    _, rollout = told(live, "rollout", "--restart", "-f", "-", given=new)
    live.kubectl("apply", "-f", "-", given=json.dumps(new))
    seconds = PATIENCE_SECONDS if most == "5" else 8
    ended = live.run("kubectl", "rollout", "status", "deployment/web", f"--timeout={seconds}s")
    assert rollout["completes"] == (ended.returncode == 0) == (most == "5")


def test_a_mistyped_manifest_is_refused(live: ControlPlane) -> None:
    """With the API server's words, before anything is said about it."""
    live.create(node("n1"))
    web = workload("web", 1)
    web["spec"]["template"]["spec"]["nodeSelectr"] = {"pool": "a"}
    ended = live.run(*live.command("rollout", "-f", "-"), given=json.dumps(web))
    refused = live.run("kubectl", "create", "--validate=strict", "-f", "-", given=json.dumps(web))
    word = 'unknown field "spec.template.spec.nodeSelectr"'
    assert word in refused.stderr
    assert (ended.returncode, word in ended.stderr.replace("\n  ", " ")) == (2, True)


def _mutating(name: str, mutation: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A policy that changes all new pods, and its binding."""
    version, kind = "admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy"
    policy, binding = (_object(version, word, name) for word in (kind, f"{kind}Binding"))
    for found in (policy, binding):
        del found["metadata"]["namespace"]
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    matching = {"matchConstraints": {"resourceRules": [rule]}, "reinvocationPolicy": "Never"}
    return policy | {"spec": {**matching, "mutations": [mutation]}}, binding | {"spec": {"policyName": name}}


def test_labels_of_a_mutating_policy_count_for_the_next_pods(live: ControlPlane) -> None:
    """A spread that selects the label alone did not count the pods to come: all were put in zone a."""
    change = 'Object{metadata: Object.metadata{labels: {"team": "x"}}}'
    policy = _mutating(
        "team", {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": change}}
    )
    live.create(node("a1"), node("b1", zone="b"), *policy)
    tried = json.dumps(_object("v1", "Pod", "probe", spec=workload("w", 1)["spec"]["template"]["spec"]))
    dry = ("create", "--dry-run=server", "-f", "-", "-o", "json")
    wait_for("policy", lambda: '"team": "x"' in live.kubectl(*dry, given=tried))
    live.create(workload("web", 4, {**spread("web"), "labelSelector": {"matchLabels": {"team": "x"}}}))
    live.at_rest(4)
    ended = live.planner("simulate", "--scale", "deployment/web=7", "-o", "json")
    assert ended.returncode == 0, ended.stderr
    plan = json.loads(ended.stdout)
    assert any("label team=x is added" in note for note in plan["notes"])
    assert {row["node"] for row in plan["decisions"]} == {"a1", "b1"}
    live.kubectl("scale", "deployment/web", "--replicas=7")
    live.at_rest(7)
    assert sorted(per_zone(live, "web").values()) == [3, 4]


def test_a_mutating_policy_shows_in_the_pods_that_run(live: ControlPlane) -> None:
    """It raises every request; two more pods would fit by their template, and none fits as they are made."""
    change = '[JSONPatch{op: "replace", path: "/spec/containers/0/resources/requests/cpu", value: "3"}]'
    policy = _mutating("large", {"patchType": "JSONPatch", "jsonPatch": {"expression": change}})
    live.create(node("n1", cpu="4"), *policy)

    def is_at_work() -> bool:
        probe = json.dumps(_object("v1", "Pod", "probe", spec=workload("w", 1)["spec"]["template"]["spec"]))
        tried = live.kubectl("create", "--dry-run=server", "-f", "-", "-o", "json", given=probe)
        (container,) = json.loads(tried)["spec"]["containers"]
        return bool(container["resources"]["requests"]["cpu"] == "3")

    wait_for("policy", is_at_work)
    live.create(workload("web", 1))
    at_rest(live)
    more = workload("web", 2)
    code, rollout = told(live, "rollout", "-f", "-", given=more)
    live.kubectl("apply", "-f", "-", given=json.dumps(more))
    assert sorted(is_ready(pod) for pod in at_rest(live)) == [False, True]
    assert (code, rollout["completes"]) == (1, False)
    assert any("c requests 3 of cpu instead of 100m" in note for note in rollout["notes"])
