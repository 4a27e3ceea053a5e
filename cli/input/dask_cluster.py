"""The workers of a Dask cluster as an executor."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from models import InputError
from planner.fleet.workers import Given

_CONNECT_SECONDS = 5


@contextmanager
def dask_workers(address: str) -> Iterator[Given]:
    """All workers of the cluster at this address; an InputError where there is none, or no Dask here."""
    try:
        from distributed import Client
        from distributed.client import ClosedClientError
    except ImportError:
        raise InputError(
            ["--dask: dask is not installed; pip install 'kubernetes-placement-planner[dask]'"]
        ) from None
    for logger in ("distributed", "concurrent.futures"):
        # What goes wrong is in the rows.
        logging.getLogger(logger).setLevel(logging.CRITICAL + 1)
    try:
        client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError([f"--dask {address}: {' '.join(str(error).split())}"]) from None
    try:
        threads = sum(client.nthreads().values())
        if not threads:
            raise InputError([f"--dask {address}: it has no workers"])
        yield Given(client.get_executor(pure=False), threads, (ClosedClientError, RuntimeError, OSError))
    finally:
        client.close(timeout=_CONNECT_SECONDS)
