"""A number of pods, or a percentage of the replicas: the API's IntOrString where it counts pods."""

import re
from typing import Annotated

from pydantic import AfterValidator

_PERCENT = re.compile(r"[0-9]{1,7}%", re.ASCII)


def _check(value: int | str) -> int | str:
    if isinstance(value, str) and not _PERCENT.fullmatch(value):
        raise ValueError(f"{value!r} is neither a number nor a percentage (for example 1 or 25%)")
    if isinstance(value, int) and value < 0:
        raise ValueError(f"expected at least 0, found {value}")
    return value


Share = Annotated[int | str, AfterValidator(_check)]


def pods_of_share(share: Share, replicas: int, *, round_up: bool) -> int:
    """How many pods a share is; a part of a pod is rounded."""
    if isinstance(share, int):
        return share
    parts = int(share.removesuffix("%")) * replicas
    return -(-parts // 100) if round_up else parts // 100
