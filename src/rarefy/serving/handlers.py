"""What each request does: a handler for each, which takes it and answers it."""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse

from rarefy.serving import views
from rarefy.serving.asked import rows_of
from rarefy.serving.bodies import JSON, Sent, decompressed, encode_json, json_of, sent
from rarefy.serving.limits import check_id
from rarefy.serving.openapi import MODEL_FILE, document
from rarefy.serving.page import page_file
from rarefy.serving.prometheus import Metrics
from rarefy.serving.pulse import Pulse
from rarefy.serving.refusals import BusyError, RefusedError, TooLargeError
from rarefy.serving.service import LARGE, Service
from rarefy.version import __version__

WAIT = 0.01  # seconds, between looks at a model that is behind


class Api:
    """The handlers; each takes a request, and answers it."""

    def __init__(self, service: Service, pulse: Pulse, metrics: Metrics) -> None:
        self.service, self.pulse, self.metrics = service, pulse, metrics
        self.is_ending = False

    # --- rows ---------------------------------------------------------------------------------

    async def predict(self, request: Request) -> Response:
        name, sent = request.path_params["name"], await self._rows(request)
        member, slot = self.service.champion(name), self.service.slot(name)
        if sent.is_single:
            answers = [member.answer(sent.row())]
        elif len(sent.body.data) > LARGE:
            answers = await run_in_threadpool(member.answers, sent.body)
        else:
            answers = member.answers(sent.body)
        slot.predicted += len(answers)
        given = request.query_params.get("id")
        if given is not None or request.query_params.get("remember") == "true":
            if given is not None and len(answers) != 1:
                raise RefusedError("id is for a single row; use remember=true for several.")
            rows = rows_of(sent.body)
            ids = _ids(given, len(rows))
            answers = [{"id": id, **one} for id, one in zip(ids, answers, strict=True)]
            self.service.remember(name, list(zip(ids, rows, answers, strict=True)))
        return json_response(answers[0] if sent.is_single else {"predictions": answers})

    async def learn(self, request: Request) -> Response:
        name, sent = request.path_params["name"], await self._rows(request)
        key = request.headers.get("idempotency-key")
        if key is not None:
            check_id("Idempotency-Key", key)
        await self._not_too_far_behind(name)
        future = asyncio.get_running_loop().create_future()
        if len(sent.body.data) > LARGE:
            await run_in_threadpool(self.service.learn, name, sent.body, key, future=future)
        else:
            self.service.learn(name, sent.body, key, future=future)
        seq, rows, repeated = await self._in_time(future)
        return json_response({"rows": rows, "seq": seq, "repeated": repeated})

    async def label(self, request: Request) -> Response:
        sent = await self._rows(request)
        labels = {}
        for text in sent.body.data.splitlines():
            one = json_of(text)
            if not isinstance(one, dict) or not {"id", "label"} <= one.keys():
                raise RefusedError('{"id": ..., "label": ...} is expected, or a list of such.')
            labels[check_id("id", one["id"])] = one["label"]
        if not labels or len(labels) > self.service.limits.asked:
            raise RefusedError("there are no labels, or too many.")
        name = request.path_params["name"]
        return json_response(await run_in_threadpool(self.service.label, name, labels))

    async def explain(self, request: Request) -> Response:
        sent, row = await self._rows(request), _number(request, "row", 1)
        return await self._asked(request, lambda slot: views.explained(slot, sent.body, row))

    async def _rows(self, request: Request) -> Sent:
        headers = request.headers
        data = await self._body(request)
        return sent(
            headers.get("content-type", JSON),
            headers.get("content-encoding", ""),
            data,
            self.service.limits,
        )

    async def _body(self, request: Request) -> bytes:
        most = self.service.limits.body_bytes
        length = request.headers.get("content-length", "0")
        parts, n_bytes = [], 0
        if not length.isdecimal() or int(length) > most:
            raise TooLargeError(f"the body may have {most:,} bytes; send it in several requests.")
        async for part in request.stream():
            n_bytes += len(part)
            if n_bytes > most:
                raise TooLargeError(f"the body may have {most:,} bytes.")
            parts.append(part)
        return b"".join(parts)

    async def _not_too_far_behind(self, name: str) -> None:
        """Wait while more has come than can be learned, for a while."""
        slot, limits = self.service.slot(name), self.service.limits
        until = time.monotonic() + limits.seconds / 2
        while slot.backlog > limits.backlog and time.monotonic() < until:
            await asyncio.sleep(WAIT)

    async def _in_time(self, future: Any) -> Any:
        try:
            return await asyncio.wait_for(future, self.service.limits.seconds)
        except TimeoutError:
            raise BusyError(
                "the log is slow, and the rows may be learned or not; send them again with the "
                "same Idempotency-Key."
            ) from None

    # --- models -------------------------------------------------------------------------------

    async def models(self, request: Request) -> Response:
        return json_response({"models": [views.summary(slot) for slot in self._slots()]})

    async def model(self, request: Request) -> Response:
        return await self._asked(request, views.full)

    async def features(self, request: Request) -> Response:
        top, search = _number(request, "top", views.SHOWN), request.query_params.get("search", "")
        return await self._asked(request, lambda slot: views.features(slot, search, top))

    async def history(self, request: Request) -> Response:
        name = self.service.slot(request.path_params["name"]).name
        return json_response({"points": list(self.pulse.history.get(name, ()))})

    async def create(self, request: Request) -> Response:
        said = json_of(await self._body(request))
        if not isinstance(said, dict):
            raise RefusedError("an object with parameters is expected.")
        name = request.path_params["name"]
        receipt = await run_in_threadpool(self.service.create, name, said)
        return json_response({"model": name, "seq": receipt.seq}, 201)

    async def delete(self, request: Request) -> Response:
        await run_in_threadpool(self.service.delete, request.path_params["name"])
        return Response(status_code=204)

    async def download(self, request: Request) -> Response:
        name = request.path_params["name"]
        data = await run_in_threadpool(self.service.file, name)
        headers = {"Content-Disposition": f'attachment; filename="{name}.model"'}
        return Response(data, media_type=MODEL_FILE, headers=headers)

    async def upload(self, request: Request) -> Response:
        data = await self._model_file(request)
        name = request.path_params["name"]
        receipt = await run_in_threadpool(self.service.load, name, data)
        return json_response({"model": name, "seq": receipt.seq}, 201)

    async def _model_file(self, request: Request) -> bytes:
        encoding = request.headers.get("content-encoding", "")
        return decompressed(encoding, await self._body(request), self.service.limits.body_bytes)

    async def challenge(self, request: Request) -> Response:
        name, challenger = request.path_params["name"], request.path_params["challenger"]
        if request.headers.get("content-type", JSON).partition(";")[0] == MODEL_FILE:
            data = await self._model_file(request)
            load = self.service.load
            receipt = await run_in_threadpool(load, name, data, challenger=challenger)
        else:
            said = json_of(await self._body(request))
            if not isinstance(said, dict):
                raise RefusedError("an object with parameters is expected.")
            receipt = await run_in_threadpool(self.service.challenge, name, challenger, said)
        return json_response({"model": name, "challenger": challenger, "seq": receipt.seq}, 201)

    async def drop(self, request: Request) -> Response:
        params = request.path_params
        await run_in_threadpool(self.service.drop, params["name"], params["challenger"])
        return Response(status_code=204)

    async def promote(self, request: Request) -> Response:
        params = request.path_params
        promote = self.service.promote
        receipt = await run_in_threadpool(promote, params["name"], params["challenger"])
        return json_response(
            {"model": params["name"], "champion": params["challenger"], "seq": receipt.seq}
        )

    async def snapshots(self, request: Request) -> Response:
        return await self._asked(request, lambda slot: {"snapshots": slot.snapshots.listed()})

    async def snapshot(self, request: Request) -> Response:
        return await self._asked(request, lambda slot: {"seq": slot.snapshot()})

    async def difference(self, request: Request) -> Response:
        seq, top = request.path_params["seq"], _number(request, "top", views.SHOWN)
        return await self._asked(request, lambda slot: views.difference(slot, seq, top))

    async def roll_back(self, request: Request) -> Response:
        params = request.path_params
        receipt = await run_in_threadpool(self.service.roll_back, params["name"], params["seq"])
        return json_response({"model": params["name"], "seq": receipt.seq})

    async def _asked(self, request: Request, function: Callable[[Any], Any]) -> Response:
        ask, name = self.service.ask, request.path_params["name"]
        return json_response(await run_in_threadpool(ask, name, function))

    def _slots(self) -> list[Any]:
        return [slot for _, slot in sorted(self.service.slots.items())]

    # --- the service itself -------------------------------------------------------------------

    async def health(self, request: Request) -> Response:
        slots = self._slots()
        problems = {slot.name: slot.problem for slot in slots if slot.problem is not None}
        ready = all(slot.champion is not None for slot in slots)
        return json_response(
            {
                "status": "ending" if self.is_ending else "ok" if ready else "starting",
                "version": __version__,
                "models": len(slots),
                "backlog": sum(slot.backlog for slot in slots),
                "problems": problems,
            },
            200 if ready and not self.is_ending else 503,
        )

    async def metrics_text(self, request: Request) -> Response:
        return Response(self.metrics.text(), media_type="text/plain; version=0.0.4")

    async def events(self, request: Request) -> Response:
        return StreamingResponse(self._events(), media_type="text/event-stream")

    async def _events(self) -> AsyncIterator[bytes]:
        last = None
        while not self.is_ending:
            latest = self.pulse.latest
            if latest is not last:
                last = latest
                yield b"event: pulse\ndata: " + encode_json(latest) + b"\n\n"
            await asyncio.sleep(0.2)

    async def openapi(self, request: Request) -> Response:
        return json_response(document())

    async def docs(self, request: Request) -> Response:
        return FileResponse(page_file("docs.html"))

    async def page(self, request: Request) -> Response:
        return FileResponse(page_file(request.path_params.get("file", "index.html")))


def json_response(content: Any, status: int = 200) -> Response:
    return Response(encode_json(content), status, media_type=JSON)


def _number(request: Request, name: str, usual: int) -> int:
    text = request.query_params.get(name)
    if text is None:
        return usual
    if not text.isdecimal() or not 0 < int(text[:10]) < 1 << 31:
        raise RefusedError(f"{name}={text!r}: a whole number above 0 is expected.")
    return int(text[:10])


def _ids(given: str | None, n_rows: int) -> list[str]:
    if given is not None:
        return [check_id("id", given)]
    stem = secrets.token_hex(8)
    return [f"{stem}-{n}" for n in range(n_rows)]
