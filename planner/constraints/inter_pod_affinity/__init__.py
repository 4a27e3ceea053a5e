"""InterPodAffinity: pods that must, must not, would rather or rather not share a domain with others.

Kubernetes 1.34, for the incoming pod: a node fits when its domain of every required affinity term
holds a pod that matches *all* those terms (or no such pod exists anywhere and the pod matches its
own terms), when its domain of no anti-affinity term holds a matching pod, and when no pod already
there has an anti-affinity term that matches the incoming pod in that domain.

Scoring adds, per domain, the weights of the pod's preferred terms for every matching pod, and the
weights that the pods already there give to the incoming one: their preferred terms, and
`hardPodAffinityWeight` for their required affinity.
"""

from planner.constraints.inter_pod_affinity.plugin import InterPodAffinity

__all__ = ["InterPodAffinity"]
