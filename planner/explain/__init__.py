"""Why pods are pending, and the smallest changes that help, each one tried out.

Everything is judged where the cluster comes to rest: after every pending pod had its turns. A fix is
what gives the pod a node there, with everybody ahead of it in the queue having had another turn.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator

from models import Cluster
from planner.audit.spread_counts import Owners
from planner.clock import is_rung, looking_for
from planner.documents.explanation import Conflict, Explanation, ExplanationList
from planner.documents.explanation import Fix as FixDocument
from planner.errors import InputError
from planner.explain.at_rest import AtRest
from planner.explain.blockers import Case
from planner.explain.conflict import conflict
from planner.explain.report import explanation
from planner.explain.search import FixSearch
from planner.proof.meter import Meter

__all__ = ["explain"]

_CUT = "the time was up before it was known which pods and fields exclude each other"


def explain(
    cluster: Cluster,
    pods: Collection[str] | None = None,
    *,
    preemption: bool = True,
    batch: float = 0.0,
    bell: threading.Event | None = None,
) -> ExplanationList:
    """The explanations of all pending pods, or of those named (`namespace/name`); one for pods alike.

    With `batch` so many seconds may go into a minimal set of pods and fields that exclude each other.
    When `bell` is set, no more changes are tried out.
    """
    settled = AtRest.of(cluster, preemption)
    wanted = None if pods is None else set(pods)
    _check_names(settled, wanted)
    items = tuple(_explanations(settled, wanted, Owners(cluster), bell))
    meter = Meter.of(batch) if batch > 0 else None
    found = None if meter is None else _conflict(cluster, settled, wanted, meter)
    cut = meter is not None and meter.cut is not None
    return ExplanationList(
        items=items,
        conflict=found,
        cut=cut,
        kubernetes=settled.problem.kubernetes.document,
        notes=(
            *(*cluster.notes, *settled.problem.notes, *_placed(settled, wanted or set()), *_stopped(bell)),
            *((_CUT,) if cut else ()),
        ),
    )


def _conflict(cluster: Cluster, settled: AtRest, wanted: set[str] | None, meter: Meter) -> Conflict | None:
    """What keeps the pending pods of the snapshot from being placed together."""
    gated = {settled.problem.pods[pod].key for pod in settled.left if settled.is_gated(pod)}
    pods = {pod.key for pod in cluster.pods if not pod.node_name and not pod.is_finished} - gated
    return conflict(cluster, frozenset(pods if wanted is None else pods & wanted), meter)


def _check_names(settled: AtRest, wanted: set[str] | None) -> None:
    """Everybody asked about is there and pending."""
    problem, known = settled.problem, settled.problem.pod_index
    problems = []
    for name in sorted(wanted or ()):
        if name not in known:
            problems.append(f"there is no pod {name}")
        elif problem.pods[known[name]].node_name:
            problems.append(f"pod {name} is not pending: it is on {problem.pods[known[name]].node_name}")
        elif problem.pods[known[name]].spec.scheduler_name not in settled.scheduler.schedulers:
            scheduler = problem.pods[known[name]].spec.scheduler_name
            problems.append(f"pod {name} asks for scheduler {scheduler}, which has no profile here")
    if problems:
        raise InputError(problems)


def _stopped(bell: threading.Event | None) -> Iterator[str]:
    if is_rung(bell):
        yield "stopped: not every change was tried out"


def _explanations(
    settled: AtRest, wanted: set[str] | None, owners: Owners, bell: threading.Event | None
) -> Iterator[Explanation]:
    """One for each template, for the first pod in the queue that is asked about; at last who only waits."""
    problem = settled.problem
    groups: dict[int, list[int]] = {}
    for pod in settled.left:
        if wanted is None or problem.pods[pod].key in wanted:
            groups.setdefault(int(problem.template_of[pod]), []).append(pod)
    for number, (pod, *alike) in enumerate(groups.values(), start=1):
        looking_for(f"what helps {problem.pods[pod].key}, kind {number} of {len(groups)}")
        case = Case.of(settled, pod)
        yield explanation(case, FixSearch(case, bell).run(), alike, owners)
    for pod, node in settled.late.items():
        if wanted is None or problem.pods[pod].key in wanted:
            yield _waiting(settled, pod, node, owners)


def _placed(settled: AtRest, wanted: set[str]) -> Iterator[str]:
    """Those asked about that wait for nothing but their first turn."""
    problem, node_of = settled.problem, settled.scheduler.state.node_of
    placed = {name: node_of[problem.pod_index[name]] for name in sorted(wanted)}
    found = {
        name: problem.nodes.names[node]
        for name, node in placed.items()
        if node >= 0 and problem.pod_index[name] not in settled.late
    }
    for name, where in [*found.items()][:1]:
        if len(found) == 1:
            yield f"{name} gets {where} when its turn comes: nothing keeps it pending"
        else:
            yield (
                f"{len(found)} pods get a node when their turn comes, {name} gets {where} for one: nothing "
                "keeps them pending"
            )


def _waiting(settled: AtRest, pod: int, node: int, owners: Owners) -> Explanation:
    """A pod that needs nothing but another try."""
    return Explanation(
        pod=settled.problem.pods[pod].key,
        workload=owners.workload_of(settled.problem.pods[pod], settled.problem.template(pod)),
        message=settled.messages[pod],
        fixes=(FixDocument(changes=(), node=settled.problem.nodes.names[node]),),
        tried=0,
        exhausted=True,
    )
