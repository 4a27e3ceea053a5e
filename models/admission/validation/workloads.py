"""The rules for a workload and, by those for pods, for its template."""

from collections.abc import Callable, Iterator

from models.admission.validation.fields import (
    Fields,
    at_least_zero,
    checked,
    fields_of,
    invalid_value,
    items_of,
    one_of,
    text_of,
)
from models.admission.validation.pods import pod_spec, spec_of_pods
from models.admission.validation.syntax import label, labels, qualified, subdomain

#: The kinds whose pods are started again whenever they end, with the name that the API server has for them.
_RESTARTED = {
    "DaemonSet": "DaemonSet",
    "Deployment": "ReplicaSet",
    "ReplicaSet": "ReplicaSet",
    "ReplicationController": "ReplicationController",
    "StatefulSet": "StatefulSet",
}
_GROUPS = {
    "": {"Pod", "ReplicationController"},
    "apps": {"DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"},
    "batch": {"CronJob", "Job"},
}
#: Of other kinds whose older versions are still in charts: those that the releases modelled here serve.
_SERVED = {
    ("autoscaling", "HorizontalPodAutoscaler"): {"v1", "v2"},
    ("node.k8s.io", "RuntimeClass"): {"v1"},
    ("policy", "PodDisruptionBudget"): {"v1"},
    ("scheduling.k8s.io", "PriorityClass"): {"v1"},
    ("storage.k8s.io", "StorageClass"): {"v1"},
}
_SELECTING = {"DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"}
_JOB_LABELS = {"controller-uid", "batch.kubernetes.io/controller-uid"}
_ROLLING = "RollingUpdate"
_DEADLINE = 600
_WHOLE = 100


def invalid_fields(item: Fields) -> Iterator[str]:
    """Every field of a workload or pod that is not as it has to be; of other kinds a version that is gone."""
    kind, spec = text_of(item, "kind"), fields_of(item, "spec")
    group, _, version = text_of(item, "apiVersion").rpartition("/")
    is_workload = kind in _GROUPS.get(group, ())
    served = {"v1"} if is_workload else _SERVED.get((group, kind))
    if served is not None and version not in served:
        yield f'no matches for kind "{kind}" in version "{group}/{version}"'
    elif is_workload:
        yield from _invalid_workload(item, kind, spec)


def _invalid_workload(item: Fields, kind: str, spec: Fields) -> Iterator[str]:
    metadata = fields_of(item, "metadata")
    yield from checked("metadata.name", metadata.get("name"), label if kind == "StatefulSet" else subdomain)
    yield from _labelled(metadata, "metadata")
    if kind == "Pod":
        yield from pod_spec(spec, "spec")
        if not metadata.get("uid"):
            # What a cluster has stored has what the API server adds, such as the values of matchLabelKeys.
            yield from spec_of_pods(spec, "spec", fields_of(metadata, "labels"))
    elif kind == "CronJob":
        yield from _workload(
            "Job", fields_of(fields_of(spec, "jobTemplate"), "spec"), "spec.jobTemplate.spec"
        )
    else:
        yield from _workload(kind, spec, "spec")


def _workload(kind: str, spec: Fields, at: str) -> Iterator[str]:
    if kind in _SELECTING and spec.get("selector") == {}:
        yield f"{at}.selector: Invalid value: {{}}: empty selector is invalid for {kind.lower()}"
    if kind in _OF_KINDS:
        yield from _OF_KINDS[kind](spec, at)
    template = fields_of(spec, "template")
    if not template:
        return
    metadata, pod = fields_of(template, "metadata"), fields_of(template, "spec")
    yield from _labelled(metadata, f"{at}.template")
    yield from _restarts(kind, pod, f"{at}.template.spec")
    claims: list[str] = []
    if kind == "StatefulSet":
        # Its controller sets these.
        pod = {name: value for name, value in pod.items() if name not in {"hostname", "subdomain"}}
        claims = [
            text_of(fields_of(claim, "metadata"), "name") for claim in items_of(spec, "volumeClaimTemplates")
        ]
    yield from pod_spec(pod, f"{at}.template.spec", claims)
    of_pods = spec_of_pods(pod, "spec", fields_of(metadata, "labels"))
    yield from (f"its pods would be refused: {line}" for line in of_pods)


def _labelled(found: Fields, at: str) -> Iterator[str]:
    for text, what in labels(fields_of(found, "labels")):
        yield invalid_value(f"{at}.labels", text, what)
    for key in map(str, fields_of(found, "annotations")):
        yield from (invalid_value(f"{at}.annotations", key, what) for what in qualified(key.lower()))


def _deployment(spec: Fields, at: str) -> Iterator[str]:
    yield from at_least_zero(spec, at, "revisionHistoryLimit", "progressDeadlineSeconds")
    ready, deadline = spec.get("minReadySeconds") or 0, spec.get("progressDeadlineSeconds")
    if 0 <= (deadline := _DEADLINE if deadline is None else deadline) <= ready:
        yield invalid_value(f"{at}.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")
    strategy, at = fields_of(spec, "strategy"), f"{at}.strategy.rollingUpdate"
    rolling = fields_of(strategy, "rollingUpdate")
    if strategy.get("type") == "Recreate" and strategy.get("rollingUpdate") is not None:
        yield f"{at}: Forbidden: may not be specified when strategy `type` is 'Recreate'"
    unavailable = rolling.get("maxUnavailable")
    if _is_none(rolling.get("maxSurge")) and _is_none(unavailable):
        yield invalid_value(f"{at}.maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0")
    yield from _no_more_than_all(unavailable, f"{at}.maxUnavailable")


