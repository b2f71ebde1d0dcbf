"""A browser driven over its own debugging pipe (the Chrome DevTools protocol), with nothing else installed."""

import base64
import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any

PATIENCE = 90  # seconds without an answer before a call is given up: a hanging page must not hang the tests
_FLAGS = (
    "--headless", "--disable-gpu", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
    "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip


def find() -> str | None:
    """The path of a Chromium, or None."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next((path for name in names if (path := shutil.which(name))), None)


class Browser:
    """One page of a headless browser. TimeoutError where the page does not answer, EOFError where it crashed."""

    def __init__(self, program: str) -> None:
        self.home = tempfile.mkdtemp(prefix="steelyard-browser-")
        theirs_in, self._down = os.pipe()
        self._up, theirs_out = os.pipe()

        # Without root the sandbox works; with root the browser refuses to start with it.
        rights = ("--no-sandbox",) if os.geteuid() == 0 else ()
        # The browser listens on descriptor 3 and answers on 4.
        redirected = f'exec "$0" "$@" 3</dev/fd/{theirs_in} 4>/dev/fd/{theirs_out}'
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", redirected, program, *_FLAGS, *rights, f"--user-data-dir={self.home}"],
            pass_fds=(theirs_in, theirs_out), start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(theirs_in)
        os.close(theirs_out)
        self._number, self._buffer, self._session = 0, b"", ""
        self._events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            if not select.select([self._up], [], [], PATIENCE)[0]:
                raise TimeoutError(f"the browser gave no answer within {PATIENCE} s")
            got = os.read(self._up, 1 << 20)
            if not got:
                raise EOFError("the browser ended")
            self._buffer += got
        one, _, self._buffer = self._buffer.partition(b"\0")
        return dict(json.loads(one))

    def call(self, method: str, **parameters: object) -> dict[str, Any]:
        """Send a command of the protocol and return its result."""
        self._number += 1
        message: dict[str, object] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._down, json.dumps(message).encode() + b"\0")
        while (got := self._read()).get("id") != self._number:
            self._events.append(got)
        if "error" in got:
            raise RuntimeError(f"{method}: {got['error']}")
        return dict(got["result"])

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression in the page; promises are awaited."""
        got = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in got:
            raise RuntimeError(got["exceptionDetails"])
        return got["result"].get("value")

    def open(self, path: Path, width: int, theme: str) -> None:
        """Load a file anew at this width, under this theme of the system."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=path.as_uri())
        self.run("new Promise((go) => document.readyState === 'complete' ? go() : addEventListener('load', go))")

    def errors(self) -> list[str]:
        """What the console took as an error since the last call; warnings of the graphics driver are none."""
        found = []
        for event in self._events:
            told = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                found.append(json.dumps(told["exceptionDetails"]))
            elif event.get("method") == "Runtime.consoleAPICalled" and told["type"] in {"error", "warning", "assert"}:
                found.append(json.dumps(told["args"]))
            elif event.get("method") == "Log.entryAdded" and told["entry"]["source"] != "rendering":
                found.append(json.dumps(told["entry"]))
        self._events.clear()
        return found

    def print(self) -> bytes:
        """The page as a PDF."""
        got = self.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)
        return base64.b64decode(got["data"])

    def close(self) -> None:
        """End the browser and all that it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._down)
        os.close(self._up)
        shutil.rmtree(self.home, ignore_errors=True)
