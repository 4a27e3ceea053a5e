"""What all tests share: memory that the garbage collector need not look at again."""

import gc


def pytest_collection_finish() -> None:
    """Some thousand tests and what they import stay until the end."""
    gc.collect()
    gc.freeze()
