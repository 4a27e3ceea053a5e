"""The explanations of pending pods as a document, and what keeps several of them out together."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence

from models import Cluster
from models.errors import InputError
from planner.audit.contradicted import contradictions, notes_of
from planner.audit.spread_counts import Owners
from planner.documents.explanation import Explanation, ExplanationList
from planner.documents.explanation import Fix as FixDocument
from planner.explain.at_rest import AtRest
from planner.explain.blockers import PendingCase
from planner.explain.conflict import conflict
from planner.explain.quota_room import RaisedQuotas
from planner.explain.report import explanation
from planner.explain.search import FixSearch
from planner.explain.trial_states import TrialStates
from planner.explain.unreached import unreached
from planner.problem.problem import Problem
from planner.proof.clock import is_stop_requested, looking_for
from planner.proof.effort import STANDARD, Effort
from planner.proof.meter import Meter
from planner.scheduler.remarks import notes_on

_TOGETHER = "no pods were found that exclude each other: `planner solve` may place more of them together"
_CUT = "{why} before it was known which pods and fields exclude each other"


def explain(  # noqa: PLR0913 - what can be asked, each by its name
    cluster: Cluster,
    pods: Collection[str] | None = None,
    *,
    preemption: bool = True,
    batch: float = 0.0,
    effort: Effort = STANDARD,
    stop_event: threading.Event | None = None,
) -> ExplanationList:
    """The explanations of all pending pods, or of those named (`namespace/name`); one for pods alike.

    With `batch` so many seconds may go into a minimal set of pods and fields that exclude each other.
    When `stop_event` is set, nothing more is tried out.
    """
    static = AtRest(Problem(cluster), preemption, effort.explain)
    contradicted = contradictions(static.problem, pods)
    wanted = None if pods is None else set(pods)
    _check_names(static, wanted)
    items = tuple(_explanations(static, wanted, Owners(cluster), stop_event))
    untried = is_stop_requested(stop_event)
    meter = Meter.of(batch, stop_event, effort=effort) if batch > 0 else None
    kinds = [] if meter is None else _batch(static, wanted)
    found = None if meter is None or not kinds else conflict(static, kinds, meter)
    cut = None if meter is None else meter.cut
    return ExplanationList(
        items=items,
        conflict=found,
        contradicted=contradicted,
        cut=cut is not None,
        kubernetes=static.problem.kubernetes.document,
        notes=(
            *notes_on(static.problem),
            *_placed(static, wanted or set()),
            *_making_room(static, wanted),
            *(("stopped: not every change was tried out",) if untried else ()),
            *notes_of(contradicted),
            *unreached(static.problem.cluster, items),
            *((_TOGETHER,) if kinds and found is None and cut is None else ()),
            *((_CUT.format(why="it was stopped" if cut.stopped else "the time was up"),) if cut else ()),
        ),
    )


def _making_room(static: AtRest, wanted: set[str] | None) -> Iterator[str]:
    """A note for each pod that has preempted others which have not ended yet."""
    pods = static.problem.pods
    ending = Counter(pods[number].node_name for number in static.problem.endings.terminating)
    for pod in (pods[number] for number in static.left):
        node = pod.status.nominated_node_name or ""
        if ending[node] and (wanted is None or pod.key in wanted):
            what = "1 pod is" if ending[node] == 1 else f"{ending[node]} pods are"
            yield f"{pod.key} has been promised room on {node}, where {what} terminating: it waits for that"


def _batch(static: AtRest, wanted: set[str] | None) -> list[list[str]]:
    """The pending pods of the snapshot, those alike together, where the scheduler leaves some.

    Pods that it places, if need be by preemption, come first.
    """
    left = {static.problem.pods[pod].key for pod in static.left}
    queue = (pod for pod in static.scheduler.queue if not static.problem.held_back(pod))
    pods = {static.problem.pods[pod].key for pod in queue}
    asked = pods if wanted is None else pods & wanted
    if asked.isdisjoint(left):
        return []
    kinds: dict[int, list[str]] = {}
    for pod in sorted(asked, key=lambda pod: (pod in left, pod)):
        kinds.setdefault(int(static.problem.template_of[static.problem.pod_index[pod]]), []).append(pod)
    return [*kinds.values()]


def _check_names(static: AtRest, wanted: set[str] | None) -> None:
    """Check that every pod asked about exists and is pending."""
    problem, known = static.problem, static.problem.pod_index
    problems = []
    for name in sorted(wanted or ()):
        if name not in known:
            problems.append(f"there is no pod {name}")
        elif problem.pods[known[name]].node_name:
            problems.append(f"pod {name} is not pending: it is on {problem.pods[known[name]].node_name}")
        elif problem.pods[known[name]].spec.scheduler_name not in static.scheduler.schedulers:
            scheduler = problem.pods[known[name]].spec.scheduler_name
            problems.append(f"pod {name} asks for scheduler {scheduler}, which has no profile here")
    if problems:
        raise InputError(problems)


def _explanations(
    static: AtRest, wanted: set[str] | None, owners: Owners, stop_event: threading.Event | None
) -> Iterator[Explanation]:
    """One for each kind of pods, for the first pod in the queue asked about; last those that only wait."""
    problem, states, raised = static.problem, TrialStates(static), RaisedQuotas(static)
    asked = (pod for pod in static.left if wanted is None or problem.pods[pod].key in wanted)
    groups = _kinds(static, asked)
    for number, (pod, *alike) in enumerate(groups, start=1):
        looking_for(f"what helps {problem.pods[pod].key}, kind {number} of {len(groups)}")
        if pod in problem.refused:
            yield _not_created(static, [pod, *alike], raised, owners)
            continue
        case = PendingCase.of(static, pod)
        yield explanation(case, FixSearch(case, stop_event, alike, states).run(), alike, owners)
    for pod, node in static.late.items():
        if wanted is None or problem.pods[pod].key in wanted:
            yield _waiting(static, pod, node, owners)


def _kinds(static: AtRest, asked: Iterable[int]) -> Sequence[Sequence[int]]:
    """The pods of each template; those of a DaemonSet together where all but their nodes is the same."""
    found: dict[Hashable, list[int]] = {}
    for pod in asked:
        found.setdefault(_kind(static, pod), []).append(pod)
    return [*found.values()]


def _kind(static: AtRest, number: int) -> Hashable:
    """Equal for pods that are explained together.

    A DaemonSet's controller leads each pod to its node by an affinity: each has a template of its own.
    """
    pod = static.problem.pods[number]
    owner = pod.metadata.controller
    if owner is None or owner.kind != "DaemonSet":
        return int(static.problem.template_of[number])
    anywhere = pod.spec.model_copy(update={"affinity": None}).model_dump_json()
    labels = tuple(sorted(pod.metadata.labels.items()))
    return pod.namespace, owner.name, labels, anywhere, static.messages[number]


def _placed(static: AtRest, wanted: set[str]) -> Iterator[str]:
    """Those asked about that only wait for the scheduler to look at them."""
    problem, node_of = static.problem, static.scheduler.state.node_of
    placed = {name: node_of[problem.pod_index[name]] for name in sorted(wanted)}
    found = {
        name: problem.nodes.names[node]
        for name, node in placed.items()
        if node >= 0 and problem.pod_index[name] not in static.late
    }
    for name, where in [*found.items()][:1]:
        if len(found) == 1:
            yield f"{name} gets {where} when the scheduler reaches it: nothing keeps it pending"
        else:
            yield (
                f"{len(found)} pods get a node when the scheduler reaches them, "
                f"for example {name} gets {where}: nothing keeps them pending"
            )


def _not_created(static: AtRest, pods: list[int], raised: RaisedQuotas, owners: Owners) -> Explanation:
    """Pods alike that the API server refuses: no node has a part in it."""
    problem, first = static.problem, pods[0]
    tried = raised.concerns(first)
    return Explanation(
        pod=problem.pods[first].key,
        workload=owners.of(problem.pods[first]),
        alike=tuple(problem.pods[other].key for other in pods[1:]),
        message=static.messages[first],
        fixes=raised.fixes(pods) if tried else (),
        tried=int(tried),
        exhausted=True,
    )


def _waiting(static: AtRest, pod: int, node: int, owners: Owners) -> Explanation:
    """A pod that needs nothing but another try."""
    return Explanation(
        pod=static.problem.pods[pod].key,
        workload=owners.of(static.problem.pods[pod]),
        message=static.messages[pod],
        fixes=(FixDocument(changes=(), node=static.problem.nodes.names[node]),),
        tried=0,
        exhausted=True,
    )
