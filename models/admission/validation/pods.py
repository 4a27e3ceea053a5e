"""The rules for the spec of a pod, wherever it is written."""

from collections.abc import Iterator, Sequence

from models.admission.validation.containers import RESTARTS, containers, containers_of_pods
from models.admission.validation.fields import (
    Fields,
    checked,
    duplicates,
    fields_of,
    invalid_value,
    items_of,
    names_of,
    one_of,
    text_of,
)
from models.admission.validation.resources import pod_resources
from models.admission.validation.syntax import label, label_value, labels, qualified, subdomain
from models.objects.base import MOST_INT32

_REQUIRED, _PREFERRED = (
    f"{word}DuringSchedulingIgnoredDuringExecution" for word in ("required", "preferred")
)
_DNS = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")


def pod_spec(spec: Fields, at: str, claims: Sequence[str] = ()) -> Iterator[str]:
    """What is wrong with the spec of a pod or template, whose field is `at`.

    Of a StatefulSet there are the claims besides.
    """
    yield from _names(spec, at)
    yield from _choices(spec, at)
    yield from _gates(spec, at)
    yield from containers(spec, at, claims)
    yield from pod_resources(spec, at)
    yield from _volumes(spec, at)
    yield from _claims(spec, at)
    yield from _tolerations(spec, at)
    for number, item in enumerate(items_of(spec, "topologySpreadConstraints")):
        yield from _label_keys(item, f"{at}.topologySpreadConstraints[{number}]")
    for where, term in _terms(spec, at):
        yield from _term(term, where)


def spec_of_pods(spec: Fields, at: str, own: Fields) -> Iterator[str]:
    """What is wrong with the spec of a pod with these labels that in a template would not be noticed."""
    if names_of(spec, "schedulingGates") and spec.get("nodeName"):
        yield f"{at}.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"
    yield from containers_of_pods(spec, at)
    constraints = items_of(spec, "topologySpreadConstraints")
    spread = [(f"{at}.topologySpreadConstraints[{number}]", item) for number, item in enumerate(constraints)]
    for where, item in (*spread, *_terms(spec, at)):
        # The API server adds what the pod looks for to the selector, which must not have it already.
        selector = fields_of(item, "labelSelector")
        selected = [*fields_of(selector, "matchLabels"), *names_of(selector, "matchExpressions", "key")]
        for number, key in enumerate(item.get("matchLabelKeys") or ()):
            if key in selected and key in own:
                what = "exists in both matchLabelKeys and labelSelector"
                yield invalid_value(f"{where}.matchLabelKeys[{number}]", key, what)


def _names(spec: Fields, at: str) -> Iterator[str]:
    for name in ("serviceAccountName", "priorityClassName", "runtimeClassName", "nodeName"):
        yield from checked(f"{at}.{name}", spec.get(name), subdomain)
    for name in ("hostname", "subdomain"):
        yield from checked(f"{at}.{name}", spec.get(name), label)
    for text, what in labels(fields_of(spec, "nodeSelector")):
        yield invalid_value(f"{at}.nodeSelector", text, what)


def _choices(spec: Fields, at: str) -> Iterator[str]:
    yield from one_of(f"{at}.restartPolicy", spec.get("restartPolicy"), RESTARTS)
    yield from one_of(f"{at}.dnsPolicy", spec.get("dnsPolicy"), _DNS)
    yield from one_of(f"{at}.os", fields_of(spec, "os").get("name"), ("linux", "windows"))
    deadline = spec.get("activeDeadlineSeconds")
    if isinstance(deadline, int) and not 1 <= deadline <= MOST_INT32:
        what = f"must be between 1 and {MOST_INT32}, inclusive"
        yield invalid_value(f"{at}.activeDeadlineSeconds", deadline, what)
    for name in ("hostNetwork", "hostPID", "hostIPC"):
        if spec.get("hostUsers") is False and spec.get(name):
            yield f"{at}.{name}: Forbidden: when `hostUsers` is false"
    if spec.get("hostPID") and spec.get("shareProcessNamespace"):
        where = f"{at}.securityContext.shareProcessNamespace"
        yield f"{where}: Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled"
    if spec.get("dnsPolicy") == "None" and not fields_of(spec, "dnsConfig").get("nameservers"):
        if spec.get("dnsConfig") is None:
            yield f"{at}.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"
        else:
            what = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            yield f"{at}.dnsConfig.nameservers: Required value: {what}"


