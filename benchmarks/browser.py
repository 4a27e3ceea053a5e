"""Headless Chromium, spoken to over a pipe: a page is opened, and JavaScript is asked in it."""

import json
import os
import select
import shlex
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

Message = dict[str, Any]
_OPTIONS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe")
_PATIENCE_SECONDS = 120
_CHUNK = 1 << 16
#: What a page says without being asked.
_SAID = {"Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"}


class Browser:
    """One page of a browser that keeps what it needs in a folder."""

    def __init__(self, folder: Path) -> None:
        self.events: list[Message] = []
        self._number = 0
        self._session = ""
        self._rest = b""
        asked, self._ask = os.pipe()
        self._told, told = os.pipe()
        words = ["chromium", *_OPTIONS, f"--user-data-dir={folder}", "about:blank"]
        # A browser that is to be spoken to listens to its descriptor 3 and answers on 4.
        self._process = subprocess.Popen(
            ["bash", "-c", f"exec {shlex.join(words)} 3<&{asked} 4>&{told}"],
            pass_fds=(asked, told),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(asked)
        os.close(told)

    def __enter__(self) -> "Browser":
        try:
            self._attach()
        except BaseException:
            self.close()
            raise
        return self

    def _attach(self) -> None:
        """A page of its own, which tells what goes on in it."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._session = session
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End it, and the helpers that outlive it and go on writing to its folder."""
        self._process.terminate()
        self._process.wait(_PATIENCE_SECONDS)
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        os.close(self._ask)
        os.close(self._told)

    def call(self, method: str, **parameters: Any) -> Any:
        """What the browser answers; what it says meanwhile is among the events."""
        self._number += 1
        message: Message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._ask, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self._number:
            self.events.append(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def open(self, page: Path, script: str = "document.readyState === 'complete'") -> None:
        """Open a page, and wait until the script says that it is there."""
        self.call("Page.navigate", url=f"file://{page}")
        self.ask(
            "new Promise((done) => { const look = () => "
            f"document.documentElement && ({script}) ? done(true) : setTimeout(look, 5); look(); }})"
        )

    def ask(self, script: str) -> Any:
        """The value of an expression in the page, waited for where it is a promise."""
        told = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in told:
            raise RuntimeError(told["exceptionDetails"]["exception"]["description"])
        return told["result"].get("value")

    def said(self) -> list[Message]:
        """What the page wrote on its console, and what went wrong in it."""
        return [event["params"] for event in self.events if event.get("method") in _SAID]

    def _next(self) -> Message:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._told], [], [], _PATIENCE_SECONDS)
            found = os.read(self._told, _CHUNK) if ready else b""
            if not found:
                raise RuntimeError("the browser is silent")
            self._rest += found
        line, _, self._rest = self._rest.partition(b"\0")
        message: Message = json.loads(line)
        return message
