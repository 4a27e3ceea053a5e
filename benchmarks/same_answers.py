"""Whether this checkout gives the same answers as another one, byte for byte, and how long both take.

`python benchmarks/same_answers.py --base ../other [--clusters N] [--seed S] [--ask survive|drain|explain]`:
drawn clusters that run, with spread, budgets, DaemonSets and volumes, tiny ones as for benchmarks/truth.py,
and the recorded ones. Every checkout answers in a process of its own, with its own Python. `--nodes` and
`--pods` draw larger clusters, and then only those.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
QUESTIONS = ("survive", "drain", "explain")
Object = dict[str, Any]


def main() -> int:
    """Draw, ask both, and say what differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path)
    parser.add_argument("--clusters", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--nodes", type=int)
    parser.add_argument("--pods", type=int)
    parser.add_argument("--ask", choices=QUESTIONS, action="append")
    parser.add_argument("--answer", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    asked = options.ask or QUESTIONS
    if options.answer is not None:
        for path in sorted(options.answer.glob("*.json")):
            for question in asked:
                print(json.dumps([path.stem, question, *_answer(path, question)]), flush=True)
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        seeds = range(options.seed, options.seed + options.clusters)
        found = (
            _recorded_and_drawn(seeds)
            if options.nodes is None
            else ((f"large-{seed}", drawn(seed, options.nodes, options.pods)) for seed in seeds)
        )
        for case, objects in found:
            listing = {"apiVersion": "v1", "kind": "List", "items": objects}
            (folder / f"{case}.json").write_text(json.dumps(listing))
        return _compare(folder, options.base, asked)


def _compare(folder: Path, base: Path, asked: Sequence[str]) -> int:
    """How many answers differ; what both print stands side by side."""
    mine, theirs = (_ask(checkout, folder, asked) for checkout in (ROOT, base.resolve()))
    differ = 0
    for here, there in zip(mine, theirs, strict=True):
        if here[2] != there[2]:
            differ += 1
            print(f"{here[0]} {here[1]}: {here[2]} here, {there[2]} there")
    for question in asked:
        times = [sum(row[3] for row in rows if row[1] == question) for rows in (mine, theirs)]
        number = sum(row[1] == question for row in mine)
        print(f"{question}: {number} clusters, {times[0]:.1f} s of CPU here, {times[1]:.1f} s there")
    print(f"{differ} of {len(mine)} answers differ")
    return min(differ, 1)


def _ask(checkout: Path, folder: Path, asked: Sequence[str]) -> list[list[Any]]:
    questions = [part for question in asked for part in ("--ask", question)]
    command = [str(checkout / ".venv/bin/python"), __file__, "--answer", str(folder), *questions]
    run = subprocess.run(
        command, env={"PYTHONPATH": str(checkout)}, cwd=folder, capture_output=True, text=True, check=True
    )
    return [json.loads(line) for line in run.stdout.splitlines()]


def _answer(path: Path, question: str) -> tuple[str, float]:
    """A digest of the document, or the error, and the seconds."""
    from models import Cluster
    from models.errors import InputError

    try:
        cluster = Cluster.load(path)
        start = time.process_time()
        text = _document(cluster, question)
    except InputError as error:
        return str(error), 0.0
    return f"{len(text)} bytes {hashlib.sha256(text.encode()).hexdigest()[:12]}", time.process_time() - start


def _document(cluster: Any, question: str) -> str:
    """All that is answered about a cluster, as JSON."""
    from planner import drain, explain, survive

    if question == "survive":
        labelled = [key for key in (ZONE, HOST) if any(key in n.metadata.labels for n in cluster.nodes)]
        keys = labelled if len(cluster.nodes) <= 12 else labelled[:1]
        return "".join(survive(cluster, key).model_dump_json() for key in keys)
    if question == "drain":
        names = sorted(node.name for node in cluster.nodes)
        parts = [names[: len(names) // 3 + 1], names[: len(names) - len(names) // 8]]
        return "".join(drain(cluster, part, at_once=2).model_dump_json() for part in parts)
    return explain(cluster).model_dump_json()


def _recorded_and_drawn(seeds: Sequence[int]) -> Iterator[tuple[str, list[Object]]]:
    sys.path.insert(0, str(ROOT))
    from tests.truth import wide
    from tests.truth.generator import draw

    for data in sorted(ROOT.glob("tests/data/*/*.jsonl.gz")):
        with gzip.open(data, "rt") as lines:
            cases = [json.loads(line) for line in lines]
        found = [case for case in cases if isinstance(case.get("cluster"), dict)]
        for case in random.Random(data.name).sample(found, min(len(seeds), len(found))):
            yield f"{data.name.split('.')[0]}-{case['name']}".replace("/", "-"), case["cluster"]["items"]
    for seed in seeds:
        yield f"tiny-{seed}", draw(seed).objects
        yield f"wide-{seed}", wide.draw(seed).objects
        dice = random.Random(seed)
        yield f"drawn-{seed}", drawn(seed, dice.randint(18, 60), dice.randint(100, 400))


def drawn(seed: int, nodes: int, pods: int) -> list[Object]:
    """A cluster that runs: a batch where kube-scheduler puts it, of ReplicaSets, and more beside it."""
    sys.path.insert(0, str(ROOT))
    from batch_templates import Mix
    from batches import BatchSize, objects
    from capacity import bound

    from models import Cluster
    from planner.problem.problem import Problem
    from planner.scheduler.scheduler import Scheduler

    dice = random.Random(seed)
    mix = Mix(
        anti_affinity=dice.choice((0, 0.2)),
        min_domains=dice.choice((0, 0.3)),
        priorities=dice.choice(((0,), (0,), (0, 10, 100))),
    )
    size = BatchSize(nodes, pods, max(4, pods // 60) if nodes > 100 else dice.randint(4, 30))
    batch = objects(size, dice.choice((0.5, 0.7, 0.9)), False, seed, mix)
    problem = Problem(Cluster.from_objects(batch))
    run = Scheduler(problem).run()
    placed = {problem.pods[d.pod].key: problem.nodes.names[d.node] for d in run if d.node is not None}
    found = bound(batch, placed)
    return [*found, *_budgets(dice, found), *_daemons(dice, found), *_with_volumes(dice, found)]


def _budgets(dice: random.Random, found: Sequence[Object]) -> Iterator[Object]:
    """A budget for a part of the ReplicaSets."""
    for item in found:
        if item["kind"] == "ReplicaSet" and dice.random() < 0.4:
            yield {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": {k: item["metadata"][k] for k in ("name", "namespace")},
                "spec": {"selector": item["spec"]["selector"], "maxUnavailable": dice.randint(0, 3)},
            }


def _daemons(dice: random.Random, found: Sequence[Object]) -> Iterator[Object]:
    """A DaemonSet with a pod on every node but a few."""
    labels, owner = (
        {"app": "agent"},
        {"kind": "DaemonSet", "name": "agent", "uid": "agent", "controller": True},
    )
    spec = {
        "containers": [{"name": "c", "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}}}],
        "tolerations": [{"operator": "Exists"}],
    }
    template = {"metadata": {"labels": labels}, "spec": spec}
    about = {"name": "agent", "namespace": "kube-system", "uid": "agent"}
    yield {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": about,
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    }
    for node in (item["metadata"]["name"] for item in found if item["kind"] == "Node"):
        if dice.random() < 0.95:
            yield {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": f"agent-{node}",
                    "namespace": "kube-system",
                    "labels": labels,
                    "ownerReferences": [owner],
                },
                "spec": {**spec, "nodeName": node},
                "status": {"phase": "Running"},
            }


def _with_volumes(dice: random.Random, found: Sequence[Object]) -> Iterator[Object]:
    """Pods of a StatefulSet, some on volumes of a zone and some whose volumes are yet to come."""
    zones = {n["metadata"]["name"]: n["metadata"]["labels"].get(ZONE) for n in found if n["kind"] == "Node"}
    yield {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "zonal"},
        "provisioner": "disk.example.com",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    labels, owner = {"app": "db"}, {"kind": "StatefulSet", "name": "db", "uid": "db", "controller": True}
    replicas = dice.randint(2, 6)
    spec = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}}}]}
    claim: Object = {"accessModes": ["ReadWriteOnce"], "storageClassName": "zonal"}
    claim = {**claim, "resources": {"requests": {"storage": "1Gi"}}}
    yield {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db", "namespace": "shop", "uid": "db"},
        "spec": {
            "replicas": replicas,
            "serviceName": "db",
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": claim}],
        },
    }
    for number in range(replicas):
        name, node = f"db-{number}", dice.choice([*zones])
        yield {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": f"data-{name}", "namespace": "shop"},
            "spec": {**claim, "volumeName": f"pv-{number}"},
            "status": {"phase": "Bound"},
        }
        term: Object = {"key": ZONE, "operator": "In", "values": [zones[node]]}
        yield {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": f"pv-{number}"},
            "spec": {
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "zonal",
                "claimRef": {"namespace": "shop", "name": f"data-{name}"},
                "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [term]}]}},
            },
        }
        volume = {"name": "data", "persistentVolumeClaim": {"claimName": f"data-{name}"}}
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "namespace": "shop",
                "labels": {**labels, "statefulset.kubernetes.io/pod-name": name},
                "ownerReferences": [owner],
            },
            "spec": {**spec, "volumes": [volume], **({"nodeName": node} if dice.random() < 0.8 else {})},
            "status": {"phase": "Running"},
        }


if __name__ == "__main__":
    sys.exit(main())
