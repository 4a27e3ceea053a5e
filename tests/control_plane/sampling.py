"""Sampling beside the program's: `python -m tests.control_plane.sampling --runs 60`.

300 nodes in three zones, and 200 pods with room that are created anew for every run of the real
kube-scheduler with its default percentage; beside them draws of the planner.  Prints the pods by zone of
both sides and how likely a difference like theirs is if there is none (chi-squared), and the same for
the pods on the fullest node.
"""

import argparse
import math
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from models import Cluster
from planner.problem.problem import Problem
from planner.scheduler.scheduler import Scheduler
from tests.builders import Object, node, pod
from tests.control_plane.api import Api
from tests.control_plane.replay import KUBERNETES, wake
from tests.e2e.control_plane import running, wait_for

NODES, PODS, ZONES = 300, 200, "abc"
#: Where every pod of one run went.
Run = list[str]


def machines() -> list[Object]:
    """Equal nodes, the zones in turn."""
    return [node(f"n{number:03}", zone=ZONES[number % len(ZONES)]) for number in range(NODES)]


def batch() -> list[Object]:
    """Equal pods, two hundred of which fill nothing."""
    containers = [
        {"name": "c", "image": "none", "resources": {"requests": {"cpu": "100m", "memory": "100Mi"}}}
    ]
    found = [pod(f"p{number:03}", containers=containers) for number in range(PODS)]
    for item in found:
        del item["status"]
        item["spec"]["terminationGracePeriodSeconds"] = 0
    return found


def drawn(runs: int) -> Iterator[Run]:
    """The planner's runs."""
    problem = Problem(Cluster.from_objects([*machines(), *batch()], kubernetes=KUBERNETES))
    for seed in range(runs):
        decisions = Scheduler(problem, seed=seed).run()
        yield [problem.nodes.names[found.node] for found in decisions if found.node is not None]


def real(api: Api, runs: int) -> Iterator[Run]:
    """The program's runs, all of one scheduler: it goes on where it stopped, which here is the beginning."""
    for item in machines():
        api.create(item)
    time.sleep(1)
    for _ in range(runs):
        for item in batch():
            api.create(item)
        yield wait_for("place for every pod", lambda: _places(api))
        for item in batch():
            api.delete(item)
        wait_for("end of all pods", lambda: not api.list("Pod"))


def _places(api: Api) -> Run | None:
    found = [str(item["spec"].get("nodeName", "")) for item in api.list("Pod")]
    return found if len(found) == PODS and all(found) else None


def by_zone(runs: Sequence[Run]) -> Counter[str]:
    """How many pods went to each zone in all runs together."""
    zones = {item["metadata"]["name"]: ZONES[number % len(ZONES)] for number, item in enumerate(machines())}
    return Counter(zones[place] for run in runs for place in run)


def fullest(runs: Sequence[Run]) -> Counter[str]:
    """In how many runs the fullest node had so many pods."""
    return Counter(str(max(Counter(run).values())) for run in runs)


def probability(ours: Counter[str], theirs: Counter[str]) -> float:
    """Of a difference at least as large between two samples of one distribution, by chi-squared."""
    kinds = sorted({*ours, *theirs})
    whole = ours.total() + theirs.total()
    squares = sum(
        (sample[kind] - share) ** 2 / share
        for kind in kinds
        for sample in (ours, theirs)
        for share in [(ours[kind] + theirs[kind]) * sample.total() / whole]
    )
    return 1.0 if len(kinds) == 1 else _tail(squares, len(kinds) - 1)


def _tail(squares: float, freedom: int) -> float:
    """The upper tail of the chi-squared distribution."""
    half, odd = squares / 2, freedom % 2
    powers = [step + odd / 2 for step in range(freedom // 2)]
    tail = math.exp(-half) * math.fsum(math.pow(half, power) / math.gamma(power + 1) for power in powers)
    return tail + (math.erfc(math.sqrt(half)) if odd else 0.0)


def main() -> None:
    """Both sides, and how far they agree."""
    parser = argparse.ArgumentParser(description="Sampled runs of the planner and of the real scheduler.")
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--draws", type=int, default=300)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as home, running(Path(home)) as plane, Api(plane.kubeconfig) as api:
        wake(api)
        theirs = list(real(api, asked.runs))
    ours = list(drawn(asked.draws))
    for what, counted in (("pods by zone", by_zone), ("fullest node", fullest)):
        mine, its = counted(ours), counted(theirs)
        print(f"{what}: {dict(mine)} drawn, {dict(its)} real, p = {probability(mine, its):.3f}")


if __name__ == "__main__":
    main()
