"""What may follow on a command line: for the shells' completion and for `kubectl planner`.

The answer is in the form that kubectl expects of its plugins: a candidate a line, with what it is after
a tab, and in the last line a colon and a number that tells the shell what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from cli.commands.completion import Shell
from cli.input.known_names import KnownNames, contexts, in_cluster, in_files
from cli.input.options import ScriptOutput, Shape
from cli.output.outcome import write_lines

_KINDS = {
    "CloneSet": "cloneset",
    "Deployment": "deployment",
    "ReplicaSet": "replicaset",
    "Rollout": "rollout",
    "StatefulSet": "statefulset",
}
_SHORT = {
    "clone": "CloneSet",
    "deploy": "Deployment",
    "ro": "Rollout",
    "rs": "ReplicaSet",
    "sts": "StatefulSet",
}
#: How the metavar of an option begins that takes a file or folder.
_FILES = ("FILE", "DIR")
_WORKLOADS = "deployments.apps,statefulsets.apps"
_TOPOLOGIES = (
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "kubernetes.io/hostname",
)


class Then(IntEnum):
    """What the shell does with the candidates."""

    FILES = 0
    """Offers files where there are none."""
    NO_SPACE = 6
    """Offers no files, and leaves the cursor behind the word."""
    NOTHING = 4
    """Offers no files."""


Answer = tuple[list[str], Then]


def tell(group: Any, words: Sequence[str]) -> None:
    """Print what may stand for the last word of a command line of the program."""
    candidates, then = answer(group, list(words) or [""])
    write_lines([*candidates, f":{then.value}"])


def answer(group: Any, words: Sequence[str]) -> Answer:
    """What may stand for the last of these words, which follow `planner`, and how the shell goes on."""
    *before, last = words
    name = next((word for word in before if not word.startswith("-")), None)
    if name is None or name not in group.commands:
        return _beginning(_commands(group), last), Then.NOTHING
    return _CompletionLine(group, name, group.commands[name], before[before.index(name) + 1 :]).last(last)


def _commands(group: Any) -> Iterator[str]:
    for name, command in group.commands.items():
        if not command.hidden:
            yield f"{name}\t{command.get_short_help_str(80)}"


def _beginning(candidates: Iterable[str], text: str) -> list[str]:
    return [candidate for candidate in candidates if candidate.startswith(text)]


@dataclass(frozen=True, slots=True)
class _CompletionLine:
    """A command and what was typed behind it."""

    group: Any
    name: str
    command: Any
    words: Sequence[str]

    def last(self, text: str) -> Answer:
        option = self._option(self.words[-1]) if self.words else None
        if option is not None and not option.is_flag:
            return self._value(option.name, option, text)
        if text.startswith("--") and "=" in text:
            flag, _, begun = text.partition("=")
            option = self._option(flag)
            candidates, then = self._value(option.name, option, begun) if option else ([], Then.NOTHING)
            return [f"{flag}={candidate}" for candidate in candidates], then
        if text.startswith("-"):
            return _beginning(self._options(), text), Then.NOTHING
        return self._value(f"{self.name} argument", None, text)

    def _option(self, word: str) -> Any:
        return next((param for param in self.command.params if word in param.opts and word[:1] == "-"), None)

    def _options(self) -> Iterator[str]:
        for param in self.command.params:
            if param.opts[-1].startswith("--") and not param.hidden:
                yield f"{param.opts[-1]}\t{param.help.partition('. ')[0]}"

    def _value(self, name: str, option: Any, text: str) -> Answer:
        if name == "diff argument" or (option is not None and (option.metavar or "").startswith(_FILES)):
            return [], Then.FILES
        make = _VALUES.get(name)
        if make is None:
            return [], Then.NOTHING
        found = _beginning(dict.fromkeys(make(self, text)), text)
        return found, Then.NO_SPACE if found and all(item.endswith("=") for item in found) else Then.NOTHING

    def given(self, *names: str) -> list[str]:
        """The values of an option in what was typed."""
        pairs = zip(self.words, self.words[1:], strict=False)
        apart = [value for word, value in pairs if word in names]
        glued = [word.partition("=") for word in self.words]
        return apart + [value for name, sign, value in glued if name in names and sign]

    def known(self, kinds: str) -> Iterator[KnownNames]:
        """The objects of the files given, or of the live cluster."""
        files = self.given("--snapshot") or self.given("-f", "--filename")
        if files:
            yield from in_files(files)
            return
        yield from in_cluster(kinds, self.kubectl())

    def kubectl(self) -> list[str]:
        """kubectl with the options that were typed for it."""
        command = ["kubectl"]
        for flag in ("--context", "--kubeconfig"):
            command += [flag, self.given(flag)[-1]] if self.given(flag) else []
        return command


def _nodes(line: _CompletionLine, text: str) -> Iterator[str]:
    nodes = [item for item in line.known("nodes") if item.kind == "Node"]
    yield from (item.name for item in nodes)
    if "=" in text:
        yield from (label for item in nodes for label in item.labels)


def _pods(line: _CompletionLine, text: str) -> Iterator[str]:
    """By name alone, or with the namespace once that is typed."""
    wanted = line.given("-n", "--namespace")
    for item in line.known("pods"):
        if item.kind == "Pod" and (not wanted or item.namespace == wanted[-1]):
            yield f"{item.namespace}/{item.name}" if "/" in text else item.name


def _workloads(line: _CompletionLine, text: str) -> Iterator[str]:
    """With the namespace, unless -n says it; the kind as it is typed, where that is a short one."""
    short = text.partition("/")[0] if "/" in text else ""
    wanted = line.given("-n", "--namespace")
    for item in line.known(_WORKLOADS):
        if item.kind in _KINDS and wanted[-1:] in ([], [item.namespace]):
            kind = short if _SHORT.get(short) == item.kind else _KINDS[item.kind]
            yield f"{kind}/{item.name}" + ("" if wanted else f".{item.namespace}")


def _scaled(line: _CompletionLine, text: str) -> Iterator[str]:
    yield from (f"{name}=" for name in _workloads(line, text))


def _explained(line: _CompletionLine, text: str) -> Iterator[str]:
    yield from _pods(line, text)
    yield from _workloads(line, text)


def _selectors(line: _CompletionLine, text: str) -> Iterator[str]:
    """One more condition behind those that are typed: the labels of nodes for drain, else those of pods."""
    kind = "Node" if line.name == "drain" else "Pod"
    before, comma, _ = text.rpartition(",")
    for item in line.known("nodes" if kind == "Node" else "pods"):
        if item.kind == kind:
            yield from (f"{before}{comma}{label}" for label in item.labels)


def _namespaces(line: _CompletionLine, _: str) -> Iterator[str]:
    for item in line.known("namespaces"):
        yield from filter(None, (item.name if item.kind == "Namespace" else item.namespace,))


def _topologies(line: _CompletionLine, _: str) -> Iterator[str]:
    nodes = [item for item in line.known("nodes") if item.kind == "Node"]
    yield from [label.partition("=")[0] for item in nodes for label in item.labels] or _TOPOLOGIES


def _forms(line: _CompletionLine, _: str) -> Iterator[str]:
    """What -o takes: a script only where a plan can be carried out."""
    option = next(param for param in line.command.params if param.name == "output")
    yield from (form.value for form in ScriptOutput if form.value in option.help)


def _releases(*_: object) -> list[str]:
    from planner.problem.kubernetes_version import BEHAVIOURS

    return [str(row.version) for row in BEHAVIOURS]


def _questions(line: _CompletionLine, _: str) -> Iterable[str]:
    from cli.input.clusters import QUESTIONS

    return () if {*QUESTIONS} & {*line.words} else QUESTIONS


_VALUES: dict[str, Callable[[_CompletionLine, str], Iterable[str]]] = {
    "add_nodes": lambda line, text: (f"{text.partition('=')[0]}={name}" for name in _nodes(line, "")),
    "capacity argument": _workloads,
    "completion argument": lambda *_: [shell.value for shell in Shell],
    "context": lambda line, _: contexts(line.kubectl()),
    "cordon": _nodes,
    "delete_pod": _pods,
    "drain": _nodes,
    "drain argument": _nodes,
    "exclude": _workloads,
    "explain argument": _explained,
    "fleet argument": _questions,
    "help argument": lambda line, _: [str(name) for name in line.group.commands],
    "keep": _nodes,
    "kubernetes": _releases,
    "namespace": _namespaces,
    "nodes": _nodes,
    "output": _forms,
    "prefer": lambda *_: [shape.value for shape in Shape],
    "remove_node": _nodes,
    "scale": _scaled,
    "scale-down argument": _scaled,
    "selector": _selectors,
    "survive": _topologies,
    "sweep argument": _questions,
}
