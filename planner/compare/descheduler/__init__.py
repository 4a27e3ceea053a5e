"""Descheduler 0.36 as it is: RemovePodsViolatingTopologySpreadConstraint behind DefaultEvictor."""

from planner.compare.descheduler.rounds import Descheduled, descheduled

__all__ = ["Descheduled", "descheduled"]
