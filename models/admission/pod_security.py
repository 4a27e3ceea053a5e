"""Pod Security: what the level that a namespace enforces has against a pod, in the API server's words.

Looked at are capabilities, privileges, users, seccomp, host namespaces, ports and paths.  Not read are
AppArmor, SELinux, sysctls, /proc mounts, hosts of probes, Windows, and volumes that decide on nothing else.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from models.objects.containers import Container
from models.objects.pod import PodSpec
from models.objects.security import PodSecurityContext, SecurityContext

ENFORCE = "pod-security.kubernetes.io/enforce"
VERSION = "pod-security.kubernetes.io/enforce-version"
_USUAL = frozenset(
    [
        *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE"),
        *("SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
    ]
)
_SECCOMP = {"RuntimeDefault", "Localhost"}
Messages = Iterator[str]


def violations(labels: Mapping[str, str], spec: PodSpec) -> str:
    """What the API server says of a pod in a namespace with these labels; empty where it admits it."""
    level = labels.get(ENFORCE, "privileged")
    checks = _CHECKS if level == "restricted" else _BASELINE if level == "baseline" else ()
    found = []
    for reason, check in checks:
        if told := "; ".join(check(spec)):
            found.append(f"{reason} ({told})")
    named = f"{level}:{labels.get(VERSION, 'latest')}"
    return f'violates PodSecurity "{named}": {", ".join(found)}' if found else ""


def _all(spec: PodSpec) -> Sequence[Container]:
    return (*spec.init_containers, *spec.containers)


def _of(container: Container) -> SecurityContext:
    return container.security_context or SecurityContext()


def _pod(spec: PodSpec) -> PodSecurityContext:
    return spec.security_context or PodSecurityContext()


def _named(word: str, names: Iterable[str]) -> str:
    quoted = [f'"{name}"' for name in names]
    return f"{word}{'s' if len(quoted) > 1 else ''} {', '.join(quoted)}" if quoted else ""


def _those(spec: PodSpec, asked: Callable[[SecurityContext], bool], rest: str, before: str = "") -> Messages:
    """The containers whose context is as asked, and what they must do."""
    found = _named("container", (item.name for item in _all(spec) if asked(_of(item))))
    if found:
        yield f"{before}{found} {rest}"


def _escalates(spec: PodSpec) -> Messages:
    yield from _those(
        spec,
        lambda one: one.allow_privilege_escalation is not False,
        "must set securityContext.allowPrivilegeEscalation=false",
    )


def _adds(spec: PodSpec, usual: frozenset[str]) -> Messages:
    added = {
        item.name: [name for name in _of(item).capabilities.add if name not in usual] for item in _all(spec)
    }
    names = sorted({name for found in added.values() for name in found})
    if names:
        containers = _named("container", (name for name, found in added.items() if found))
        listed = ", ".join(f'"{name}"' for name in names)
        yield f"{containers} must not include {listed} in securityContext.capabilities.add"


def _undropped(spec: PodSpec) -> Messages:
    yield from _those(
        spec,
        lambda one: "ALL" not in one.capabilities.drop,
        'must set securityContext.capabilities.drop=["ALL"]',
    )
    yield from _adds(spec, frozenset({"NET_BIND_SERVICE"}))


def _host_namespaces(spec: PodSpec) -> Messages:
    found = (("hostNetwork", spec.host_network), ("hostPID", spec.host_pid), ("hostIPC", spec.host_ipc))
    told = ", ".join(f"{name}=true" for name, value in found if value)
    if told:
        yield told


def _host_paths(spec: PodSpec) -> Messages:
    found = _named("volume", (item.name for item in spec.volumes if item.host_path is not None))
    if found:
        yield found


def _host_ports(spec: PodSpec) -> Messages:
    users = [item for item in _all(spec) if any(port.host_port for port in item.ports)]
    ports = sorted({str(port.host_port) for item in users for port in item.ports if port.host_port})
    if users:
        uses = f"{'use' if len(users) > 1 else 'uses'} hostPort{'s' if len(ports) > 1 else ''}"
        yield f"{_named('container', (item.name for item in users))} {uses} {', '.join(ports)}"


def _privileged(spec: PodSpec) -> Messages:
    yield from _those(spec, lambda one: bool(one.privileged), "must not set securityContext.privileged=true")


def _volume_types(spec: PodSpec) -> Messages:
    named = {
        "host_path": "hostPath",
        "gce_persistent_disk": "gcePersistentDisk",
        "aws_elastic_block_store": "awsElasticBlockStore",
        "rbd": "rbd",
        "iscsi": "iscsi",
    }
    found = [
        (item.name, word)
        for item in spec.volumes
        for f, word in named.items()
        if getattr(item, f) is not None
    ]
    if found:
        types = sorted({word for _, word in found})
        uses = f"{'use' if len(found) > 1 else 'uses'} restricted volume type{'s' if len(types) > 1 else ''}"
        yield f"{_named('volume', (name for name, _ in found))} {uses} " + ", ".join(
            f'"{word}"' for word in types
        )


def _must_not(pod: bool, containers: Iterable[str], what: str) -> Messages:
    """The pod and those of its containers that must not do something."""
    found = [*(["pod"] if pod else []), *filter(None, [_named("container", containers)])]
    if found:
        yield f"{' and '.join(found)} must not set {what}"


def _may_be_root(spec: PodSpec) -> Messages:
    refused = [item.name for item in _all(spec) if _of(item).run_as_non_root is False]
    pod = _pod(spec).run_as_non_root
    yield from _must_not(pod is False, refused, "securityContext.runAsNonRoot=false")
    if not refused and pod is None:
        rest = "must set securityContext.runAsNonRoot=true"
        yield from _those(spec, lambda one: one.run_as_non_root is None, rest, "pod or ")


def _unconfined(spec: PodSpec) -> Messages:
    refused = [item.name for item in _all(spec) if _seccomp(_of(item)) == "Unconfined"]
    what = 'securityContext.seccompProfile.type to "Unconfined"'
    yield from _must_not(_seccomp(_pod(spec)) == "Unconfined", refused, what)


def _unfiltered(spec: PodSpec) -> Messages:
    if any(_unconfined(spec)):
        yield from _unconfined(spec)
    elif _seccomp(_pod(spec)) not in _SECCOMP:
        rest = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
        yield from _those(spec, lambda one: _seccomp(one) not in _SECCOMP, rest, "pod or ")


def _seccomp(context: PodSecurityContext) -> str:
    return context.seccomp_profile.type if context.seccomp_profile else ""


def _is_root(spec: PodSpec) -> Messages:
    refused = [item.name for item in _all(spec) if _of(item).run_as_user == 0]
    yield from _must_not(_pod(spec).run_as_user == 0, refused, "runAsUser=0")


_Check = tuple[str, Callable[[PodSpec], Messages]]
_BASELINE: Sequence[_Check] = (
    ("non-default capabilities", lambda spec: _adds(spec, _USUAL)),
    ("host namespaces", _host_namespaces),
    ("hostPath volumes", _host_paths),
    ("hostPort", _host_ports),
    ("privileged", _privileged),
    ("seccompProfile", _unconfined),
)
#: In the API server's order; what both levels look at is told by the stricter one alone.
_CHECKS: Sequence[_Check] = (
    ("host namespaces", _host_namespaces),
    ("hostPort", _host_ports),
    ("privileged", _privileged),
    ("allowPrivilegeEscalation != false", _escalates),
    ("unrestricted capabilities", _undropped),
    ("restricted volume types", _volume_types),
    ("runAsNonRoot != true", _may_be_root),
    ("runAsUser=0", _is_root),
    ("seccompProfile", _unfiltered),
)
