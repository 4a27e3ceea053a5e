"""What a worker does for sweep and fleet: run a command of the planner, and keep what it prints."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cli.input.clusters import ClusterSource
from cli.input.holding import holding
from cli.input.what_if import Changes
from planner.fleet.tasks import WELL, Reply
from planner.fleet.variations import Variation

_ANSWERED = (0, 1)


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A command of the planner, whose document is the reply; files that are held go by their content."""

    run: Callable[[Sequence[str]], int]
    words: tuple[str, ...]
    content: str = ""

    def __call__(self) -> Reply:
        """Run it."""
        from cli.output.outcome import captured

        with holding(self.content), captured() as told:
            code = self.run(self.words)
        if code in _ANSWERED:
            return Reply.of("\n".join(told.written), code)
        lines = [line.removeprefix("error: ") for line in told.said if not line.startswith("note: ")]
        return Reply(code, None, "; ".join(lines))


@dataclass(frozen=True, slots=True)
class TakeSnapshot:
    """What is read of a live cluster, written into a file."""

    source: ClusterSource
    target: Path

    def __call__(self) -> Reply:
        """Ask kubectl."""
        from cli.input.live import ask_kubectl
        from models.sharing.listing import shared

        found, _ = ask_kubectl(self.source.context, self.source.kubeconfig)
        self.target.write_bytes(shared([("kubectl", found)], anonymize=False, kubernetes=None))
        return Reply(WELL)


@dataclass(frozen=True, slots=True)
class ValuesIn:
    """The values of variations in a cluster, such as all its zones, after some changes to its nodes."""

    source: ClusterSource
    asked: tuple[str, ...]
    content: str = ""
    changes: Changes = ()

    def __call__(self) -> Reply:
        """Read the cluster, which stays for the questions about it."""
        from cli.input.changes import changed
        from cli.input.source import load
        from planner.fleet.variations import variations

        with holding(self.content):
            cluster = changed(load(self.source.files, self.source.recursive, None, None), self.changes)
        found: Sequence[Variation] = [one.of(cluster) for one in variations(self.asked)]
        return Reply(WELL, json.dumps([(one.values, one.lost) for one in found]))
