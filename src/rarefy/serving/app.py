"""The service as HTTP: its paths, who may use them, and what is said if a request fails."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from rarefy.errors import RarefyError
from rarefy.serving.bodies import JSON, encode_json
from rarefy.serving.doors import Doors
from rarefy.serving.gate import Gate
from rarefy.serving.handlers import Api, json_response
from rarefy.serving.prometheus import Metrics
from rarefy.serving.pulse import Pulse
from rarefy.serving.river_api import RiverApi
from rarefy.serving.service import Service

log = logging.getLogger("rarefy.serve")
access = logging.getLogger("rarefy.access")  # without what is in paths, queries and bodies
Handler = Callable[[Request], Awaitable[Response]]


def make_app(service: Service, pulse: Pulse, doors: Doors) -> tuple[Gate, Api]:
    """The service as an ASGI application, and its handlers."""
    metrics = Metrics(service)
    api = Api(service, pulse, metrics)
    model, challenger = "/models/{name}", "/models/{name}/challengers/{challenger}"
    snapshot = "/models/{name}/snapshots/{seq:int}"
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
    by_path: dict[str, dict[str, tuple[Handler, str | None]]] = {}
    for method, path, handler, scope in table:
        by_path.setdefault(path, {})[method] = handler, scope
    routes = [
        Route(path, _endpoint(path, handlers, doors, metrics), methods=list(handlers))
        for path, handlers in by_path.items()
    ]
    return Gate(Starlette(routes=routes, exception_handlers={HTTPException: _unknown})), api


def _as_json(function: Callable[[Request], Awaitable[Any]]) -> Handler:
    async def handler(request: Request) -> Response:
        return json_response(await function(request))

    return handler


def _endpoint(
    path: str,
    handlers: dict[str, tuple[Handler, str | None]],
    doors: Doors,
    metrics: Metrics,
) -> Handler:
    """All methods of a path: who may, what is done, and what is said if it cannot be."""
    seconds = metrics.seconds.labels(path)
    count: dict[int, Any] = {}

    async def endpoint(request: Request) -> Response:
        began = time.perf_counter()
        try:
            handler, scope = handlers["GET" if request.method == "HEAD" else request.method]
            doors.check(request.headers, scope)
            response = await handler(request)
        except RarefyError as error:
            response = refusal(getattr(error, "status", 422), str(error))
        except (ClientDisconnect, asyncio.CancelledError, HTTPException):
            raise
        except TimeoutError:
            response = refusal(503, "it took too long; try again.")
        except Exception:
            log.exception("%s %s failed", request.method, path)
            response = refusal(500, "a fault of the service; its log says more.")
        status = response.status_code
        if status not in count:
            count[status] = metrics.requests.labels(path, str(status))
        count[status].inc()
        taken = time.perf_counter() - began
        seconds.observe(taken)
        if access.isEnabledFor(logging.INFO):
            said = {"method": request.method, "route": path, "status": status, "seconds": taken}
            access.info("request", extra={"said": said})
        return response

    return endpoint


async def _unknown(request: Request, error: Exception) -> Response:
    """A path that there is not, or a method that it does not take."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    known = {404: "there is nothing here.", 405: "this path does not take that method."}
    return refusal(status, known.get(status, "the request is not understood."))


def refusal(status: int, message: str) -> Response:
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    if status == 503:
        headers["Retry-After"] = "1"
    body = encode_json({"error": {"status": status, "message": message}})
    return Response(body, status, headers, JSON)
