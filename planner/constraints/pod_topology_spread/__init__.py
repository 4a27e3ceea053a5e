"""PodTopologySpread: pods that a selector picks stay even over the values of a node label.

Kubernetes 1.34, DoNotSchedule: a node fits when, for every constraint,
`matching pods in its domain + 1 if the pod matches itself - global minimum <= maxSkew`.
Domains are the label's values on nodes that carry the topology keys of all the pod's constraints
and pass the inclusion policies (nodeAffinityPolicy: Honor unless said otherwise, nodeTaintsPolicy:
Ignore).  With fewer domains than minDomains the global minimum is 0.  Terminating pods and other
namespaces do not count.

ScheduleAnyway constraints score: counts weighted by log(domains + 2), so that large and small
topologies matter alike, plus maxSkew - 1; fewest is best.

Pods without constraints of their own get the profile's defaults, over the pods that their Services
and their owner select; the built-in defaults are soft (hostname 3, zone 5) and ask for no label.
"""

from planner.constraints.pod_topology_spread.encoding import excess, require_even, skew
from planner.constraints.pod_topology_spread.plugin import PodTopologySpread
from planner.constraints.pod_topology_spread.rule import Rule
from planner.constraints.pod_topology_spread.wanted import HARD, SOFT

__all__ = ["HARD", "SOFT", "PodTopologySpread", "Rule", "excess", "require_even", "skew"]
