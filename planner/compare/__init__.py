"""kube-scheduler, Descheduler and the best plan side by side.

`ways`: what each of them makes of the cluster; `columns`: that in figures; `comparison`: the document.
"""

from planner.compare.comparison import compare

__all__ = ["compare"]
