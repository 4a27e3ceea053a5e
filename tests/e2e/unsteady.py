"""A way to the API server that can be closed for a moment: connections are refused, or get no answer."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from urllib.parse import urlsplit

from tests.e2e.control_plane import ControlPlane

_HOST = "127.0.0.1"


class Way:
    """Connections to a port of its own are carried on to the API server, as long as it is open.

    A file is there while nothing is carried on.
    """

    def __init__(self, target: int, silent: Path) -> None:
        self._target = target
        self._silent = silent
        self._answers = Event()
        self._answers.set()
        self._listener = self._listening(0)
        self.port: int = self._listener.getsockname()[1]

    def refuse(self, seconds: float) -> None:
        """Nothing listens for so long."""
        self.close()
        time.sleep(seconds)
        self._listener = self._listening(self.port)

    def say_nothing(self, seconds: float) -> None:
        """Connections are taken, and nothing is carried on for so long."""
        self._silent.touch()
        self._answers.clear()
        time.sleep(seconds)
        self._answers.set()
        self._silent.unlink()

    def close(self) -> None:
        """No connection is taken any more."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _listening(self, port: int) -> socket.socket:
        listener = socket.create_server((_HOST, port))
        Thread(target=self._take, args=(listener,), daemon=True).start()
        return listener

    def _take(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                server = socket.create_connection((_HOST, self._target))
                for ends in ((client, server), (server, client)):
                    Thread(target=self._carry, args=ends, daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError), target:
            while data := source.recv(65_536):
                self._answers.wait()
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)


@contextmanager
def unsteady(live: ControlPlane) -> Iterator[tuple[ControlPlane, Way]]:
    """The same cluster, reached by such a way; while nothing is carried on requests end after a second."""
    config = json.loads(live.kubectl("config", "view", "--raw", "--output", "json"))
    (cluster,) = config["clusters"]
    folder = live.home / "unsteady"
    folder.mkdir()
    path, kubectl, silent = folder / "kubeconfig", folder / "kubectl", folder / "silent"
    way = Way(urlsplit(cluster["cluster"]["server"]).port or 443, silent)
    cluster["cluster"]["server"] = f"https://{_HOST}:{way.port}"
    path.write_text(json.dumps(config))
    limited = f'[ ! -e "{silent}" ] || set -- "$@" --request-timeout=1s'
    kubectl.write_text(f'#!/bin/sh\n{limited}\nexec {live.programs}/kubectl "$@"\n')
    kubectl.chmod(0o755)
    try:
        yield replace(live, kubeconfig=path, programs=folder), way
    finally:
        way.close()
