"""The errors that are raised on purpose, each told in whole lines.

PlannerError               everything below; the command line catches this one
├── InputError             files, manifests or options that cannot be used: exit code 2
├── NoAnswer               the limit ended the search before it had any answer: exit code 3
└── InternalError          the planner contradicts itself, please report it: exit code 4
"""

from collections.abc import Iterable


class PlannerError(Exception):
    """The base of every error that the planner raises on purpose."""


class InputError(PlannerError):
    """The input is unusable; `problems` has one line for each thing to repair."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems: tuple[str, ...] = tuple(problems)
        super().__init__("\n".join(self.problems))


def system_reason(error: OSError) -> str:
    """What the system says of a file, as it stands in a line."""
    return (error.strerror or str(error)).lower()


class NoAnswer(PlannerError):
    """The limit ended the search before it had any answer."""


class InternalError(PlannerError):
    """A result that failed its own audit; it is never printed."""
