"""HTTP as Uvicorn speaks it, with one write for an answer, and a time limit for requests."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from rarefy.serving.access_control import HEADERS
from rarefy.serving.bodies import encode_json

LEAST_RATE = 10_000  # bytes a second; a request that comes faster has as long as it needs
HEAD, INFORMATION = b"HTTP/1.1 ", b"HTTP/1.1 1"  # of an answer, and of what is said before it


class HttpProtocol(HttpToolsProtocol):
    """A connection.

    A request has `seconds` to arrive, and more if it comes fast enough, so that clients that send
    it drop by drop do not keep the connection. The time of a request that comes at once is not
    taken.
    """

    def __init__(self, seconds: float, **given: Any) -> None:
        super().__init__(**given)
        self._seconds = seconds
        self._began = 0.0
        self._n_bytes = 0
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.transport = OneWrite(transport)  # type: ignore[assignment]
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        cycle = self.cycle
        if cycle is not None and not cycle.more_body and cycle.scope is self.scope:
            if self._timer is not None:
                self._stop_timer()
        elif self._timer is not None:
            self._n_bytes += len(data)
        elif not self.transport.is_closing():
            self._start_timer()

    def on_response_complete(self) -> None:
        self.transport.flush()  # type: ignore[attr-defined]
        super().on_response_complete()

    def _start_timer(self) -> None:
        self._began, self._n_bytes = self.loop.time(), 0
        self._timer = self.loop.call_later(self._seconds, self._look)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        """Give a request up that takes too long, unless we are who is not ready for it."""
        left = self._began + self._seconds + self._n_bytes / LEAST_RATE - self.loop.time()
        if self.flow.read_paused:
            left = self._seconds
        if left > 0.0:
            self._timer = self.loop.call_later(left, self._look)
            return
        self._timer = None
        if self.scope is not None and not self._is_answered():
            self.transport.write(_too_slow(self._seconds))
        self.transport.close()

    def _is_answered(self) -> bool:
        """Whether an answer to the request that has come last is under way."""
        cycle = self.cycle
        return cycle is not None and cycle.scope is self.scope and cycle.response_started


class OneWrite:
    """A transport that sends the head of an answer with its body, which takes half of the time."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self.is_closing = transport.is_closing
        self._head = b""

    def write(self, data: bytes) -> None:
        if self._head:
            data, self._head = self._head + data, b""
        elif data.startswith(HEAD) and not data.startswith(INFORMATION):
            self._head = data
            return
        self._transport.write(data)

    def flush(self) -> None:
        """Send a head that has no body."""
        if self._head:
            self.write(b"")

    def close(self) -> None:
        self.flush()
        self._transport.close()


def _too_slow(seconds: float) -> bytes:
    message = (
        f"the request has not arrived in {seconds:g} seconds, and a second more for each "
        f"{LEAST_RATE:,} bytes; send it faster, or less at once."
    )
    body = encode_json({"error": {"status": 408, "message": message}})
    length = b"content-length", b"%d" % len(body)
    headers = [(b"content-type", b"application/json"), length, (b"connection", b"close"), *HEADERS]
    lines = [b"%b: %b\r\n" % header for header in headers]
    return b"HTTP/1.1 408 Request Timeout\r\n" + b"".join(lines) + b"\r\n" + body