def _gates(spec: Fields, at: str) -> Iterator[str]:
    gates = names_of(spec, "schedulingGates")
    for number, name in enumerate(gates):
        yield from checked(f"{at}.schedulingGates[{number}]", name, qualified)
    yield from duplicates(gates, f"{at}.schedulingGates[{{}}]")
    for number, name in enumerate(names_of(spec, "readinessGates", "conditionType")):
        yield from checked(f"{at}.readinessGates[{number}].conditionType", name, qualified)


def _volumes(spec: Fields, at: str) -> Iterator[str]:
    names = names_of(spec, "volumes")
    yield from duplicates(names, f"{at}.volumes[{{}}].name")
    for number, item in enumerate(items_of(spec, "volumes")):
        where = f"{at}.volumes[{number}]"
        if not names[number]:
            yield f"{where}.name: Required value"
        yield from checked(f"{where}.name", names[number], label)
        sources = [name for name, value in item.items() if name != "name" and value is not None]
        for extra in sources[1:]:
            yield f"{where}.{extra}: Forbidden: may not specify more than 1 volume type"
        if "persistentVolumeClaim" in sources and not item["persistentVolumeClaim"].get("claimName"):
            yield f"{where}.persistentVolumeClaim.claimName: Required value"
        if "ephemeral" in sources and item["ephemeral"].get("volumeClaimTemplate") is None:
            yield f"{where}.ephemeral.volumeClaimTemplate: Required value"


def _claims(spec: Fields, at: str) -> Iterator[str]:
    names = names_of(spec, "resourceClaims")
    yield from duplicates(names, f"{at}.resourceClaims[{{}}].name")
    for number, item in enumerate(items_of(spec, "resourceClaims")):
        where = f"{at}.resourceClaims[{number}]"
        yield from checked(f"{where}.name", names[number], label)
        fields = ("resourceClaimName", "resourceClaimTemplateName")
        given = [name for name in fields if item.get(name) is not None]
        if len(given) != 1:
            either = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            neither = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            yield f"{where}: Invalid value: {either if given else neither}"


def _tolerations(spec: Fields, at: str) -> Iterator[str]:
    for number, item in enumerate(items_of(spec, "tolerations")):
        where = f"{at}.tolerations[{number}]"
        yield from checked(f"{where}.key", item.get("key"), qualified)
        if text_of(item, "operator") in {"", "Equal"}:
            yield from checked(f"{where}.operator", item.get("value"), label_value)
        if item.get("tolerationSeconds") is not None and item.get("effect") != "NoExecute":
            what = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            yield invalid_value(f"{where}.effect", text_of(item, "effect"), what)


def _terms(spec: Fields, at: str) -> Iterator[tuple[str, Fields]]:
    """The terms of pod affinity and anti-affinity, each with its field."""
    for side in ("podAffinity", "podAntiAffinity"):
        terms = fields_of(fields_of(spec, "affinity"), side)
        for number, item in enumerate(items_of(terms, _REQUIRED)):
            yield f"{at}.affinity.{side}.{_REQUIRED}[{number}]", item
        for number, item in enumerate(items_of(terms, _PREFERRED)):
            where = f"{at}.affinity.{side}.{_PREFERRED}[{number}].podAffinityTerm"
            yield where, fields_of(item, "podAffinityTerm")


def _term(item: Fields, at: str) -> Iterator[str]:
    yield from checked(f"{at}.topologyKey", item.get("topologyKey"), qualified)
    for name in item.get("namespaces") or ():
        yield from checked(f"{at}.namespace", name, label)
    yield from _label_keys(item, at)
    for number, key in enumerate(item.get("matchLabelKeys") or ()):
        if key in (item.get("mismatchLabelKeys") or ()):
            what = "exists in both matchLabelKeys and mismatchLabelKeys"
            yield invalid_value(f"{at}.matchLabelKeys[{number}]", key, what)


def _label_keys(item: Fields, at: str) -> Iterator[str]:
    """Of labels whose values a pod looks for, or avoids, in others."""
    for field in ("matchLabelKeys", "mismatchLabelKeys"):
        keys = item.get(field) or ()
        if keys and item.get("labelSelector") is None:
            yield f"{at}.{field}: Forbidden: must not be specified when labelSelector is not set"
        for number, key in enumerate(keys):
            yield from checked(f"{at}.{field}[{number}]", key, qualified)
