"""Requests and responses of ASGI, parsed only as far as needed."""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol
from urllib.parse import parse_qsl

from rarefy.serving.bodies import JSON, encode_json
from rarefy.serving.refusals import TooLargeError

LONGEST_NUMBER = 18  # digits
TYPE_OF_JSON = (b"content-type", JSON.encode())


class GoneError(Exception):
    """Who has sent a request is not there any more."""


class Call:
    """A request."""

    __slots__ = ("_receive", "_scope", "headers")

    def __init__(self, scope: Any, receive: Callable[[], Awaitable[Any]]) -> None:
        self._scope, self._receive = scope, receive
        self.headers: dict[bytes, bytes] = dict(scope["headers"])

    @property
    def method(self) -> str:
        method: str = self._scope["method"]
        return method

    @property
    def params(self) -> dict[str, Any]:
        """What the path names."""
        params: dict[str, Any] = self._scope["path_params"]
        return params

    @property
    def query(self) -> dict[str, str]:
        text: bytes = self._scope["query_string"]
        return dict(parse_qsl(text.decode("latin-1"), keep_blank_values=True)) if text else {}

    def header(self, name: bytes, usual: str = "") -> str:
        """A header, whose name is in lower case."""
        value = self.headers.get(name)
        return usual if value is None else value.decode("latin-1")

    async def body(self, most: int) -> bytes:
        """All of the body, if that is no more than so many bytes."""
        length, parts, n_bytes = self.headers.get(b"content-length", b"0"), [], 0
        is_number = length.isdigit() and len(length) <= LONGEST_NUMBER
        if not is_number or int(length) > most:
            raise TooLargeError(f"the body may have {most:,} bytes; send it in several requests.")
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise GoneError
            part: bytes = message.get("body", b"")
            n_bytes += len(part)
            if n_bytes > most:
                raise TooLargeError(f"the body may have {most:,} bytes.")
            parts.append(part)
            if not message.get("more_body", False):
                return part if len(parts) == 1 else b"".join(parts)


class Answer(Protocol):
    """What answers a request: an ASGI application with a status."""

    status_code: int

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None: ...


class Json:
    """An answer in JSON."""

    __slots__ = ("_body", "_headers", "status_code")

    def __init__(
        self, content: Any, status: int = 200, headers: tuple[tuple[bytes, bytes], ...] = ()
    ) -> None:
        self._body, self.status_code, self._headers = encode_json(content), status, headers

    async def __call__(self, scope: Any, receive: Any, send: Callable[[Any], Any]) -> None:
        length = b"content-length", b"%d" % len(self._body)
        headers = [TYPE_OF_JSON, length, *self._headers]
        status = self.status_code
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": self._body})
