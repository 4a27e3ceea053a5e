"""Plain values -> YAML text that kubectl reads as the same values."""

from __future__ import annotations

from functools import cache
from typing import Any


def yaml_text(value: Any) -> str:
    """The values as they are ordered, without a line break at the end."""
    import yaml

    text: str = yaml.dump(value, Dumper=_dumper(), sort_keys=False, width=10_000)
    return text.removesuffix("\n")


@cache
def _dumper() -> Any:
    """PyYAML's own leaves `n` and `1e3` without quotes, which kubectl reads as a boolean and a number."""
    import yaml

    from models.reading.yaml_text import is_text

    base: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

    def quoted(dumper: Any, text: str) -> Any:
        style = None if is_text(text) else "'"
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    dumper: Any = type("_Dumper", (base,), {})
    dumper.add_representer(str, quoted)
    return dumper
