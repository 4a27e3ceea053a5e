"""What `planner check` found, in the text format that Prometheus reads."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from cli.output.outcome import writing
from planner.documents.plan import CheckReport, ConstraintReport
from planner.documents.survival import Survival

#: The process that collects the file runs as another user.
_MODE = 0o644
#: Labels whose value changes with every template.
_REVISIONS = {"pod-template-hash", "controller-revision-hash"}
Labels = Mapping[str, str]
Samples = Iterator[tuple[Labels, int | float]]


def write_metrics(target: str, report: CheckReport, surveys: Sequence[Survival], now: float) -> None:
    """Put the figures into a file, all at once: a reader sees the old ones or the new ones."""
    publish_metrics(target, _lines(report, surveys, now))


def publish_metrics(target: str, lines: Iterator[str]) -> None:
    """Put lines into a file, all at once: a reader sees the old ones or the new ones."""
    text = "\n".join([*lines, ""])
    path = Path(target)
    with writing("--metrics", target):
        if path.exists() and not path.is_file():
            path.write_text(text)
        else:
            _replace(path, text)


def _replace(path: Path, text: str) -> None:
    handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
            os.fchmod(file.fileno(), _MODE)
        os.replace(beside, path)
    finally:
        # Gone where all went well.
        Path(beside).unlink(missing_ok=True)


def _lines(report: CheckReport, surveys: Sequence[Survival], now: float) -> Iterator[str]:
    yield from gauge("spread_skew", "Pods in the fullest domain over the global minimum.", _skew(report))
    yield from gauge("spread_max_skew", "What the constraint allows.", _max_skew(report))
    yield from gauge("spread_excess_pods", "Pods that domains have too many.", _excess(report))
    yield from gauge("findings", "What else should not be, by plugin.", _findings(report))
    yield from gauge("pods_pending", "Pods without a node.", iter([({}, report.pending)]))
    if surveys:
        yield from gauge("survive", "1 when everything survives the loss of the domain.", _survive(surveys))
    yield from gauge("check_timestamp_seconds", "When this was found.", iter([({}, round(now))]))


def gauge(name: str, text: str, samples: Samples) -> Iterator[str]:
    """A figure with all its samples."""
    yield f"# HELP planner_{name} {text}"
    yield f"# TYPE planner_{name} gauge"
    worst: dict[str, int | float] = {}
    for labels, value in samples:
        inside = ",".join(f'{key}="{_escaped(label)}"' for key, label in labels.items())
        # Two revisions of a workload may say the same: the collector wants each name once.
        worst[inside] = max(value, worst.get(inside, value))
    for inside, value in worst.items():
        yield f"planner_{name}{{{inside}}} {value}" if inside else f"planner_{name} {value}"


def _skew(report: CheckReport) -> Samples:
    for labels, row in _constraints(report):
        yield labels, row.skew


def _max_skew(report: CheckReport) -> Samples:
    for labels, row in _constraints(report):
        yield labels, row.max_skew


def _excess(report: CheckReport) -> Samples:
    for labels, row in _constraints(report):
        yield labels, sum(row.excess.values())


def _constraints(report: CheckReport) -> Iterator[tuple[Labels, ConstraintReport]]:
    """Each constraint with what names it."""
    for row in report.constraints:
        labels = {
            "namespace": row.namespace,
            "workload": row.workload,
            "topology_key": row.topology_key,
            "when_unsatisfiable": row.when_unsatisfiable,
        }
        yield {**labels, "selector": _lasting(row.selector)}, row


def _lasting(selector: str) -> str:
    """A selector without the hash of a revision: with it every rollout would begin another time series."""
    parts = re.split(r",(?![^(]*\))", selector)
    return ",".join(part for part in parts if part.partition("=")[0] not in _REVISIONS)


def _findings(report: CheckReport) -> Samples:
    plugins = [finding.plugin for finding in report.findings]
    for plugin in dict.fromkeys(plugins):
        yield {"plugin": plugin}, plugins.count(plugin)


def _survive(surveys: Sequence[Survival]) -> Samples:
    for survey in surveys:
        for loss in survey.domains:
            yield {"topology_key": survey.topology_key, "domain": loss.domain}, int(loss.ok)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
