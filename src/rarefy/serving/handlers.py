"""The request handlers."""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import FileResponse, Response, StreamingResponse

from rarefy.serving import views
from rarefy.serving.bodies import JSON, Body, Sent, decompressed, encode_json, json_of, sent
from rarefy.serving.calls import LONGEST_NUMBER, Answer, Call, Json
from rarefy.serving.gathering import Gathering
from rarefy.serving.limits import check_id
from rarefy.serving.live_figures import LiveFigures
from rarefy.serving.member import LARGE
from rarefy.serving.openapi import MODEL_FILE, document
from rarefy.serving.page import page_file
from rarefy.serving.pending_predictions import rows_of
from rarefy.serving.prometheus import Metrics
from rarefy.serving.refusals import BusyError, NotFoundError, RefusedError
from rarefy.serving.service import Service
from rarefy.version import __version__

WAIT = 0.01  # seconds, between looks at a model that is behind


class Api:
    """The handlers; each takes a request, and answers it."""

    def __init__(self, service: Service, live_figures: LiveFigures, metrics: Metrics) -> None:
        self.service, self.live_figures, self.metrics = service, live_figures, metrics
        self.is_ending = False
        self._gathering = Gathering(service.log)

    # --- rows ---------------------------------------------------------------------------------

    async def predict(self, call: Call) -> Answer:
        name, sent = call.params["name"], await self._rows(call)
        member, served = self.service.champion(name), self.service.served(name)
        if sent.is_single:
            answers = [member.answer(sent.body)]
        elif member.takes_a_while(sent.body):
            answers = await run_in_threadpool(member.answers, sent.body)
        else:
            answers = member.answers(sent.body)
        served.predicted += len(answers)
        query = call.query
        given = query.get("id")
        if given is not None or query.get("remember") == "true":
            answers = self._remembered(name, sent.body, answers, given)
        return Json(answers[0] if sent.is_single else {"predictions": answers})

    def _remembered(
        self, name: str, body: Body, answers: list[dict[str, Any]], given: str | None
    ) -> list[dict[str, Any]]:
        """The answers with their ids, by which rows are remembered."""
        if given is not None and len(answers) != 1:
            raise RefusedError("id is for a single row; use remember=true for several.")
        rows = rows_of(body)
        ids = _ids(given, len(rows))
        answers = [{"id": id, **one} for id, one in zip(ids, answers, strict=True)]
        self.service.remember(name, list(zip(ids, rows, answers, strict=True)))
        return answers

    async def learn(self, call: Call) -> Answer:
        name, sent = call.params["name"], await self._rows(call)
        key = None
        if b"idempotency-key" in call.headers:
            key = check_id("Idempotency-Key", call.header(b"idempotency-key"))
        if self.service.is_behind(name):
            await self._not_too_far_behind(name)
        future = asyncio.get_running_loop().create_future()
        if self.service.champion(name).takes_a_while(sent.body):
            await run_in_threadpool(self.service.learn, name, sent.body, key, future=future)
        else:
            self._gathering.submit(self.service.to_learn(name, sent.body, key), future)
        seq, rows, repeated = await self._in_time(future)
        return Json({"rows": rows, "seq": seq, "repeated": repeated})

    async def label(self, call: Call) -> Answer:
        sent, name = await self._rows(call), call.params["name"]

        def labelled() -> Any:
            return self.service.label(name, _labels(sent.body, self.service.limits.asked))

        return Json(await run_in_threadpool(labelled))

    async def explain(self, call: Call) -> Answer:
        sent, row = await self._rows(call), _number(call, "row", 1)
        return await self._asked(call, lambda served: views.explained(served, sent.body, row))

    async def _rows(self, call: Call) -> Sent:
        limits = self.service.limits
        kind, encoding = call.header(b"content-type", JSON), call.header(b"content-encoding")
        data = await call.body(limits.body_bytes)
        if not encoding and len(data) < LARGE:
            return sent(kind, data, limits)

        def read() -> Sent:
            return sent(kind, decompressed(encoding, data, limits.body_bytes), limits)

        return await run_in_threadpool(read)

    async def _not_too_far_behind(self, name: str) -> None:
        """Wait while more has come than can be learned, for a while."""
        until = time.monotonic() + self.service.limits.seconds / 2
        while self.service.is_behind(name) and time.monotonic() < until:
            await asyncio.sleep(WAIT)

    async def _in_time(self, future: "asyncio.Future[Any]") -> Any:
        """What the future brings; a timer of its own takes half of the time of wait_for."""
        timer = future.get_loop().call_later(self.service.limits.seconds, _give_up, future)
        try:
            return await future
        finally:
            timer.cancel()

    # --- models -------------------------------------------------------------------------------

    async def models(self, call: Call) -> Answer:
        return Json({"models": [views.summary(served) for served in self._served_models()]})

    async def model(self, call: Call) -> Answer:
        return await self._asked(call, views.full)

    async def features(self, call: Call) -> Answer:
        top, search = _number(call, "top", views.SHOWN), call.query.get("search", "")
        return await self._asked(call, lambda served: views.features(served, search, top))

    async def history(self, call: Call) -> Answer:
        name = self.service.served(call.params["name"]).name
        return Json({"points": list(self.live_figures.history.get(name, ()))})

    async def create(self, call: Call) -> Answer:
        said, name = await self._parameters(call), call.params["name"]
        receipt = await run_in_threadpool(self.service.create, name, said)
        return Json({"model": name, "seq": receipt.seq}, 201)

    async def delete(self, call: Call) -> Answer:
        await run_in_threadpool(self.service.delete, call.params["name"])
        return Response(status_code=204)

    async def download(self, call: Call) -> Answer:
        name = call.params["name"]
        data = await run_in_threadpool(self.service.file, name)
        headers = {"Content-Disposition": f'attachment; filename="{name}.model"'}
        return Response(data, media_type=MODEL_FILE, headers=headers)

    async def upload(self, call: Call) -> Answer:
        data = await self._model_file(call)
        name = call.params["name"]
        receipt = await run_in_threadpool(self.service.load, name, data)
        return Json({"model": name, "seq": receipt.seq}, 201)

    async def _parameters(self, call: Call) -> dict[str, Any]:
        said = json_of(await call.body(self.service.limits.body_bytes))
        if not isinstance(said, dict):
            raise RefusedError("an object with parameters is expected.")
        return said

    async def _model_file(self, call: Call) -> bytes:
        encoding = call.header(b"content-encoding")
        most = self.service.limits.body_bytes
        return decompressed(encoding, await call.body(most), most)

    async def challenge(self, call: Call) -> Answer:
        name, challenger = call.params["name"], call.params["challenger"]
        if call.header(b"content-type", JSON).partition(";")[0] == MODEL_FILE:
            data = await self._model_file(call)
            load = self.service.load
            receipt = await run_in_threadpool(load, name, data, challenger=challenger)
        else:
            said = await self._parameters(call)
            receipt = await run_in_threadpool(self.service.challenge, name, challenger, said)
        return Json({"model": name, "challenger": challenger, "seq": receipt.seq}, 201)

    async def drop(self, call: Call) -> Answer:
        params = call.params
        await run_in_threadpool(self.service.drop, params["name"], params["challenger"])
        return Response(status_code=204)

    async def promote(self, call: Call) -> Answer:
        params = call.params
        promote = self.service.promote
        receipt = await run_in_threadpool(promote, params["name"], params["challenger"])
        return Json({"model": params["name"], "champion": params["challenger"], "seq": receipt.seq})

    async def snapshots(self, call: Call) -> Answer:
        return await self._asked(call, lambda served: {"snapshots": served.snapshots.listed()})

    async def snapshot(self, call: Call) -> Answer:
        return await self._asked(call, lambda served: {"seq": served.snapshot()})

    async def difference(self, call: Call) -> Answer:
        seq, top = _seq(call), _number(call, "top", views.SHOWN)
        return await self._asked(call, lambda served: views.difference(served, seq, top))

    async def roll_back(self, call: Call) -> Answer:
        name = call.params["name"]
        receipt = await run_in_threadpool(self.service.roll_back, name, _seq(call))
        return Json({"model": name, "seq": receipt.seq})

    async def _asked(self, call: Call, function: Callable[[Any], Any]) -> Answer:
        ask, name = self.service.ask, call.params["name"]
        return Json(await run_in_threadpool(ask, name, function))

    def _served_models(self) -> list[Any]:
        return [served for _, served in sorted(self.service.served_models.items())]

    # --- the service itself -------------------------------------------------------------------

    async def health(self, call: Call) -> Answer:
        served_models = self._served_models()
        problems = {
            served.name: served.problem for served in served_models if served.problem is not None
        }
        has_champions = all(served.champion is not None for served in served_models)
        ready = has_champions and not self.service.loading
        return Json(
            {
                "status": "ending" if self.is_ending else "ok" if ready else "starting",
                "version": __version__,
                "models": len(served_models),
                "backlog": sum(served.backlog for served in served_models),
                "problems": problems,
            },
            200 if ready and not self.is_ending else 503,
        )

    async def metrics_text(self, call: Call) -> Answer:
        return Response(self.metrics.text(), media_type="text/plain; version=0.0.4")

    async def events(self, call: Call) -> Answer:
        return StreamingResponse(self._events(), media_type="text/event-stream")

    async def _events(self) -> AsyncIterator[bytes]:
        last = None
        while not self.is_ending:
            latest = self.live_figures.latest
            if latest is not last:
                last = latest
                yield b"event: pulse\ndata: " + encode_json(latest) + b"\n\n"
            await asyncio.sleep(0.2)

    async def openapi(self, call: Call) -> Answer:
        return Json(document())

    async def docs(self, call: Call) -> Answer:
        return FileResponse(page_file("docs.html"))

    async def page(self, call: Call) -> Answer:
        return FileResponse(page_file(call.params.get("file", "index.html")))


