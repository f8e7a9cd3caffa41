"""ASGI middleware: security headers, and a short way for frequent requests."""

from typing import Any

from rarefy.serving.doors import HEADERS


class Gate:
    """An ASGI application around another one, with some of its paths at hand.

    `shortcuts` are what `POST /models/NAME/...` leads to, since most requests are of that kind.
    """

    def __init__(self, app: Any, shortcuts: dict[str, Any]) -> None:
        self._app, self._shortcuts = app, shortcuts

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def send_on(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *HEADERS]
            await send(message)

        match scope.get("path", "").split("/"):
            case ["", "models", name, what] if scope["method"] == "POST" and name:
                app = self._shortcuts.get(what, self._app)
                scope["path_params"] = {"name": name}
            case _:
                app = self._app
        await app(scope, receive, send_on)
