"""Tasks, and the replies to them; both travel between processes.

A worker holds one cluster, as it was read and after each change to it: what was read and changed for the last
question is there for the next, as far as both begin alike.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from models import Cluster
from planner.documents.plan import Document
from planner.fleet.summary import AnswerFigures, figures

#: The exit codes of a reply: all is well, and no answer in time or no worker.
WELL, NO_ANSWER = 0, 3
#: How long a task may take where nothing else is said.
SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a task: a document as its command prints it in JSON, or why there is none."""

    exit_code: int
    document: str | None = None
    error: str = ""
    figures: AnswerFigures = field(default_factory=dict)
    #: The most memory that its worker has had so far, in bytes.
    peak: int = 0

    @classmethod
    def of(cls, document: str, exit_code: int = WELL) -> Reply:
        return cls(exit_code, document, "", figures(json.loads(document)))

    @classmethod
    def none(cls, error: str) -> Reply:
        """There is no answer, and this is why."""
        return cls(NO_ANSWER, None, error)


#: What a worker does for a task; it can be pickled.
Ask = Callable[[], Reply]


@dataclass(frozen=True, slots=True)
class Task:
    """One question about one cluster in one scenario.

    `key` names the answer by all that it depends on; empty: it is not kept. Tasks of one `cluster` that
    follow each other are asked by one worker where there are enough clusters for all workers.
    """

    cluster: str
    scenario: str
    ask: Ask
    key: str = ""
    seconds: float = SECONDS


@dataclass(frozen=True, slots=True)
class Question:
    """A function of the planner asked about the cluster in some files, after changes to it."""

    function: Callable[[Cluster], Document]
    files: tuple[str, ...]
    changes: tuple[Callable[[Cluster], Cluster], ...] = ()

    def __call__(self) -> Reply:
        """Read, change and ask; the same files are read once by each worker."""
        cluster = held(0, self.files, lambda: Cluster.load(*self.files))
        for change in self.changes:
            cluster = change(cluster)
        return Reply.of(self.function(cluster).to_json())


#: By the number of changes: the name of a state and the cluster. Those after it are made from those before.
_HELD: list[tuple[Hashable, Cluster]] = []


def held(changes: int, key: Hashable, make: Callable[[], Cluster]) -> Cluster:
    """The cluster of this name after so many changes, made now unless it is the one held.

    What the name does not fit is dropped before, and all that was made from it.
    """
    if changes >= len(_HELD) or _HELD[changes][0] != key:
        del _HELD[changes:]
        found = make()
        if len(_HELD) == changes:
            _HELD.append((key, found))
        return found
    return _HELD[changes][1]
