"""The errors that the planner raises on purpose.

PlannerError               everything below; the command line catches this one
├── InputError             files, manifests or options that cannot be used: exit code 2
├── NoAnswer               the limit ended the search before it had any answer: exit code 3
└── InternalError          the planner contradicts itself, please report it: exit code 4
"""

from models.errors import InputError, PlannerError


class NoAnswer(PlannerError):
    """The limit ended the search before it had any answer."""


class InternalError(PlannerError):
    """A result that failed its own audit; it is never printed."""


__all__ = ["InputError", "InternalError", "NoAnswer", "PlannerError"]
