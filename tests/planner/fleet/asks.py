"""Questions for workers that answer, take long, end their process or fail."""

from __future__ import annotations

import os
import signal
import struct
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from models.errors import InputError
from planner.fleet import Reply


@dataclass(frozen=True)
class Says:
    """A reply, and a line in a file of what was asked."""

    text: str
    log: Path | None = None

    def __call__(self) -> Reply:
        """Answer."""
        if self.log is not None:
            with self.log.open("a") as file:
                file.write(f"{self.text}\n")
        return Reply(0, self.text)


@dataclass(frozen=True)
class Sleeps:
    """Takes so long."""

    seconds: float

    def __call__(self) -> Reply:
        """Answer late."""
        time.sleep(self.seconds)
        return Reply(0, "awake")


@dataclass(frozen=True)
class Computes:
    """Never ends, without a call of the system."""

    def __call__(self) -> Reply:
        """Never answer."""
        while True:
            pass


@dataclass(frozen=True)
class Kills:
    """Ends its process as the kernel does where memory is short, unless a file says that it has done so."""

    done: Path | None = None

    def __call__(self) -> Reply:
        """End the worker."""
        if self.done is not None:
            if self.done.exists():
                return Reply(0, "survived")
            self.done.touch()
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError


@dataclass(frozen=True)
class Begins:
    """Writes the beginning of a reply, and ends its process; with a file says so there, and takes long."""

    begun: Path | None = None

    def __call__(self) -> Reply:
        """Write as long a reply as there may be, and four bytes of it."""
        frame = sys._getframe()
        while "result_queue" not in frame.f_locals:
            assert frame.f_back is not None
            frame = frame.f_back
        os.write(frame.f_locals["result_queue"]._writer.fileno(), struct.pack("!i", 0x7FFFFFFF) + bytes(4))
        if self.begun is None:
            os.kill(os.getpid(), signal.SIGKILL)
        else:
            self.begun.touch()
            time.sleep(60)
        raise AssertionError


@dataclass(frozen=True)
class Refuses:
    """Finds its input wrong."""

    def __call__(self) -> Reply:
        """Say so."""
        raise InputError(["this is wrong", "and that"])


@dataclass(frozen=True)
class Fails:
    """Has a mistake in it."""

    def __call__(self) -> Reply:
        """Raise."""
        raise KeyError("a mistake")


@dataclass(frozen=True)
class Grows:
    """Asks for more memory than there is."""

    def __call__(self) -> Reply:
        """Ask for a hundred GiB."""
        return Reply(0, str(len(bytearray(100 << 30))))
