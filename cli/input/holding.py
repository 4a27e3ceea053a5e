"""Whether this process answers several questions about a cluster, and so holds it between them."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

#: In a worker a name of what the cluster's files hold; None where a command runs alone.
HOLDING: ContextVar[str | None] = ContextVar("holding", default=None)


@contextmanager
def holding(content: str) -> Iterator[None]:
    """Answer as one of several questions about files with this content."""
    token = HOLDING.set(content)
    try:
        yield
    finally:
        HOLDING.reset(token)
