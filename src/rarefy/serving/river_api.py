"""The API of django-river-ml, so that its client works.

Models are begun here, by parameters, and not uploaded there: nothing is unpickled.
"""

import secrets
from typing import Any

from starlette.concurrency import run_in_threadpool

from rarefy.serving.bodies import Body, encode_json, json_of
from rarefy.serving.calls import Call
from rarefy.serving.limits import check_id
from rarefy.serving.refusals import RefusedError
from rarefy.serving.served_model import ServedModel
from rarefy.serving.service import Service
from rarefy.serving.views import rolling
from rarefy.version import __version__

MOST_BYTES = 1 << 20


class RiverApi:
    """What `riverapi.Client` asks for; each answers with JSON."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def info(self, call: Call) -> Any:
        return {"status": "running", "name": "rarefy", "version": __version__}

    async def models(self, call: Call) -> Any:
        return {"models": sorted(self._service.served_models)}

    async def predict(self, call: Call) -> Any:
        said, served = await self._said(call)
        line = Body("json", encode_json(_features(said)) + b"\n")
        answer = self._service.champion(served.name).answer(line)
        served.predicted += 1
        id = check_id("identifier", said.get("identifier", secrets.token_hex(8)))
        self._service.remember(served.name, [(id, line, answer)])
        return {"model": served.name, "identifier": id, **answer}

    async def learn(self, call: Call) -> Any:
        said, served = await self._said(call)
        if said.get("ground_truth") is None:
            raise RefusedError("ground_truth, the label, is expected.")
        column = self._service.champion(served.name).label
        row = {**_features(said), column: said["ground_truth"]}
        body = Body("json", encode_json(row) + b"\n")
        await run_in_threadpool(lambda: self._service.learn(served.name, body).result())
        return "Successful learn."

    async def label(self, call: Call) -> Any:
        said, served = await self._said(call)
        labels = {check_id("identifier", said.get("identifier")): said.get("label")}
        await run_in_threadpool(self._service.label, served.name, labels)
        return "Model successfully labeled."

    async def metrics(self, call: Call) -> Any:
        _, served = await self._said(call)
        return rolling(self._service.champion(served.name))

    async def stats(self, call: Call) -> Any:
        _, served = await self._said(call)
        return {"predict": {"n_calls": served.predicted}, "learn": {"n_calls": served.learned}}

    async def _said(self, call: Call) -> tuple[dict[str, Any], ServedModel]:
        said = json_of(await call.body(MOST_BYTES))
        if not isinstance(said, dict) or not isinstance(said.get("model"), str):
            raise RefusedError("an object with a model is expected.")
        return said, self._service.served(said["model"])


def _features(said: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(said.get("features"), dict):
        raise RefusedError("features, an object, are expected.")
    return dict(said["features"])
