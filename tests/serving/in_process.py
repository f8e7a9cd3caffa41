"""A service in this process, and clients of it that need no network."""

import json
import random
from pathlib import Path

from starlette.testclient import TestClient

from rarefy import SparseOnlineClassifier
from rarefy.serving.access_control import AccessControl, Tokens
from rarefy.serving.app import make_app
from rarefy.serving.housekeeper import Housekeeper
from rarefy.serving.limits import Limits
from rarefy.serving.live_figures import LiveFigures
from rarefy.serving.service import Service
from tests.serving.served import row

SAID = {"classes": ["a", "b"]}
LIMITS = Limits(body_bytes=100_000, rows=1000, models=3, asked=5)


class Client(TestClient):
    """A client of a service in this process."""

    def __init__(
        self, folder: Path, limits: Limits = LIMITS, host: str = "127.0.0.1", **options: object
    ) -> None:
        self.service = Service(folder, limits, checkpoint_seconds=1000.0)
        assert self.service.wait()
        self.housekeeper = Housekeeper(self.service, **options)
        self.live_figures, self.tokens = LiveFigures(self.service), Tokens(folder)
        access = AccessControl(self.tokens, host)
        app, _ = make_app(self.service, self.live_figures, access)
        super().__init__(app, base_url=f"http://{host}")

    def learned(self, name: str = "m") -> bytes:
        """The bytes of the model once it has learned all."""
        assert self.service.wait()
        return self.get(f"/models/{name}/file").content


def rows(n: int, seed: int = 0) -> list[dict[str, object]]:
    rng = random.Random(seed)
    return [row(rng) for _ in range(n)]


def model_of(rows: list[dict[str, object]], path: Path, **said: object) -> bytes:
    model = SparseOnlineClassifier(**said).start(classes=["a", "b"])
    model.learn_many([json.dumps(one) for one in rows], format="json")
    model.save(path / "x.bin")
    return (path / "x.bin").read_bytes()
