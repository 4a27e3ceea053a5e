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
from models.admission.validation.pods import pod_spec
from models.admission.validation.syntax import labels, qualified, subdomain

#: The kinds whose pods are started again whenever they end, with the name that the API server has for them.
_RESTARTED = {
    "DaemonSet": "DaemonSet",
    "Deployment": "ReplicaSet",
    "ReplicaSet": "ReplicaSet",
    "ReplicationController": "ReplicationController",
    "StatefulSet": "StatefulSet",
}
_VERSIONS = {"apps/v1", "batch/v1", "v1"}
_SELECTING = {"DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"}
_ROLLING = "RollingUpdate"
_WHOLE = 100


def invalid_fields(item: Fields) -> Iterator[str]:
    """Every field of a workload or pod that is not as it has to be; nothing of objects of other kinds."""
    kind, spec = text_of(item, "kind"), fields_of(item, "spec")
    if kind not in {"Pod", "Job", *_RESTARTED} or text_of(item, "apiVersion") not in _VERSIONS:
        return
    metadata = fields_of(item, "metadata")
    yield from _metadata(metadata, "metadata", "metadata")
    if kind == "Pod":
        yield from pod_spec(spec, "spec", fields_of(metadata, "labels"))
    if kind in _SELECTING and spec.get("selector") == {}:
        yield f"spec.selector: Invalid value: {{}}: empty selector is invalid for {kind.lower()}"
    if kind in _OF_KINDS:
        yield from _OF_KINDS[kind](spec)
    template = fields_of(spec, "template")
    if not template:
        return
    yield from _metadata(fields_of(template, "metadata"), "spec.template.metadata", "spec.template")
    pod, at = fields_of(template, "spec"), "spec.template.spec"
    yield from _restarts(kind, pod, at)
    yield from pod_spec(pod, at, fields_of(fields_of(template, "metadata"), "labels"))


def _metadata(found: Fields, named: str, labelled: str) -> Iterator[str]:
    yield from checked(f"{named}.name", found.get("name"), subdomain)
    for text, what in labels(fields_of(found, "labels")):
        yield invalid_value(f"{labelled}.labels", text, what)
    for key in fields_of(found, "annotations"):
        yield from checked(f"{labelled}.annotations", str(key).lower(), qualified)


def _deployment(spec: Fields) -> Iterator[str]:
    yield from at_least_zero(spec, "spec", "revisionHistoryLimit", "progressDeadlineSeconds")
    ready, deadline = spec.get("minReadySeconds") or 0, spec.get("progressDeadlineSeconds", 600)
    if deadline is not None and 0 <= deadline <= ready:
        yield invalid_value("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")
    strategy, at = fields_of(spec, "strategy"), "spec.strategy.rollingUpdate"
    rolling = fields_of(strategy, "rollingUpdate")
    if strategy.get("type") == "Recreate" and strategy.get("rollingUpdate") is not None:
        yield f"{at}: Forbidden: may not be specified when strategy `type` is 'Recreate'"
    unavailable = rolling.get("maxUnavailable")
    if _is_none(rolling.get("maxSurge")) and _is_none(unavailable):
        yield invalid_value(f"{at}.maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0")
    yield from _no_more_than_all(unavailable, f"{at}.maxUnavailable")


def _daemon_set(spec: Fields) -> Iterator[str]:
    yield from at_least_zero(spec, "spec", "revisionHistoryLimit")
    strategy, at = fields_of(spec, "updateStrategy"), "spec.updateStrategy"
    yield from one_of(at, strategy.get("type"), (_ROLLING, "OnDelete"))
    rolling = fields_of(strategy, "rollingUpdate")
    surge, unavailable = (
        rolling.get(name, default) for name, default in (("maxSurge", 0), ("maxUnavailable", 1))
    )
    if _is_none(surge) and _is_none(unavailable):
        yield f"{at}.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0"
    elif not _is_none(surge) and not _is_none(unavailable):
        what = "may not be set when maxUnavailable is non-zero"
        yield invalid_value(f"{at}.rollingUpdate.maxSurge", surge, what)
    yield from _no_more_than_all(unavailable, f"{at}.rollingUpdate.maxUnavailable")


def _stateful_set(spec: Fields) -> Iterator[str]:
    yield from at_least_zero(spec, "spec", "revisionHistoryLimit")
    strategy, at = fields_of(spec, "updateStrategy"), "spec.updateStrategy"
    if (kind := text_of(strategy, "type")) not in {"", _ROLLING, "OnDelete"}:
        yield invalid_value(at, kind, f"must be '{_ROLLING}' or 'OnDelete'")
    elif kind == "OnDelete" and strategy.get("rollingUpdate") is not None:
        yield f"{at}.rollingUpdate: Invalid value: only allowed for updateStrategy '{_ROLLING}'"


def _job(spec: Fields) -> Iterator[str]:
    yield from at_least_zero(spec, "spec", "activeDeadlineSeconds", "ttlSecondsAfterFinished")
    indexed = spec.get("completionMode") == "Indexed"
    # Without either there is one of both.
    if indexed and spec.get("completions") is None and spec.get("parallelism") is not None:
        yield "spec.completions: Required value: when completion mode is Indexed"
    of_indexes = "backoffLimitPerIndex", "maxFailedIndexes"
    given = [name for name in of_indexes if spec.get(name) is not None]
    if not indexed:
        told = "Forbidden: may be specified only when completion mode is Indexed"
        yield from (f"spec.{name}: {told}" for name in given)
    elif given == ["maxFailedIndexes"]:
        yield "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified"
    if spec.get("selector") and not spec.get("manualSelector"):
        yield "spec.selector: Invalid value: `selector` not auto-generated"
    for number, rule in enumerate(items_of(fields_of(spec, "podFailurePolicy"), "rules")):
        if bool(rule.get("onExitCodes")) == bool(rule.get("onPodConditions")):
            what = "specifying one of OnExitCodes and OnPodConditions is required"
            yield f"spec.podFailurePolicy.rules[{number}]: Invalid value: {what}"


_OF_KINDS: dict[str, Callable[[Fields], Iterator[str]]] = {
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
