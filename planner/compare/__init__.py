"""kube-scheduler, Descheduler and the best plan side by side.

`ways`: what each of them makes of the cluster; `columns`: that in figures; `comparison`: the document.
"""
