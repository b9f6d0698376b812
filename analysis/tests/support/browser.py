"""Controls headless Chromium over pipes with its own protocol, without further packages
(https://chromedevtools.github.io/devtools-protocol/).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def chromium() -> str | None:
    """Returns the path of Chromium, or None if it is not installed. Debian's package is chromium."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Browser:
    """A page in a browser.

    :ivar errors: errors in the console, uncaught exceptions, and the browser's own messages, such as blocked scripts
    :ivar requests: addresses that the page requested
    """

    def __init__(self, program: str, profile: Path) -> None:
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()

        def pipes() -> None:
            # The browser reads from descriptor 3 and writes to 4. Copy the pipes first, as they may have these numbers.
            reading, writing = os.dup(to_browser), os.dup(from_browser)
            for descriptor, source in ((3, reading), (4, writing)):
                os.dup2(source, descriptor)

        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run"]
        self._process = subprocess.Popen(
            [program, *arguments, f"--user-data-dir={profile}", "about:blank"],
            close_fds=False,
            preexec_fn=pipes,  # noqa: PLW1509
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._number = 0
        self._rest = b""
        self._session: str | None = None
        self.errors: list[str] = []
        self.requests: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(20)
        os.close(self._in)
        os.close(self._out)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Calls a method of the protocol, and returns the result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        for answer in self._messages():
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return dict(answer["result"])
        raise AssertionError(f"{method}: the browser ended")

    def open(self, path: Path, width: int = 1200, height: int = 900, scheme: str = "light") -> None:
        """Opens a page, and waits until its charts are drawn."""
        mobile = width < 600
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Page.navigate", url=path.resolve().as_uri())
        self.wait("document.readyState === 'complete' && document.documentElement.dataset.drawn !== 'no'")

    def wait(self, condition: str, seconds: float = 60.0) -> None:
        """Waits until a JavaScript expression is true."""
        end = time.monotonic() + seconds
        while not self.value(condition):
            assert time.monotonic() < end, f"not within {seconds:.0f} s: {condition}; {self.errors}"
            time.sleep(0.1)

    def value(self, expression: str) -> Any:
        """Returns the value of a JavaScript expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def _messages(self) -> Iterator[dict[str, Any]]:
        while True:
            while b"\0" not in self._rest:
                fresh = os.read(self._in, 1 << 20)
                if not fresh:
                    return
                self._rest += fresh
            line, _, self._rest = self._rest.partition(b"\0")
            message = json.loads(line)
            self._notice(message.get("method", ""), message.get("params", {}))
            yield message

    def _notice(self, event: str, data: dict[str, Any]) -> None:
        if event == "Runtime.exceptionThrown":
            self.errors.append(str(data["exceptionDetails"].get("exception", {}).get("description")))
        elif event == "Runtime.consoleAPICalled" and data["type"] in ("error", "warning", "assert"):
            self.errors.append(" ".join(str(item.get("value", item.get("description"))) for item in data["args"]))
        elif event == "Log.entryAdded" and data["entry"]["level"] in ("error", "warning"):
            self.errors.append(str(data["entry"]["text"]))
        elif event == "Network.requestWillBeSent":
            self.requests.append(str(data["request"]["url"]))


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """Yields a page in a browser, and ends the browser afterwards. Chromium must be installed."""
    program = chromium()
    assert program
    with Browser(program, profile) as opened:
        yield opened
