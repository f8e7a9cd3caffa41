"""The service is killed under load, and nothing is lost, doubled or out of order."""

import random
import time
from pathlib import Path

import httpx
import pytest

from rarefy import SparseOnlineClassifier
from rarefy.serving.log import entries_in
from tests.serving.served import Forked, Sender, Served, lines_of


def survive(served: Served, n_kills: int, n_clients: int = 4) -> dict[str, int]:
    """Kill a service under load, look at what is left, and say how much that was."""
    rng, folder = random.Random(n_kills), served.folder
    with served:
        said = {"classes": ["a", "b"]}
        answer = httpx.put(f"{served.url}/models/m", json=said, timeout=400.0)
        assert answer.status_code == 201, answer.text
        senders = [Sender(number, served.url, "m") for number in range(n_clients)]
        for sender in senders:
            sender.start()
        while not all(sender.acknowledged for sender in senders):
            time.sleep(0.01)
        for _ in range(n_kills):
            time.sleep(rng.uniform(0.0, 0.4))
            served.kill()
            served.start()
        for sender in senders:
            sender.is_over.set()
        for sender in senders:
            sender.join(60.0)
            assert not sender.is_alive()
        while httpx.get(f"{served.url}/health").json()["backlog"]:
            time.sleep(0.01)
        model = httpx.get(f"{served.url}/models/m/file", timeout=60.0).content
        served.kill()
    check_log(folder, senders)
    assert model == learned_again(folder), "the model is another than the log says"
    return {
        "kills": n_kills,
        "rows": sum(n for sender in senders for _, n in sender.acknowledged),
        "retries": sum(sender.n_retries for sender in senders),
    }


def check_log(folder: Path, senders: list[Sender]) -> None:
    """Every acknowledged row is there exactly once, in the order of its client."""
    logged: dict[object, list[object]] = {sender.number: [] for sender in senders}
    for entry in entries_in(folder / "log.db", "m"):
        if entry.kind == "learn":
            for row in lines_of(entry.body.data):
                logged[row["c"]].append(row["n"])
    for sender in senders:
        n_rows = sum(n for _, n in sender.acknowledged)
        assert logged[sender.number] == list(range(n_rows))


def learned_again(folder: Path) -> bytes:
    """The model file of all rows of the log, learned in one call by a model of its own."""
    texts = [
        line.decode()
        for entry in entries_in(folder / "log.db", "m")
        if entry.kind == "learn"
        for line in entry.body.data.splitlines()
    ]
    model = SparseOnlineClassifier().start(classes=["a", "b"])
    model.learn_many(texts, format="json")
    model.save(folder / "again.bin")
    return (folder / "again.bin").read_bytes()


def test_kills_under_load_lose_nothing(tmp_path: Path) -> None:
    survive(Served(tmp_path, "--checkpoint-seconds", "0.2"), n_kills=1)


@pytest.mark.slow
def test_many_kills_under_load_lose_nothing(tmp_path: Path) -> None:
    print(survive(Forked(tmp_path, 0.2), n_kills=500))
