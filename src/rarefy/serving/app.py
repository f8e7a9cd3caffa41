"""The HTTP application: paths, permissions, and errors."""

import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Route

from rarefy.errors import RarefyError
from rarefy.serving.access_control import AccessControl
from rarefy.serving.calls import Answer, Call, GoneError, Json
from rarefy.serving.handlers import Api
from rarefy.serving.live_figures import LiveFigures
from rarefy.serving.middleware import Middleware
from rarefy.serving.prometheus import Metrics, Traffic
from rarefy.serving.refusals import bare
from rarefy.serving.river_api import RiverApi
from rarefy.serving.service import Service

log = logging.getLogger("rarefy.serve")
access = logging.getLogger("rarefy.access")  # without what is in paths, queries and bodies
Handler = Callable[[Call], Awaitable[Answer]]


def make_app(
    service: Service, live_figures: LiveFigures, access: AccessControl
) -> tuple[Middleware, Api]:
    """The service as an ASGI application, and its handlers."""
    metrics = Metrics(service)
    api = Api(service, live_figures, metrics)
    model, challenger = "/models/{name}", "/models/{name}/challengers/{challenger}"
    snapshot = "/models/{name}/snapshots/{seq}"
    table: list[tuple[str, str, Handler, str | None]] = [
        ("POST", f"{model}/predict", api.predict, "read"),
        ("POST", f"{model}/learn", api.learn, "learn"),
        ("POST", f"{model}/label", api.label, "learn"),
        ("POST", f"{model}/explain", api.explain, "read"),
        ("GET", "/models", api.models, "read"),
        ("GET", model, api.model, "read"),
        ("PUT", model, api.create, "admin"),
        ("DELETE", model, api.delete, "admin"),
        ("GET", f"{model}/features", api.features, "read"),
        ("GET", f"{model}/history", api.history, "read"),
        ("GET", f"{model}/file", api.download, "read"),
        ("PUT", f"{model}/file", api.upload, "admin"),
        ("PUT", challenger, api.challenge, "admin"),
        ("DELETE", challenger, api.drop, "admin"),
        ("POST", f"{challenger}/promote", api.promote, "admin"),
        ("GET", f"{model}/snapshots", api.snapshots, "read"),
        ("POST", f"{model}/snapshots", api.snapshot, "admin"),
        ("GET", f"{snapshot}/diff", api.difference, "read"),
        ("POST", f"{snapshot}/rollback", api.roll_back, "admin"),
        ("GET", "/events", api.events, "read"),
        ("GET", "/metrics", api.metrics_text, "read"),
        ("GET", "/health", api.health, None),
        ("GET", "/openapi.json", api.openapi, None),
        ("GET", "/docs", api.docs, None),
        ("GET", "/", api.page, None),
        ("GET", "/page/{file}", api.page, None),
    ]
    river = RiverApi(service)
    table += [
        ("GET", "/api/", _as_json(river.info), "read"),
        ("GET", "/api/models/", _as_json(river.models), "read"),
        ("GET", "/api/metrics/", _as_json(river.metrics), "read"),
        ("GET", "/api/stats/", _as_json(river.stats), "read"),
        ("POST", "/api/predict/", _as_json(river.predict), "read"),
        ("POST", "/api/learn/", _as_json(river.learn), "learn"),
        ("POST", "/api/label/", _as_json(river.label), "learn"),
    ]
    endpoints: dict[str, Endpoint] = {}
    for method, path, handler, scope in table:
        traffic = metrics.of_route(path)
        endpoint = endpoints.setdefault(path, Endpoint(path, access, traffic))
        endpoint.handlers[method] = handler, scope
    routes = [
        Route(path, endpoint, methods=list(endpoint.handlers))
        for path, endpoint in endpoints.items()
    ]
    app = Starlette(routes=routes, exception_handlers={HTTPException: _unknown})
    return Middleware(
        app, {what: endpoints[f"{model}/{what}"] for what in ("predict", "learn")}
    ), api


def _as_json(function: Callable[[Call], Awaitable[Any]]) -> Handler:
    async def handler(call: Call) -> Answer:
        return Json(await function(call))

    return handler


class Endpoint:
    """A path: who may use it, what is done, and what is said if it cannot be."""

    def __init__(self, path: str, access: AccessControl, traffic: Traffic) -> None:
        self._path, self._access, self._traffic = path, access, traffic
        self.handlers: dict[str, tuple[Handler, str | None]] = {}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        began = time.perf_counter()
        call = Call(scope, receive)
        method = call.method
        try:
            handler, needed = self.handlers["GET" if method == "HEAD" else method]
            self._access.check(call, needed)
            answer = await handler(call)
        except GoneError:
            return
        except Exception as error:
            answer = self._refused(method, error)
        taken = time.perf_counter() - began
        self._traffic.note(answer.status_code, taken)
        if access.isEnabledFor(logging.INFO):
            status = answer.status_code
            said = {"method": method, "route": self._path, "status": status, "seconds": taken}
            access.info("request", extra={"said": said})
        await answer(scope, receive, send)

    def _refused(self, method: str, error: Exception) -> Answer:
        if isinstance(error, RarefyError):
            return refusal(getattr(error, "status", 422), str(bare(error)))
        if isinstance(error, TimeoutError):
            return refusal(503, "it took too long; try again.")
        log.error("%s %s failed", method, self._path, exc_info=error)
        return refusal(500, "a fault of the service; its log says more.")


async def _unknown(request: Request, error: Exception) -> Any:
    """A path that there is not, or a method that it does not take."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    known = {404: "there is nothing here.", 405: "this path does not take that method."}
    return refusal(status, known.get(status, "the request is not understood."))


def refusal(status: int, message: str) -> Json:
    more = {401: ((b"www-authenticate", b"Bearer"),), 503: ((b"retry-after", b"1"),)}
    said = {"error": {"status": status, "message": message}}
    return Json(said, status, more.get(status, ()))
