"""The rules for the containers of a pod: names, images, ports, and what they take from the pod by name."""

from collections.abc import Iterator, Sequence

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
from models.admission.validation.resources import container_resources
from models.admission.validation.syntax import label, port_name

RESTARTS = ("Always", "OnFailure", "Never")
_PULLS = ("Always", "IfNotPresent", "Never")


def containers(spec: Fields, at: str, claims: Sequence[str]) -> Iterator[str]:
    """What is wrong with the containers of a pod, which may mount volumes from these claims as well."""
    volumes = [*names_of(spec, "volumes"), *claims]
    names: list[str] = []
    for field in ("containers", "initContainers"):
        # An init container has its ports for itself, the others have them at the same time.
        together: list[str] = []
        for number, item in enumerate(items_of(spec, field)):
            where = f"{at}.{field}[{number}]"
            names.append(text_of(item, "name"))
            yield from _name(names, where)
            yield from _own_fields(item, where)
            taken = together if field == "containers" else []
            yield from _ports(item, where, bool(spec.get("hostNetwork")), taken)
            yield from _taken_from_pod(item, where, volumes, names_of(spec, "resourceClaims"))


def containers_of_pods(spec: Fields, at: str) -> Iterator[str]:
    """What is wrong with containers of a pod that in a template would not be noticed."""
    together: list[str] = []
    for field in ("containers", "initContainers"):
        for number, item in enumerate(items_of(spec, field)):
            image = text_of(item, "image")
            if image != image.strip():
                what = "must not have leading or trailing whitespace"
                yield invalid_value(f"{at}.{field}[{number}].image", image, what)
            if spec.get("hostNetwork") and field == "containers":
                same = [{**port, "hostPort": port.get("containerPort")} for port in items_of(item, "ports")]
                yield from _host_ports(same, f"{at}.{field}[{number}]", together)


def _name(names: list[str], where: str) -> Iterator[str]:
    """Of the last of these names."""
    *before, name = names
    if not name:
        yield f"{where}.name: Required value"
    else:
        yield from checked(f"{where}.name", name, label)
    if name in before:
        yield f'{where}.name: Duplicate value: "{name}"'


def _own_fields(item: Fields, where: str) -> Iterator[str]:
    if not item.get("image"):
        yield f"{where}.image: Required value"
    yield from one_of(f"{where}.imagePullPolicy", item.get("imagePullPolicy"), _PULLS)
    yield from one_of(f"{where}.restartPolicy", item.get("restartPolicy"), RESTARTS)
    yield from container_resources(fields_of(item, "resources"), f"{where}.resources")
    for number, name in enumerate(names_of(item, "env")):
        if not name:
            yield f"{where}.env[{number}].name: Required value"
        elif "=" in name or not (name.isascii() and name.isprintable()):
            what = (
                "a valid environment variable name must consist only of printable ASCII characters "
                "other than '='"
            )
            yield invalid_value(f"{where}.env[{number}].name", name, what)


def _ports(container: Fields, where: str, host_network: bool, taken: list[str]) -> Iterator[str]:
    """Those of the host must not be `taken` by a container before, nor twice by this one."""
    names = [name for name in names_of(container, "ports") if name]
    yield from duplicates(names, f"{where}.ports[{{}}].name")
    for number, item in enumerate(items_of(container, "ports")):
        at = f"{where}.ports[{number}]"
        yield from checked(f"{at}.name", item.get("name"), port_name)
        host, inside = item.get("hostPort") or 0, item.get("containerPort")
        if host_network and host not in {0, inside}:
            what = "must match `containerPort` when `hostNetwork` is true"
            yield invalid_value(f"{at}.hostPort", host, what)
    yield from _host_ports(items_of(container, "ports"), where, taken)


def _host_ports(ports: Sequence[Fields], where: str, taken: list[str]) -> Iterator[str]:
    for number, item in enumerate(ports):
        if host := item.get("hostPort"):
            key = f"{text_of(item, 'protocol') or 'TCP'}/{text_of(item, 'hostIP')}/{host}"
            if key in taken:
                yield f'{where}.ports[{number}].hostPort: Duplicate value: "{key}"'
            taken.append(key)


def _taken_from_pod(item: Fields, where: str, volumes: Sequence[str], claims: Sequence[str]) -> Iterator[str]:
    for number, name in enumerate(names_of(fields_of(item, "resources"), "claims")):
        if name not in claims:
            yield f'{where}.resources.claims[{number}]: Not found: "{name}"'
    for field in ("volumeMounts", "volumeDevices"):
        for number, name in enumerate(names_of(item, field)):
            if name not in volumes:
                yield f'{where}.{field}[{number}].name: Not found: "{name}"'
    paths = names_of(item, "volumeMounts", "mountPath")
    for number, path in enumerate(paths):
        if path in paths[:number]:
            yield invalid_value(f"{where}.volumeMounts[{number}].mountPath", path, "must be unique")
