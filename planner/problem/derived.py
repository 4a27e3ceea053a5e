"""What an object has worked out about itself and kept, forgotten when a copy is to differ."""

from functools import cached_property


def forget(owner: object, *kept: object) -> None:
    """Let cached properties be worked out again, given as `Problem.labels`: a wrong name is a type error."""
    for one in kept:
        if not isinstance(one, cached_property) or one.attrname is None:
            raise TypeError(f"{one!r} is not a cached property")
        owner.__dict__.pop(one.attrname, None)
