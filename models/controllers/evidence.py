"""Running pods that are not what their template makes: something changes pods that are created.

Mutating webhooks and policies leave no other trace that is read here.  What they do to the pods of a workload
is taken from the youngest of them that its present template made, and done to the next one, too.
"""

from models.objects.pod import PodSpec


def same_requests(one: PodSpec, other: PodSpec) -> bool:
    """Whether two specs ask for the same of a node."""
    return _requests(one) == _requests(other)


def _requests(spec: PodSpec) -> object:
    asked = [
        {item.name: item.resources.defaulted for item in side}
        for side in (spec.containers, spec.init_containers)
    ]
    return asked, spec.overhead, spec.resources
