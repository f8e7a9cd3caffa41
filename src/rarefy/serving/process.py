"""The service as a process: start, housekeeping, orderly end."""

import gc
import json
import logging
import socket
import sqlite3
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import uvicorn

from rarefy.errors import InputError, RarefyError, RarefyWarning
from rarefy.serving.access_control import AccessControl, Tokens, check_listening
from rarefy.serving.app import make_app
from rarefy.serving.housekeeper import Housekeeper
from rarefy.serving.http_protocol import HttpProtocol
from rarefy.serving.live_figures import LiveFigures
from rarefy.serving.member import import_estimators
from rarefy.serving.service import Service

GRACE = 3  # seconds that requests have to be finished
LOOKING = 5.0  # seconds between looks at the folder
log = logging.getLogger("rarefy.serve")


class Server(uvicorn.Server):
    """Signals are dealt with by whoever has started it."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Running:
    """A service that listens."""

    def __init__(
        self,
        service: Service,
        host: str,
        port: int,
        *,
        housekeeper: Housekeeper | None = None,
        is_open: bool = False,
    ) -> None:
        tokens = Tokens(service.folder)
        check_listening(host, tokens, is_open=is_open)
        self._service = service
        self._housekeeper = Housekeeper(service) if housekeeper is None else housekeeper
        self._housekeeper.new_files()  # so that the service is not called ready before they are in
        self._socket = _bound(host, port)
        self.port: int = self._socket.getsockname()[1]
        self._live_figures = LiveFigures(service)
        app, self._api = make_app(
            service, self._live_figures, AccessControl(tokens, host, is_open=is_open)
        )
        config = uvicorn.Config(
            app,
            http=partial(HttpProtocol, service.limits.arrival_seconds),  # type: ignore[arg-type]
            access_log=False,
            log_config=None,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            ws="none",
            lifespan="off",
            timeout_graceful_shutdown=GRACE,
        )
        self._server = Server(config)
        self._over = threading.Event()
        self._looking = threading.Thread(target=self._look_after, name="folder", daemon=True)

    def serve(self, before_end: Iterable[Callable[[], None]] = ()) -> None:
        """Answer requests until `stop` is called; then all is saved."""
        self._live_figures.start()
        self._looking.start()
        threading.Thread(target=_import_the_rest, name="imports", daemon=True).start()
        log.info("listening", extra={"said": {"port": self.port}})
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._over.set()
            for end in before_end:
                end()
            self._live_figures.close()
            self._looking.join()
            self._service.close()
            log.info("ended")

    def stop(self) -> None:
        """From any thread: finish the requests that there are, and take no more."""
        self._api.is_ending = True
        self._server.should_exit = True

    def _look_after(self) -> None:
        while not self._over.is_set():
            try:
                self._housekeeper.look()
            except (RarefyError, OSError, sqlite3.Error) as error:
                log.warning("folder", extra={"said": {"problem": str(error)}})
            except Exception:  # a fault here must not end the care of the folder
                log.exception("folder")
            self._over.wait(LOOKING)


def _bound(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise InputError(f"cannot listen on {host}, port {port}: {error.strerror}.") from error


def _import_the_rest() -> None:
    """Have what the first model needs, while requests are answered already.

    What is loaded then stays: what comes is searched for cycles sooner, and in less time.
    """
    import_estimators()
    gc.freeze()


class JsonLines(logging.Formatter):
    """Log records as objects of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        said: dict[str, Any] = {
            "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "said", {}),
        }
        if record.exc_info:
            said["traceback"] = self.formatException(record.exc_info)
        return json.dumps(said)


def set_up_logs(*, with_requests: bool) -> None:
    """Logs go to standard error, and warnings about rows to nobody: clients are told of errors."""
    warnings.simplefilter("ignore", RarefyWarning)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name, level in (("rarefy", logging.INFO), ("uvicorn", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
    logging.getLogger("rarefy.access").setLevel(logging.INFO if with_requests else logging.WARNING)
