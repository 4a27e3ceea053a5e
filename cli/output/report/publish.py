"""`--report FILE.html`: what a command found, as a web page to share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cli.output.blocks import Section, Sentence, section
from cli.output.outcome import writing
from cli.output.page import Page, counted
from cli.output.progress import doing
from cli.output.screen import Screen
from cli.output.views.placement_plan import STEPS
from planner.documents.comparison import Comparison
from planner.documents.consolidation import ConsolidationPlan
from planner.documents.move_plan import MovePlan
from planner.documents.plan import Document, PlacementPlan
from planner.documents.rollout import Rollout

#: So many pods left over are explained, and only in clusters with so few pairs of a pending pod and a node.
_MOST_EXPLAINED, _MOST_TRIED = 3, 1_000_000

if TYPE_CHECKING:
    from cli.output.report.page import StepLabel
    from models import Cluster
    from planner.audit.picture import Step
    from planner.documents.picture import Picture


def publish(target: str, command: str, document: Document, cluster: Cluster) -> None:
    """Write the page of a document."""
    with doing("drawing the page"):
        text = html(command, document, cluster)
    with writing("--report", target):
        Path(target).write_text(text, "utf-8")


def html(command: str, document: Document, cluster: Cluster) -> str:
    """The page of a document about a cluster."""
    from cli.output.report.cost_plot import cost_plot, nodes_there
    from cli.output.report.page import page
    from planner.audit.picture import picture

    steps, told = _steps(document)
    drawn = picture(cluster, steps)
    plot = None
    if isinstance(document, ConsolidationPlan):
        drawn, plot = nodes_there(drawn, document), cost_plot(document)
    found = [*_sections(document)]
    # Long lists come last.
    steps_at = next((place for place, one in enumerate(found) if one.title == STEPS), len(found))
    more = [*_fixes(document, cluster), *_spread(document, drawn)]
    sections = [*found[:steps_at], *more, *found[steps_at:]]
    return page(command, document, sections, drawn, told, [*_facts(document, cluster, drawn)], plot)


def _sections(document: Document) -> Iterator[Section]:
    from cli.output.render import sections_of

    return sections_of(document, Page(Screen(), searchable=True))


def _spread(document: Document, drawn: Picture) -> Iterator[Section]:
    """The spread of documents that do not show it themselves."""
    from cli.output.views.spread import spread_after

    if isinstance(document, PlacementPlan):
        yield section("Spread", spread_after(drawn.spread, everything=False))
    elif isinstance(document, Rollout):
        yield section("Spread after the first draw", spread_after(document.spread, everything=False))


def _fixes(document: Document, cluster: Cluster) -> Iterator[Section]:
    """What would help pods that a plan leaves over, as explain has it, where that takes a moment only."""
    from cli.output.views.explanation import fixes
    from planner import explain

    pending = {pod.key for pod in cluster.pods if not pod.node_name}
    # `compare --afresh` may leave over pods that run now.
    left = [key for key in _left_over(document) if key in pending]
    if not left or len(pending) * len(cluster.nodes) > _MOST_TRIED:
        return
    page = Page(Screen(), searchable=True)
    for item in explain(cluster, set(left)).items[:_MOST_EXPLAINED]:
        lead = Sentence("Tried out with kube-scheduler, which takes the pods one by one.")
        yield section(f"What helps {item.pod}", lead, *fixes(item, page))


def _left_over(document: Document) -> Sequence[str]:
    """The pods that no step places, the first of those with the same line of the scheduler."""
    if isinstance(document, PlacementPlan):
        return [*{left.message: left.pod for left in reversed(document.unplaced)}.values()][:_MOST_EXPLAINED]
    if isinstance(document, Comparison):
        return document.optimal.unplaced[:_MOST_EXPLAINED]
    return ()


def _steps(document: Document) -> tuple[Sequence[Step], Sequence[StepLabel]]:
    """What a plan does to pods, and how each step is called."""
    from cli.output.report.page import StepLabel

    if isinstance(document, MovePlan | ConsolidationPlan):
        moves = [(step.pod, step.source, step.node) for step in document.steps]
        return moves, [StepLabel(s.wave, f"{s.pod} from {s.source} to {s.node}") for s in document.steps]
    if isinstance(document, PlacementPlan):
        binds: list[Step] = []
        words = []
        for step in document.steps:
            leaving = step.source if step.action == "evict" else None
            binds.append((step.pod, leaving, step.node))
            to = f"{step.pod} to {step.node}" if step.node else f"{step.pod} leaves {step.source}"
            words.append(StepLabel(0, to))
        return binds, words
    return (), ()


def _facts(document: Document, cluster: Cluster, drawn: Picture) -> Iterator[str]:
    """Which cluster it is about, how large it is, and whose decisions are copied."""
    origin = getattr(cluster, "origin", None)
    if origin is not None and origin.context:
        yield f"cluster {origin.context}"
    pods = sum(node.pods[0] for node in drawn.nodes)
    nodes = sum(node.there[0] for node in drawn.nodes)
    yield f"{counted(nodes, 'node')}, {counted(pods, 'pod')} on nodes"
    if document.kubernetes is not None:
        yield f"as kube-scheduler {document.kubernetes.version} decides"
