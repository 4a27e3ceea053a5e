"""Which resources a container, or a pod as a whole, may ask for, and how much of them."""

from collections.abc import Callable, Iterator

from pydantic import ValidationError

from models.admission.limits import HUGE_PAGES, invalid, is_exact, page_size
from models.admission.validation.fields import Fields, fields_of
from models.admission.validation.syntax import qualified
from models.objects.containers import without_nulls
from models.objects.pod import PodSpec
from models.objects.quantity import format_quantity, parse_quantity

_STANDARD = frozenset({"cpu", "memory", "ephemeral-storage"})
_OF_PODS = frozenset({"cpu", "memory"})
_ONE = 10**9


def container_resources(found: Fields, at: str) -> Iterator[str]:
    """What is wrong with the requests and limits of a container."""
    yield from _sides(found, at, _container_resource)


def pod_resources(spec: Fields, at: str) -> Iterator[str]:
    """What is wrong with those of the pod as a whole, and with requests beside limits in all of it."""
    yield from _sides(fields_of(spec, "resources"), f"{at}.resources", _pod_resource)
    try:
        parsed = PodSpec.model_validate(spec)
    except ValidationError:
        return
    yield from (line.replace("spec.", f"{at}.", 1) for line in invalid(parsed))


def _sides(found: Fields, at: str, rule: Callable[[str, str], Iterator[str]]) -> Iterator[str]:
    said = {side: without_nulls(amounts) for side, amounts in found.items()}
    sides = {side: fields_of(said, side) for side in ("limits", "requests")}
    for side, amounts in sides.items():
        for name, amount in sorted(amounts.items()):
            yield from rule(name, f"{at}.{side}[{name}]")
            yield from _amount(name, amount, f"{at}.{side}[{name}]")
    names = {name for amounts in sides.values() for name in amounts}
    if any(is_exact(name) and name not in sides["limits"] for name in names):
        yield f"{at}.limits: Required value: Limit must be set for non overcommitable resources"
    if any(name.startswith(HUGE_PAGES) for name in names) and not names & _OF_PODS:
        yield f"{at}: Forbidden: HugePages require cpu or memory"


def _container_resource(name: str, at: str) -> Iterator[str]:
    yield from (f'{at}: Invalid value: "{name}": {what}' for what in qualified(name))
    if "/" not in name:
        if name not in _STANDARD and not name.startswith(HUGE_PAGES):
            yield f'{at}: Invalid value: "{name}": must be a standard resource for containers'
    elif is_exact(name) and name.startswith("requests."):
        yield f'{at}: Invalid value: "{name}": doesn\'t follow extended resource name standard'


def _pod_resource(name: str, at: str) -> Iterator[str]:
    if name not in _OF_PODS and not name.startswith(HUGE_PAGES):
        yield f'{at}: Unsupported value: "{name}": supported values: "cpu", "hugepages-", "memory"'


def _amount(name: str, amount: object, at: str) -> Iterator[str]:
    """What comes in pieces, such as devices and huge pages, is asked for in whole ones."""
    if not is_exact(name):
        return
    nano = parse_quantity(str(amount))
    if name.startswith(HUGE_PAGES):
        page = page_size(name)
        if not page or nano % page:
            shown = format_quantity(nano)
            yield f'{at}: Invalid value: "{shown}": {shown} is not positive integer multiple of {name}'
    elif nano % _ONE:
        yield f'{at}: Invalid value: "{amount}": must be an integer'
