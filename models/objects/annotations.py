"""The annotations that decide something; objects are read with these alone, so no other can ever matter."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator

from models.objects.strings import StringMap

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
DEFAULT_TOLERATIONS = "scheduler.alpha.kubernetes.io/defaultTolerations"
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
DESIRED_REPLICAS = "deployment.kubernetes.io/desired-replicas"
#: "true" on a workload or its pods: leave them where they are.
EXCLUDE = "planner/exclude"
INDEX_FAILURES = "batch.kubernetes.io/job-index-failure-count"
MAX_REPLICAS = "deployment.kubernetes.io/max-replicas"
MIRROR = "kubernetes.io/config.mirror"
NODE_SELECTOR = "scheduler.alpha.kubernetes.io/node-selector"
#: "true" on a node or a pod: Karpenter leaves it alone.
NO_DISRUPTION = "karpenter.sh/do-not-disrupt"
PREFER_NO_EVICTION = "descheduler.alpha.kubernetes.io/prefer-no-eviction"
REVISION = "deployment.kubernetes.io/revision"
#: The same of a ReplicaSet that Argo Rollouts has made.
ROLLOUT_REVISION = "rollout.argoproj.io/revision"
SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"
#: "true" on a node: cluster-autoscaler leaves it alone.
SCALE_DOWN_DISABLED = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
SELECTED_NODE = "volume.kubernetes.io/selected-node"

READ = (
    BIND_COMPLETED,
    COMPLETION_INDEX,
    DEFAULT_CLASS,
    DEFAULT_TOLERATIONS,
    DELETION_COST,
    DESIRED_REPLICAS,
    EXCLUDE,
    INDEX_FAILURES,
    MAX_REPLICAS,
    MIRROR,
    NODE_SELECTOR,
    NO_DISRUPTION,
    PREFER_NO_EVICTION,
    REVISION,
    ROLLOUT_REVISION,
    SAFE_TO_EVICT,
    SCALE_DOWN_DISABLED,
    SELECTED_NODE,
)


def read_ones(annotations: Mapping[str, str]) -> dict[str, str]:
    """The annotations among these that anything reads."""
    return {key: annotations[key] for key in READ if key in annotations} if annotations else {}


Annotations = Annotated[StringMap, AfterValidator(read_ones)]
