"""Descheduler 0.36 as it is: RemovePodsViolatingTopologySpreadConstraint behind DefaultEvictor."""

from planner.compare.descheduler.rounds import Descheduled, Ending, descheduled

__all__ = ["Descheduled", "Ending", "descheduled"]
