"""Headless Chromium, driven through its DevTools protocol over two pipes.

It resolves no host names, so pages load nothing from outside; their requests are noted.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

import pytest

FLAGS = (
    "--headless=new",
    "--no-sandbox",  # root, as in a container, may not have one
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--remote-debugging-pipe",  # read from descriptor 3, written to 4
)
LOCAL = ("file:", "data:", "blob:", "about:")
PATIENCE_S = 30
KEYS = {"Tab": 9, "Enter": 13, "ArrowRight": 39}  # virtual key codes


def find() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def require() -> None:
    """Skip the test without Chromium; fail it with REQUIRE_CHROMIUM=1."""
    if not find():
        (pytest.fail if os.environ.get("REQUIRE_CHROMIUM") == "1" else pytest.skip)("Chromium is not installed")


class ProtocolError(RuntimeError):
    """Chromium answered that a method failed."""


class Page:
    """The one page. errors: of its console and scripts; requests: for anything outside the page."""

    def __init__(self, orders: int, answers: int):
        self._orders, self._answers = orders, answers
        self._buffer, self._number = b"", 0
        self._session: dict = {}
        self.errors: list[str] = []
        self.requests: list[str] = []
        (target,) = [one for one in self.call("Target.getTargets")["targetInfos"] if one["type"] == "page"]
        self._session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params) -> dict:
        """Return the protocol's answer to a method; raise RuntimeError if there is none in time."""
        self._number += 1
        order = {"id": self._number, "method": method, "params": params, **self._session}
        os.write(self._orders, json.dumps(order).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE_S
        while (message := self._read(deadline)).get("id") != self._number:
            self._note(message)
        if "error" in message:
            raise ProtocolError(f"{method}: {message['error']}")
        return message["result"]

    def _read(self, deadline: float) -> dict:
        while b"\0" not in self._buffer:
            if not select.select([self._answers], [], [], max(0, deadline - time.monotonic()))[0]:
                raise RuntimeError(f"Chromium did not answer within {PATIENCE_S} s")
            if not (more := os.read(self._answers, 1 << 20)):
                raise RuntimeError("Chromium has ended")
            self._buffer += more
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

    def _note(self, event: dict) -> None:
        method, params = event["method"], event["params"]
        if method == "Runtime.exceptionThrown":
            self.errors.append(
                params["exceptionDetails"].get("exception", params["exceptionDetails"]).get("description")
            )
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "assert"):
            self.errors.append(str([argument.get("value") for argument in params["args"]]))
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.errors.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent" and not params["request"]["url"].startswith(LOCAL):
            self.requests.append(params["request"]["url"])

    def open(self, path: Path) -> None:
        """Show a file; clear the notes."""
        self.errors, self.requests = [], []
        self.call("Page.navigate", url=path.as_uri())
        self.wait("document.readyState == 'complete'")

    def evaluate(self, expression: str, **where):
        """Return the value of a JavaScript expression; where: arguments that name one of the page's worlds."""
        said = self.call("Runtime.evaluate", expression=expression, returnByValue=True, **where)
        if "exceptionDetails" in said:
            raise RuntimeError(f"{expression}: {said['exceptionDetails']}")
        return said["result"].get("value")

    def wait(self, expression: str) -> None:
        """Wait until the expression is true."""
        self._until(lambda: self.evaluate(expression), f"this never became true: {expression}")

    def wait_for_frame(self, text: str) -> None:
        """Wait until the page has a frame that is loaded and shows the text."""
        self._until(lambda: self._framed(text), f"no frame shows {text!r}")

    def _until(self, true: Callable[[], object], otherwise: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not true():
            if time.monotonic() > deadline:
                raise RuntimeError(f"{otherwise}; the page shows: {self.evaluate('document.body.innerText')}")
            time.sleep(0.02)

    def _framed(self, text: str) -> bool:
        loaded = "document.readyState == 'complete' && document.body.innerText"
        try:
            for child in self.call("Page.getFrameTree")["frameTree"].get("childFrames", []):
                world = self.call("Page.createIsolatedWorld", frameId=child["frame"]["id"])["executionContextId"]
                if text in (self.evaluate(loaded, contextId=world) or ""):
                    return True
        except ProtocolError:  # a frame that was there a moment ago is replaced
            pass
        return False

    def show_as(self, width: int | None = None, scheme: str = "light") -> None:
        """Show the page with the width of a phone in pixels, or of the window; light or dark."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        if width:
            size = {"width": width, "height": 800, "deviceScaleFactor": 1}
            self.call("Emulation.setDeviceMetricsOverride", mobile=True, **size)
        else:
            self.call("Emulation.clearDeviceMetricsOverride")

    def press(self, key: str) -> None:
        """Press one of KEYS."""
        for kind in ("keyDown", "keyUp"):
            text = {"text": "\r"} if kind == "keyDown" and key == "Enter" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=KEYS[key], **text)

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))


@contextmanager
def opened(folder: Path, size: str = "1500,900"):
    """Start Chromium with its profile in the folder; yield its page."""
    read_order, write_order = os.pipe()
    read_answer, write_answer = os.pipe()
    command = [find(), *FLAGS, f"--user-data-dir={folder / 'profile'}", f"--window-size={size}", "about:blank"]
    script = f'exec "$@" 3<&{read_order} 4>&{write_answer}'
    with open(folder / "chromium.log", "w") as log:
        process = subprocess.Popen(
            ["bash", "-c", script, "bash", *command], pass_fds=(read_order, write_answer), stdout=log, stderr=log
        )
    os.close(read_order)
    os.close(write_answer)
    try:
        yield Page(write_order, read_answer)
    finally:
        process.kill()
        process.wait()
        os.close(write_order)
        os.close(read_answer)
