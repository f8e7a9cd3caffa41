"""ASGI middleware: security headers, and a shortcut for frequent requests."""

from typing import Any

from rarefy.serving.access_control import HEADERS, HEADERS_OF_PAGES


class Middleware:
    """An ASGI application around another one, with some of its paths at hand.

    `shortcuts` are what `POST /models/NAME/...` leads to, since most requests are of that kind.
    Their answers are no pages, and have no headers that are for pages: each takes a while.
    """

    def __init__(self, app: Any, shortcuts: dict[str, Any]) -> None:
        self._app, self._shortcuts = app, shortcuts

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        app, headers = self._app, HEADERS_OF_PAGES
        parts = scope.get("path", "").split("/")
        if len(parts) == 4 and parts[1] == "models" and scope["method"] == "POST" and parts[2]:
            shortcut = self._shortcuts.get(parts[3])
            if shortcut is not None and not parts[0]:
                app, headers = shortcut, HEADERS
                scope["path_params"] = {"name": parts[2]}

        async def send_on(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *headers]
            await send(message)

        await app(scope, receive, send_on)
