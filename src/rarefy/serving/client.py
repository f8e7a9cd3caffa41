"""Clients of the service; failed requests are sent again, and learned once."""

import asyncio
import secrets
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from rarefy.docstrings import DocstringEntry, add_sections
from rarefy.errors import ConfigError, InputError

M = TypeVar("M", bound=Callable[..., Any])
RETRIED = (429, 502, 503, 504)
REFUSED = DocstringEntry(
    "InputError", "If the service refuses the request; the message is its own."
)
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


def _request(method: M) -> M:
    """Decorator of what asks the service, and may be refused."""
    add_sections(method, {"Raises": [REFUSED.text]})
    return method


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

    @_request
    def create(self, **parameters: Any) -> Any:
        """Begin the model.

        Parameters
        ----------
        **parameters : dict
            Those of the estimator and of its `start`; with `classes`, the model classifies.

        Returns
        -------
        dict
            What the model is.

        See Also
        --------
        learn : Has it learn rows.

        Examples
        --------
        >>> client = rarefy.Client("http://127.0.0.1:8080", "spam")  # doctest: +SKIP
        >>> about = client.create(classes=["ham", "spam"], text=["words"])  # doctest: +SKIP
        """
        return self._send("PUT", "", json=parameters)

    @_request
    def predict(self, rows: Any, *, id: str | None = None, remember: bool = False) -> Any:
        """Predict a row, or several.

        Parameters
        ----------
        rows : dict or list of dict
            The row or rows.
        id : str, optional
            Under which a single row is remembered, until `label` brings its label.
        remember : bool, default=False
            Whether rows are remembered under ids that the service chooses.

        Returns
        -------
        dict
            `prediction`, `probabilities`, and `id` if the row is remembered; of several rows a list
            of these in `predictions`.

        See Also
        --------
        label : Brings labels of rows that are remembered.
        explain : Why a row is predicted so.

        Examples
        --------
        >>> client = rarefy.Client("http://127.0.0.1:8080", "spam")  # doctest: +SKIP
        >>> client.predict({"words": "a prize for you"})["prediction"]  # doctest: +SKIP
        'spam'
        """
        params = {"id": id} if id is not None else {"remember": "true"} if remember else {}
        return self._send("POST", "/predict", json=rows, params=params)

    @_request
    def learn(self, rows: Any, *, key: str | None = None) -> Any:
        """Have the service learn a row, or several, that have labels.

        Parameters
        ----------
        rows : dict or list of dict
            The row or rows, each with its label.
        key : str, optional
            The same key means the same request, whose rows are learned once; by default one is
            made up, which covers what the client sends again by itself.

        Returns
        -------
        dict
            `rows`, how many; `seq`, their place in the log; `repeated`, whether they were learned
            before.

        See Also
        --------
        label : For rows that were predicted before.

        Examples
        --------
        >>> client = rarefy.Client("http://127.0.0.1:8080", "spam")  # doctest: +SKIP
        >>> client.learn({"words": "win a prize", "label": "spam"})["rows"]  # doctest: +SKIP
        1
        """
        headers = {"Idempotency-Key": secrets.token_hex(16) if key is None else key}
        return self._send("POST", "/learn", json=rows, headers=headers)

    @_request
    def label(self, labels: dict[str, Any]) -> Any:
        """Bring the labels of rows that were predicted.

        Parameters
        ----------
        labels : dict
            Labels by the ids of the rows.

        Returns
        -------
        dict
            `rows`, how many are learned; `repeated`, how many had a label before; `unknown`, ids
            that are not remembered.

        See Also
        --------
        predict : With `id`, remembers a row.

        Examples
        --------
        >>> client = rarefy.Client("http://127.0.0.1:8080", "spam")  # doctest: +SKIP
        >>> answer = client.predict({"words": "you have won"}, id="mail-17")  # doctest: +SKIP
        >>> client.label({"mail-17": "spam"})["rows"]  # doctest: +SKIP
        1
        """
        said = [{"id": id, "label": label} for id, label in labels.items()]
        return self._send("POST", "/label", json=said)

    @_request
    def explain(self, row: dict[str, Any]) -> Any:
        """Explain a prediction: what each feature of a row adds to its score.

        Parameters
        ----------
        row : dict
            The row.

        Returns
        -------
        dict
            What `rarefy inspect --why --json` prints.

        See Also
        --------
        predict : The prediction itself.

        Examples
        --------
        >>> client = rarefy.Client("http://127.0.0.1:8080", "spam")  # doctest: +SKIP
        >>> client.explain({"words": "a prize"})["label"]  # doctest: +SKIP
        'spam'
        """
        return self._send("POST", "/explain", json=row)

    @_request
    def about(self) -> Any:
        """Ask what the model is, and how well it does.

        Returns
        -------
        dict
            As from `GET /models/NAME`.

        See Also
        --------
        create : Begins a model.

        Examples
        --------
        >>> client = rarefy.Client("http://127.0.0.1:8080", "spam")  # doctest: +SKIP
        >>> client.about()["examples"] > 0  # doctest: +SKIP
        True
        """
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
    >>> about = client.create(classes=["ham", "spam"], text=["words"])  # doctest: +SKIP
    >>> rows = [{"words": "win a prize", "label": "spam"}, {"words": "see you", "label": "ham"}]
    >>> client.learn(rows * 20)["rows"]  # doctest: +SKIP
    40
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
        """End the connection; `with rarefy.Client(...) as client:` does it by itself."""
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
    >>> answer = await client.predict({"words": "a prize"})  # doctest: +SKIP
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
        """End the connection; `async with` does it by itself."""
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