def _daemon_set(spec: Fields, at: str) -> Iterator[str]:
    yield from at_least_zero(spec, at, "revisionHistoryLimit")
    strategy, at = fields_of(spec, "updateStrategy"), f"{at}.updateStrategy"
    yield from one_of(at, strategy.get("type"), (_ROLLING, "OnDelete"))
    if strategy.get("type") == "OnDelete":
        return
    rolling = fields_of(strategy, "rollingUpdate")
    surge, unavailable = rolling.get("maxSurge"), rolling.get("maxUnavailable")
    surge, unavailable = 0 if surge is None else surge, 1 if unavailable is None else unavailable
    if _is_none(surge) and _is_none(unavailable):
        yield f"{at}.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0"
    elif not _is_none(surge) and not _is_none(unavailable):
        what = "may not be set when maxUnavailable is non-zero"
        yield invalid_value(f"{at}.rollingUpdate.maxSurge", surge, what)
    yield from _no_more_than_all(unavailable, f"{at}.rollingUpdate.maxUnavailable")
    yield from _no_more_than_all(surge, f"{at}.rollingUpdate.maxSurge")


def _stateful_set(spec: Fields, at: str) -> Iterator[str]:
    strategy, at = fields_of(spec, "updateStrategy"), f"{at}.updateStrategy"
    if (kind := text_of(strategy, "type")) not in {"", _ROLLING, "OnDelete"}:
        yield invalid_value(at, kind, f"must be '{_ROLLING}' or 'OnDelete'")
    elif kind == "OnDelete" and strategy.get("rollingUpdate") is not None:
        yield f"{at}.rollingUpdate: Invalid value: only allowed for updateStrategy '{_ROLLING}'"


def _job(spec: Fields, at: str) -> Iterator[str]:
    numbers = (
        "parallelism",
        "completions",
        "backoffLimit",
        "activeDeadlineSeconds",
        "ttlSecondsAfterFinished",
    )
    yield from at_least_zero(spec, at, *numbers)
    yield from _indexes(spec, at)
    selector = fields_of(fields_of(spec, "selector"), "matchLabels")
    if spec.get("manualSelector") and not spec.get("selector"):
        yield f"{at}.selector: Required value"
    elif not (spec.get("manualSelector") or selector.keys() <= _JOB_LABELS):
        yield f"{at}.selector: Invalid value: `selector` not auto-generated"
    policy, where = fields_of(spec, "podFailurePolicy"), f"{at}.podFailurePolicy"
    restarts = text_of(fields_of(fields_of(spec, "template"), "spec"), "restartPolicy")
    if policy and restarts != "Never":
        what = "when podFailurePolicy is specified"
        yield invalid_value(
            f"{at}.template.spec.restartPolicy", restarts, f'only "Never" is supported {what}'
        )
    for number, rule in enumerate(items_of(policy, "rules")):
        criteria = [name for name in ("onExitCodes", "onPodConditions") if rule.get(name)]
        if not criteria:
            what = "specifying one of OnExitCodes and OnPodConditions is required"
            yield f"{where}.rules[{number}]: Invalid value: {what}"
        elif len(criteria) > 1:
            what = "specifying both OnExitCodes and OnPodConditions is not supported"
            yield f"{where}.rules[{number}]: Invalid value: {what}"
        if text_of(rule, "action") == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
            what = "requires the backoffLimitPerIndex to be set"
            yield invalid_value(f"{where}.rules[{number}].action", "FailIndex", what)


def _indexes(spec: Fields, at: str) -> Iterator[str]:
    indexed, completions = spec.get("completionMode") == "Indexed", spec.get("completions")
    # Without either there is one of both.
    if indexed and completions is None and spec.get("parallelism") is not None:
        yield f"{at}.completions: Required value: when completion mode is Indexed"
    most, limit = spec.get("maxFailedIndexes"), spec.get("backoffLimitPerIndex")
    if not indexed:
        given = {"backoffLimitPerIndex": limit, "maxFailedIndexes": most}
        for name, value in given.items():
            if value is not None:
                yield invalid_value(f"{at}.{name}", value, "requires indexed completion mode")
    elif most is not None and limit is None:
        yield f"{at}.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified"
    elif most is not None and completions is not None and most > completions:
        yield invalid_value(f"{at}.maxFailedIndexes", most, "must be less than or equal to completions")


_OF_KINDS: dict[str, Callable[[Fields, str], Iterator[str]]] = {
    "DaemonSet": _daemon_set,
    "Deployment": _deployment,
    "Job": _job,
    "StatefulSet": _stateful_set,
}


def _is_none(share: object) -> bool:
    """Whether a number of pods, or a share of them, is none; one that is not given is what is usual."""
    return str(share) in {"0", "0%"}


def _no_more_than_all(share: object, where: str) -> Iterator[str]:
    if isinstance(share, str) and share[:-1].isdigit() and share.endswith("%") and int(share[:-1]) > _WHOLE:
        yield invalid_value(where, share, f"must not be greater than {_WHOLE}%")


def _restarts(kind: str, pod: Fields, at: str) -> Iterator[str]:
    policy, where = text_of(pod, "restartPolicy"), f"{at}.restartPolicy"
    if kind == "Job" and policy in {"", "Always"}:
        yield f'{where}: Required value: valid values: "OnFailure", "Never"'
    elif kind in _RESTARTED:
        yield from one_of(where, policy, ("Always",))
        if pod.get("activeDeadlineSeconds") is not None:
            told = f"activeDeadlineSeconds in {_RESTARTED[kind]} is not Supported"
            yield f"{at}.activeDeadlineSeconds: Forbidden: {told}"
