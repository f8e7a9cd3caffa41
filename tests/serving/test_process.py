"""The service as a process, its clients, and what follows from its log."""

import asyncio
import json
import random
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

import rarefy
from rarefy.serving.client import ServiceError
from tests.serving.in_process import model_of, rows
from tests.serving.served import Served, row


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with Served(tmp_path_factory.mktemp("served")) as found:
        yield found


def test_it_listens_before_scikit_learn_is_imported():
    """Which takes longer than all else, and is needed for the first model only."""
    said = "import sys, rarefy.serving.process; print('sklearn' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"


def test_new_files_are_served_when_it_is_ready(tmp_path):
    """Although several threads need scikit-learn at the same time."""
    for n in range(3):
        (tmp_path / f"new{n}.model").write_bytes(model_of(rows(30), tmp_path))
    with Served(tmp_path) as found:
        health = httpx.get(f"{found.url}/health").json()
        assert (health["status"], health["models"]) == ("ok", 3)
        assert {one["name"] for one in httpx.get(f"{found.url}/models").json()["models"]} == {
            "new0",
            "new1",
            "new2",
        }


def test_client_learns_predicts_and_is_told_why_not(served):
    rng = random.Random(0)
    with rarefy.Client(served.url, "m", timeout=200.0) as client:
        client.create(classes=["a", "b"])
        assert client.learn([row(rng) for _ in range(50)])["rows"] == 50
        assert client.learn(row(rng), key="x")["repeated"] is False
        assert client.learn(row(random.Random(1)), key="y")["repeated"] is False
        assert client.predict({"f1": 1.0})["prediction"] in ("a", "b")
        first = client.predict([{"f1": 1.0}], remember=True)["predictions"][0]
        assert client.label({first["id"]: "a"})["rows"] == 1
        assert client.explain({"f1": 1.0})["score"] is not None
        with pytest.raises(ServiceError, match="the label 'c'"):
            client.learn({"f1": 1.0, "label": "c"})
        with pytest.raises(ServiceError, match="no model"):
            rarefy.Client(served.url, "none").about()


def test_async_client(served):
    async def work():
        rng = random.Random(0)
        async with rarefy.AsyncClient(served.url, "n", timeout=200.0) as client:
            await client.create(classes=["a", "b"])
            await asyncio.gather(*[client.learn(row(rng)) for _ in range(20)])
            return await client.about()

    assert asyncio.run(work())["seq"] >= 21


def test_client_tries_again():
    keys = []

    class Flaky(httpx.BaseTransport):
        def handle_request(self, request):
            keys.append(request.headers["idempotency-key"])
            if len(keys) == 1:
                raise httpx.ConnectError("no")
            if len(keys) == 2:
                return httpx.Response(503)
            return httpx.Response(200, json={"rows": 1})

    client = rarefy.Client("http://nowhere", "m")
    client._client = httpx.Client(transport=Flaky())
    assert client.learn({"label": "a"}) == {"rows": 1}
    assert len(set(keys)) == 1
    assert len(keys) == 3


def test_events_come_once_a_second(served):
    with httpx.stream("GET", f"{served.url}/events", timeout=10.0) as stream:
        lines = stream.iter_lines()
        assert next(lines) == "event: pulse"
        assert "models" in json.loads(next(lines).removeprefix("data: "))


def test_client_of_river_works(served, tmp_path):
    """What `pip install riverapi` asks for, but for uploads, which are pickles."""
    riverapi = pytest.importorskip("riverapi.main")
    httpx.put(f"{served.url}/models/river", json={"classes": ["a", "b"]}, timeout=200.0)
    client, some = riverapi.Client(served.url, quiet=True), rows(30)
    features = [{name: x for name, x in one.items() if name != "label"} for one in some]
    assert client.info()["name"] == "rarefy"
    assert "river" in client.models()["models"]
    for x, one in zip(features[:29], some, strict=False):
        client.learn("river", x, one["label"])
    answer = client.predict("river", features[29])
    assert answer["prediction"] in ("a", "b")
    client.label(some[29]["label"], answer["identifier"], "river")
    served.wait_until_learned()
    assert client.stats("river")["learn"]["n_calls"] == 30
    assert 0.0 < client.metrics("river")["accuracy"] <= 1.0
    file = httpx.get(f"{served.url}/models/river/file").content
    assert file == model_of(some, tmp_path)
    with pytest.raises(SystemExit):
        client.predict("none", {})


@pytest.mark.slow
def test_replay_and_end(served, tmp_path):
    """The last test: it ends the service."""
    command = [sys.executable, "-m", "rarefy", "replay", str(served.folder), "m", "--json"]
    straight = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    assert straight["rows"] == 53
    path = tmp_path / "other.model"
    command = [*command, "--rule", "ftrl", "-o", str(path)]
    other = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    assert other["rows"] == 53
    assert other["loss"] != straight["loss"]
    assert rarefy.load(path).t_ == 53
    answer = httpx.put(
        f"{served.url}/models/m/challengers/other",
        content=path.read_bytes(),
        headers={"Content-Type": "application/vnd.rarefy.model"},
        timeout=200.0,
    )
    assert answer.status_code == 201
    time.sleep(0.1)
    assert served.stop() < 5.0
    with sqlite3.connect(served.folder / "log.db") as db:
        (last,) = db.execute("SELECT max(seq) FROM entries WHERE model = 'm'").fetchone()
    assert (served.folder / "snapshots" / "m" / f"{last:015}" / "other.model").exists()


@pytest.mark.slow
def test_demo_lives(tmp_path: Path):
    with Served(tmp_path, "--demo") as served:
        until = time.monotonic() + 60.0
        while time.monotonic() < until:
            found = httpx.get(f"{served.url}/models").json()["models"]
            if found and found[0].get("examples", 0) > 200:
                break
            time.sleep(0.1)
        assert found[0]["challengers"] == ["ftrl", "sparse"]
        assert served.stop() < 5.0
