"""The fields of the two configurations, which no API server knows: those of kube-scheduler and Descheduler.

kube-scheduler 1.36 decodes all of them strictly, Descheduler 0.36 only the arguments of its plugins: other
fields that it does not know it passes over without a word.  Of Descheduler's plugins those are here whose
arguments count.  What a plugin that does not come with kube-scheduler has for arguments nobody else knows.
"""

from typing import Any

from models.admission.validation.scheduler import EXTENSION_POINTS

#: Fields by name; the type of what is in one as in `strict.py`, or fields again.
Fields = dict[str, Any]

SCHEDULER = "KubeSchedulerConfiguration"
DESCHEDULER = "DeschedulerPolicy"

_OBJECT: Fields = {"apiVersion": "string", "kind": "string"}
_PLUGIN: Fields = {"name": "string", "weight": "integer"}
_PLUGIN_SET: Fields = {"enabled": [_PLUGIN], "disabled": [_PLUGIN]}
_PROFILE: Fields = {
    "schedulerName": "string",
    "percentageOfNodesToScore": "integer",
    "plugins": dict.fromkeys(EXTENSION_POINTS, _PLUGIN_SET),
    "pluginConfig": [{"name": "string", "args": -1}],
}
_EXTENDER: Fields = {
    **dict.fromkeys(("urlPrefix", "filterVerb", "preemptVerb", "prioritizeVerb", "bindVerb"), "string"),
    **dict.fromkeys(("enableHTTPS", "nodeCacheCapable", "ignorable"), "boolean"),
    "weight": "integer",
    "httpTimeout": "string",
    "managedResources": [{"name": "string", "ignoredByScheduler": "boolean"}],
    "tlsConfig": {
        "insecure": "boolean",
        **dict.fromkeys(
            ("serverName", "certFile", "keyFile", "caFile", "certData", "keyData", "caData"), "string"
        ),
    },
}
_NAMES = ["string"]
_SHAPE = [{"utilization": "integer", "score": "integer"}]
_RESOURCES = [{"name": "string", "weight": "integer"}]

#: The fields of each configuration.
CONFIGURATIONS: dict[str, Fields] = {
    SCHEDULER: {
        **_OBJECT,
        **dict.fromkeys(("parallelism", "percentageOfNodesToScore"), "integer"),
        **dict.fromkeys(("podInitialBackoffSeconds", "podMaxBackoffSeconds"), "integer"),
        **dict.fromkeys(("enableProfiling", "enableContentionProfiling", "delayCacheUntilActive"), "boolean"),
        "profiles": [_PROFILE],
        "extenders": [_EXTENDER],
        "clientConnection": {
            **dict.fromkeys(("kubeconfig", "acceptContentTypes", "contentType"), "string"),
            "qps": "number",
            "burst": "integer",
        },
        "leaderElection": {
            "leaderElect": "boolean",
            **dict.fromkeys(("leaseDuration", "renewDeadline", "retryPeriod"), "string"),
            **dict.fromkeys(("resourceLock", "resourceName", "resourceNamespace"), "string"),
        },
    },
    DESCHEDULER: {
        **_OBJECT,
        "nodeSelector": "string",
        **dict.fromkeys(
            (f"maxNoOfPodsToEvict{per}" for per in ("PerNode", "PerNamespace", "Total")), "integer"
        ),
        "gracePeriodSeconds": "integer",
        "evictionFailureEventNotification": "boolean",
        "metricsCollector": {"enabled": "boolean"},
        "metricsProviders": [
            {
                "source": "string",
                "prometheus": {
                    "url": "string",
                    "authToken": {"secretReference": {"namespace": "string", "name": "string"}},
                },
            }
        ],
        "profiles": [
            {
                "name": "string",
                "pluginConfig": [{"name": "string", "args": -1}],
                "plugins": {
                    point: {"enabled": _NAMES, "disabled": _NAMES}
                    for point in ("presort", "sort", "deschedule", "balance", "filter", "preevictionfilter")
                },
            }
        ],
    },
}


def arguments(affinity: Any, constraint: Any, selector: Any) -> dict[str, dict[str, Fields]]:
    """The fields of every plugin's arguments, by configuration and plugin, given three types of the API."""
    return {SCHEDULER: _scheduler(affinity, constraint), DESCHEDULER: _descheduler(selector)}


def _scheduler(affinity: Any, constraint: Any) -> dict[str, Fields]:
    found: dict[str, Fields] = {
        "DefaultPreemption": dict.fromkeys(
            ("minCandidateNodesPercentage", "minCandidateNodesAbsolute"), "integer"
        ),
        "DynamicResources": {"filterTimeout": "string", "bindingTimeout": "string"},
        "InterPodAffinity": {
            "hardPodAffinityWeight": "integer",
            "ignorePreferredTermsOfExistingPods": "boolean",
        },
        "NodeAffinity": {"addedAffinity": affinity},
        "NodeResourcesBalancedAllocation": {"resources": _RESOURCES},
        "NodeResourcesFit": {
            "ignoredResources": _NAMES,
            "ignoredResourceGroups": _NAMES,
            "scoringStrategy": {
                "type": "string",
                "resources": _RESOURCES,
                "requestedToCapacityRatio": {"shape": _SHAPE},
            },
        },
        "PodTopologySpread": {"defaultConstraints": [constraint], "defaultingType": "string"},
        "VolumeBinding": {"bindTimeoutSeconds": "integer", "shape": _SHAPE},
    }
    return {name: _OBJECT | fields for name, fields in found.items()}


def _descheduler(selector: Any) -> dict[str, Fields]:
    return {
        "DefaultEvictor": {
            **_OBJECT,
            "nodeSelector": "string",
            "labelSelector": selector,
            "namespaceLabelSelector": selector,
            "priorityThreshold": {"value": "integer", "name": "string"},
            "minReplicas": "integer",
            "minPodAge": "string",
            "noEvictionPolicy": "string",
            "podProtections": {
                "extraEnabled": _NAMES,
                "defaultDisabled": _NAMES,
                "config": {"PodsWithPVC": {"protectedStorageClasses": [{"name": "string"}]}},
            },
            **dict.fromkeys(("nodeFit", "ignorePvcPods", "ignorePodsWithoutPDB"), "boolean"),
            **dict.fromkeys(("evictLocalStoragePods", "evictDaemonSetPods"), "boolean"),
            **dict.fromkeys(("evictSystemCriticalPods", "evictFailedBarePods"), "boolean"),
        },
        "RemovePodsViolatingTopologySpreadConstraint": {
            **_OBJECT,
            "namespaces": {"include": _NAMES, "exclude": _NAMES},
            "labelSelector": selector,
            "constraints": _NAMES,
            "topologyBalanceNodeFit": "boolean",
        },
    }
