"""What can go wrong with input, told in whole lines.

PlannerError
└── InputError    files, manifests or objects that cannot be used; carries every problem found
"""

from collections.abc import Iterable


class PlannerError(Exception):
    """The base of every error that the planner raises on purpose."""


class InputError(PlannerError):
    """The input is unusable; `problems` has one line for each thing to repair."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems: tuple[str, ...] = tuple(problems)
        super().__init__("\n".join(self.problems))
