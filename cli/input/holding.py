"""Whether this process answers several questions about a cluster, and so holds it between them."""

from contextvars import ContextVar

#: In a worker a name of what the cluster's files hold; None where a command runs alone.
HOLDING: ContextVar[str | None] = ContextVar("holding", default=None)
