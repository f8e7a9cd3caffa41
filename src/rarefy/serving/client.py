"""A client of the service; requests that fail on the way are sent again, and learned once."""

import asyncio
import secrets
import time
from collections.abc import Iterator
from typing import Any

from rarefy.errors import ConfigError, InputError

RETRIED = (429, 502, 503, 504)
FIRST_WAIT, LONGEST_WAIT = 0.05, 5.0  # seconds, twice as many each time


class ServiceError(InputError):
    """The service has refused a request; the message is its own."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def _httpx() -> Any:
    try:
        import httpx
    except ImportError as error:
        raise ConfigError(f"a client needs `pip install rarefy[serve]` ({error}).") from error
    return httpx


class _Requests:
    """What can be asked of a model; `_send` gives the answer, or what is awaited for it."""

    def __init__(
        self,
        url: str,
        model: str,
        *,
        token: str | None = None,
        retries: int = 8,
        timeout: float = 60.0,
    ) -> None:
        self._path = f"{url.rstrip('/')}/models/{model}"
        self._retries = retries
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._lost = _httpx().TransportError
        self._client: Any = self._connected({"headers": headers, "timeout": timeout})

    def create(self, **parameters: Any) -> Any:
        """Begin the model, with parameters of an estimator and of its start()."""
        return self._send("PUT", "", json=parameters)

    def predict(self, rows: Any, *, id: str | None = None, remember: bool = False) -> Any:
        """The prediction of a row (a dict), or those of several; with ids if they are remembered.

        rows : a dict or a list of dicts.
        """
        params = {"id": id} if id is not None else {"remember": "true"} if remember else {}
        return self._send("POST", "/predict", json=rows, params=params)

    def learn(self, rows: Any, *, key: str | None = None) -> Any:
        """Learn a row, or several, that have labels; the answer says where they are in the log."""
        headers = {"Idempotency-Key": secrets.token_hex(16) if key is None else key}
        return self._send("POST", "/learn", json=rows, headers=headers)

    def label(self, labels: dict[str, Any]) -> Any:
        """Labels of rows that were predicted, by their ids."""
        said = [{"id": id, "label": label} for id, label in labels.items()]
        return self._send("POST", "/label", json=said)

    def explain(self, row: dict[str, Any]) -> Any:
        """What each feature of a row adds to its score."""
        return self._send("POST", "/explain", json=row)

    def about(self) -> Any:
        """What the model is, and how it does."""
        return self._send("GET", "")

    def _connected(self, settings: dict[str, Any]) -> Any:
        raise NotImplementedError

    def _send(self, method: str, path: str, **sent: Any) -> Any:
        raise NotImplementedError

    def _waits(self) -> Iterator[float]:
        """How long to wait before each retry."""
        for n in range(self._retries):
            yield min(FIRST_WAIT * 2**n, LONGEST_WAIT)


class Client(_Requests):
    """A client of `rarefy serve`.

    Parameters
    ----------
    url : str
        Where the service is, such as "http://127.0.0.1:8080".
    model : str
        The name of the model.
    token : str, optional
        If the service needs one.
    retries : int
        How often a request is sent again that did not arrive, or came at a bad time. Rows are
        learned once, however often they are sent.
    timeout : float
        Seconds to wait for an answer.

    See Also
    --------
    AsyncClient : whose methods are awaited.

    Examples
    --------
    >>> client = rarefy.Client("http://127.0.0.1:8080", "spam")  # doctest: +SKIP
    >>> client.create(classes=["ham", "spam"], text=["words"])  # doctest: +SKIP
    >>> client.learn({"words": "win a prize", "label": "spam"})  # doctest: +SKIP
    {'rows': 1, 'seq': 2, 'repeated': False}
    """

    def _connected(self, settings: dict[str, Any]) -> Any:
        return _httpx().Client(**settings)

    def _send(self, method: str, path: str, **sent: Any) -> Any:
        for wait in self._waits():
            try:
                answer = self._client.request(method, self._path + path, **sent)
                if answer.status_code not in RETRIED:
                    return _content(answer)
            except self._lost:
                pass
            time.sleep(wait)
        return _content(self._client.request(method, self._path + path, **sent))

    def close(self) -> None:
        """End the connection."""
        self._client.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class AsyncClient(_Requests):
    """A client of `rarefy serve` whose methods are awaited.

    Parameters
    ----------
    url, model, token, retries, timeout
        As those of `rarefy.Client`.

    See Also
    --------
    Client : whose methods wait.

    Examples
    --------
    >>> client = rarefy.AsyncClient("http://127.0.0.1:8080", "spam")  # doctest: +SKIP
    >>> await client.predict({"words": "a prize"})  # doctest: +SKIP
    """

    def _connected(self, settings: dict[str, Any]) -> Any:
        return _httpx().AsyncClient(**settings)

    async def _send(self, method: str, path: str, **sent: Any) -> Any:
        for wait in self._waits():
            try:
                answer = await self._client.request(method, self._path + path, **sent)
                if answer.status_code not in RETRIED:
                    return _content(answer)
            except self._lost:
                pass
            await asyncio.sleep(wait)
        return _content(await self._client.request(method, self._path + path, **sent))

    async def close(self) -> None:
        """End the connection."""
        await self._client.aclose()

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()


def _content(answer: Any) -> Any:
    if answer.is_success:
        return answer.json() if answer.content else None
    try:
        message = answer.json()["error"]["message"]
    except (ValueError, LookupError, TypeError):
        message = f"the service answers with status {answer.status_code}."
    raise ServiceError(answer.status_code, message)
