"""Maps of strings, such as labels: `null` in place of one is the empty string, as the API server reads it."""

from typing import Annotated

from pydantic import BeforeValidator


def _null_is_empty(value: object) -> object:
    if isinstance(value, dict) and None in value.values():
        return {key: "" if text is None else text for key, text in value.items()}
    return value


StringMap = Annotated[dict[str, str], BeforeValidator(_null_is_empty)]