def _give_up(future: "asyncio.Future[Any]") -> None:
    if not future.done():
        future.set_exception(
            BusyError(
                "the log is slow, and the rows may be learned or not; send them again with the "
                "same Idempotency-Key."
            )
        )


def _number(call: Call, name: str, usual: int) -> int:
    text = call.query.get(name)
    if text is None:
        return usual
    if not text.isdecimal() or not 0 < int(text[:10]) < 1 << 31:
        raise RefusedError(f"{name}={text!r}: a whole number above 0 is expected.")
    return int(text[:10])


def _seq(call: Call) -> int:
    """The snapshot that a path names."""
    text = call.params["seq"]
    if not text.isdecimal() or len(text) > LONGEST_NUMBER:
        raise NotFoundError(f"there is no snapshot {text!r}.")
    return int(text)


def _labels(body: Body, most: int) -> dict[str, Any]:
    """Labels by the ids of their rows."""
    labels = {}
    for text in body.data.splitlines():
        one = json_of(text)
        if not isinstance(one, dict) or not {"id", "label"} <= one.keys():
            raise RefusedError('{"id": ..., "label": ...} is expected, or a list of such.')
        labels[check_id("id", one["id"])] = one["label"]
    if not labels or len(labels) > most:
        raise RefusedError("there are no labels, or too many.")
    return labels


def _ids(given: str | None, n_rows: int) -> list[str]:
    if given is not None:
        return [check_id("id", given)]
    stem = secrets.token_hex(8)
    return [f"{stem}-{n}" for n in range(n_rows)]
