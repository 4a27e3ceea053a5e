"""Filters that a scheduler profile does not run, and which of its templates they could reject somewhere.

Spread is left out: a plan counts spread itself, whether the profile enforces it or not.
"""

from __future__ import annotations

from planner.constraints import Filter
from planner.problem.problem import Problem
from planner.problem.templates import Template
from planner.scheduler.profile import make_filters, profiles_of, switched_off
from planner.state.state import State


class UncheckedFilters:
    """For every profile the filters that are switched off, evaluated all the same."""

    def __init__(self, problem: Problem) -> None:
        state: State | None = None
        self._off: dict[str, tuple[Filter, ...]] = {}
        for name, config in profiles_of(problem.cluster.scheduler_config).items():
            if kinds := switched_off(config):
                state = State(problem) if state is None else state
                self._off[name] = make_filters(kinds, config, problem, state)

    def of(self, template: Template) -> str:
        """The name of the first disabled filter that could reject a node for the template; else empty."""
        off = self._off.get(template.pod.spec.scheduler_name, ())
        return next((plugin.name for plugin in off if _could_refuse(plugin, template)), "")


def _could_refuse(plugin: Filter, template: Template) -> bool:
    if plugin.compares or not plugin.concerns(template):
        return False
    return not plugin.static or bool((plugin.reject(template) != 0).any())
