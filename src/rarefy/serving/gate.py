"""What every answer gets, whatever gave it: headers that protect who reads it in a browser."""

from typing import Any

from rarefy.serving.doors import HEADERS


class Gate:
    """An ASGI application around another one."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def send_on(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *HEADERS]
            await send(message)

        await self.app(scope, receive, send_on)
