"""A number of pods, or a percentage of them: the API's IntOrString where it counts pods."""

import re
from typing import Annotated

from pydantic import PlainValidator

_PERCENT = re.compile(r"[0-9]{1,9}%", re.ASCII)


def _number_or_percentage(value: object) -> object:
    is_number = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    if is_number or (isinstance(value, str) and _PERCENT.fullmatch(value)):
        return value
    raise ValueError(f"expected a number or a percentage such as '50%', found {value!r}")


Share = Annotated[int | str, PlainValidator(_number_or_percentage)]


def pods_of_share(share: Share, pods: int, *, round_up: bool) -> int:
    """How many pods a share is; a part of a pod is rounded."""
    if isinstance(share, int):
        return share
    parts = int(share.removesuffix("%")) * pods
    return -(-parts // 100) if round_up else parts // 100
