"""A document in a few figures, the one that counts most first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from typing import Any

Found = dict[str, Any]
#: What is well only as ties go has a number of these.
FAILING_DRAWS = "failingDraws"
#: None where there is nothing to count.
Figure = int | float | str | None
AnswerFigures = Mapping[str, Figure]


def figures(document: Found) -> dict[str, Figure]:
    """The figures of a document; of the survival of several keys those of all their domains together."""
    kind = str(document["kind"])
    if kind == "SurvivalList":
        return figures(_one_survival(document["items"]))
    if kind == "Capacity" and document["sets"]:
        told = document["sets"]
        copies = told["more"] if told["fewest"] is None else told["fewest"]
        return {"copies": int(copies), **{name: figure(document) for name, figure in _AUTOSCALED.items()}}
    return {name: figure(document) for name, figure in _FIGURES[kind].items()}


def badness(found: AnswerFigures) -> tuple[float, ...]:
    """What rows are ordered by: a row with more of the first figure is worse."""
    return tuple(_badness(name, value) for name, value in found.items() if not isinstance(value, str))


def _badness(name: str, value: float | None) -> float:
    if value is None:
        return -inf
    return -float(value) if name in _LESS_IS_WORSE else float(value)


def _one_survival(items: Sequence[Found]) -> Found:
    domains = [loss for item in items for loss in item["domains"]]
    return {"kind": "Survival", "domains": domains, "failures": sum(item["failures"] for item in items)}


def _length(field: str) -> Callable[[Found], int]:
    return lambda document: len(document[field])


def _pods(field: str) -> Callable[[Found], int]:
    return lambda document: sum(row["pods"] for row in document[field])


def _count(field: str, test: Callable[[Found], bool]) -> Callable[[Found], int]:
    return lambda document: sum(map(test, document[field]))


def _balance(field: str) -> Callable[[Found], int]:
    return lambda document: int(document["after"][field])


def _waves(document: Found) -> int:
    return max((step["wave"] for step in document["steps"]), default=0)


def _at_risk(document: Found) -> int:
    rows = (row for loss in document["domains"] for row in loss["workloads"])
    return len({(row["namespace"], row["workload"]) for row in rows if not row["ok"]})


def _lost_pending(document: Found) -> int:
    return max((sum(row["pods"] for row in loss["pending"]) for loss in document["domains"]), default=0)


def _least_more(document: Found) -> int | None:
    """None where no workload was counted: 0 would say that one has no room; with other ties, where less."""
    rows = document["workloads"]
    return min((row["more"] if row["fewest"] is None else row["fewest"] for row in rows), default=None)


def _contradicted(document: Found) -> int | None:
    """None where kube-scheduler says nothing else of any pod: a column of its own only where there is one."""
    return _pods("contradicted")(document) or None


def _failing_draws(rows: Iterable[Found]) -> int | None:
    """In how many draws of ties what is well is not, of all rows; None where none were drawn."""
    drawn = [number for row in rows if (number := row["failingDraws"]) is not None]
    return sum(drawn) if drawn else None


def _draws_of_removal(document: Found) -> int | None:
    drawn = document["failingDraws"]
    return None if drawn is None else sum(row["draws"] for row in drawn)


def _autoscalers_pending(document: Found) -> int | None:
    """None where no autoscaler was looked at: 0 would say that all of them can be at their maximum."""
    found = document["autoscalers"]
    return sum(row["pending"] > 0 for row in found) if found else None


_AUTOSCALED: Mapping[str, Callable[[Found], Figure]] = {
    "autoscalersPending": _autoscalers_pending,
    FAILING_DRAWS: lambda found: _failing_draws(found["autoscalers"]),
}
#: By kind of document: the heads of columns, and what is in them.
_FIGURES: Mapping[str, Mapping[str, Callable[[Found], Figure]]] = {
    "CheckReport": {
        "violations": lambda found: int(found["violations"]),
        "hardExcess": lambda found: int(found["hardExcess"]),
        "pending": lambda found: int(found["pending"]),
    },
    "Survival": {
        "failures": lambda found: int(found["failures"]),
        "workloads": _at_risk,
        "pending": _lost_pending,
        FAILING_DRAWS: lambda found: _failing_draws(found["domains"]),
    },
    "Simulation": {
        "pending": _pods("pending"),
        "contradicted": _contradicted,
        "placed": _count("decisions", lambda row: row["node"] is not None),
    },
    "PlacementPlan": {
        "unplaced": _length("unplaced"),
        "steps": _length("steps"),
        "status": lambda found: str(found["status"]),
    },
    "MovePlan": {
        "hardExcess": _balance("hardExcess"),
        "pending": _balance("pending"),
        "softExcess": _balance("softExcess"),
        "moves": _length("steps"),
        "waves": _waves,
        "status": lambda found: str(found["status"]),
    },
    "DrainPlan": {
        "blocked": _length("blocked"),
        "pending": _pods("pending"),
        "hardExcess": _balance("hardExcess"),
        FAILING_DRAWS: lambda found: _failing_draws([found]),
        "evictions": lambda found: sum(len(step["evictions"]) for step in found["steps"]),
        "waves": _waves,
    },
    "Rollout": {
        "incomplete": lambda found: found["replays"]["runs"] - found["replays"]["completed"],
        "broken": lambda found: found["replays"]["runs"] - found["replays"]["held"],
        "workloads": _length("workloads"),
    },
    "Trajectory": {
        "rebalance": lambda found: int(found["rebalance"]),
        "runs": lambda found: int(found["runs"]),
    },
    "ScaleDown": {
        "hardExcess": lambda found: int(found["best"]["hardExcess"]),
        "softExcess": lambda found: int(found["best"]["softExcess"]),
        "victims": lambda found: len(found["best"]["victims"]),
    },
    "ExplanationList": {
        "pending": lambda found: sum(1 + len(item["alike"]) for item in found["items"]),
        "withoutFix": _count("items", lambda item: not item["fixes"]),
        "contradicted": _contradicted,
    },
    "Comparison": {
        "notPlaced": lambda found: len(found["optimal"]["unplaced"]),
        "placedMore": lambda found: int(found["difference"]["placed"]),
    },
    "Capacity": {
        **_AUTOSCALED,
        "withoutRoom": _count("workloads", lambda row: row["more"] == 0),
        "leastMore": _least_more,
        "workloads": _length("workloads"),
    },
    "ConsolidationPlan": {
        "cost": lambda found: float(found["cost"]["after"]),
        "saved": lambda found: round(found["cost"]["before"] - found["cost"]["after"], 6),
        "removed": _length("removed"),
        FAILING_DRAWS: _draws_of_removal,
        "moves": _length("steps"),
    },
}
_LESS_IS_WORSE = {"placed", "leastMore", "copies"}
