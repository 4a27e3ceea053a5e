"""What a document claims, beside what exhaustive search finds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from models import Cluster, InputError
from models.errors import NoAnswer, PlannerError
from planner import scale_down
from planner.documents.plan import ScaleDown
from tests.truth import removing
from tests.truth.emptying_claims import judge_consolidate, judge_replayed
from tests.truth.findings import Finding, Judgement, compare
from tests.truth.generator import Case
from tests.truth.manifests import Object
from tests.truth.moving_claims import judge_rebalance, judge_unsearched
from tests.truth.placing_claims import judge_final, judge_moves, judge_solve, judge_with_claims
from tests.truth.search_profiles import leave_filters_out
from tests.truth.tiny_cluster import TinyCluster

TIME_LIMIT = 10.0


def judge(case: Case, time_limit: float = TIME_LIMIT) -> Judgement:
    """Ask the planner and the search, and compare; what is refused with a line is not searched."""
    found = Judgement()
    try:
        if makes_pods(case.objects):
            return Judgement(complete=False)
        found.findings += _judge_of(case)(case, time_limit, found)
    except NoAnswer as error:
        found.findings.append(Finding("cut", str(error)))
    except InputError:
        found.complete = False
    except PlannerError as error:
        found.findings.append(Finding("crash", f"{type(error).__name__}: {error}"))
    return found


def makes_pods(objects: Sequence[Object]) -> bool:
    """Whether a workload lacks pods, which the planner adds and the search does not know."""
    given = [item for item in objects if item["kind"] == "Pod"]
    return len(Cluster.from_objects(objects).pods) > len(given)


def _judge_scale_down(case: Case, time_limit: float, found: Judgement) -> Iterator[Finding]:
    cluster = Cluster.from_objects(case.objects)
    if not case.replicas:
        return
    started = time.perf_counter()
    plan = scale_down(cluster, case.replicas, time_limit=time_limit, effort=case.effort)
    found.seconds = time.perf_counter() - started
    found.proved = plan.status == "Optimal"
    yield from removing_findings(TinyCluster(case.objects), case.replicas, plan, found)


def removing_findings(
    tiny: TinyCluster, replicas: dict[str, int], plan: ScaleDown, found: Judgement
) -> Iterator[Finding]:
    """What is wrong with the choice of victims."""
    search = removing.Removing(tiny, replicas, plan.controller.victims)
    started = time.perf_counter()
    truth = search.run()
    found.search = time.perf_counter() - started
    if truth is None:
        found.complete = False
        return
    have = search.worth(plan.best.victims)
    if not search.is_possible(plan.best.victims):
        yield Finding("invalid", f"no deletion costs lead to the victims {plan.best.victims}")
        return
    names = ("hardExcess", "softExcess", "skew", "controllersVictims")
    for name, value, stage in zip(names, have, plan.objective, strict=True):
        if stage.value != value:
            yield Finding("invalid", f"{name} is said to be {stage.value} and is {value}")
    witness = (f"victims {', '.join(truth.victims)}",)
    yield from compare(plan.objective, have, truth.worth, witness)


def _judge_of(case: Case) -> Callable[[Case, float, Judgement], Iterator[Finding]]:
    """The judge of a command; claims of volumes have one of their own, and commands that move pods none.

    Nor have they one for profiles without some filter: pods of these are left alone.
    """
    if leave_filters_out(case.objects) and case.command in _UNSEARCHED:
        return _UNSEARCHED[case.command]
    if not any(item["kind"] == "PersistentVolumeClaim" for item in case.objects):
        return _JUDGES[case.command]
    if case.command == "solve --final-state":
        return judge_final
    return _UNSEARCHED.get(case.command, judge_with_claims)


_JUDGES = {
    "solve": judge_solve,
    "solve --allow-moves": judge_moves,
    "solve --final-state": judge_final,
    "rebalance": judge_rebalance,
    "consolidate": judge_consolidate,
    "scale-down": _judge_scale_down,
}
_UNSEARCHED = {"rebalance": judge_unsearched, "consolidate": judge_replayed}
