"""The service is killed under load, and nothing is lost, doubled or out of order."""

import random
import time
from pathlib import Path

import httpx
import pytest

from rarefy import SparseOnlineClassifier
from rarefy.serving.log import entries_in
from tests.serving.served import Forked, Sender, Served, lines_of, row


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
        served.wait_until_learned()
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


@pytest.mark.slow
@pytest.mark.parametrize("is_killed", [False, True])
def test_full_disk_loses_nothing_that_was_acknowledged(tmp_path: Path, is_killed: bool) -> None:
    rng, sender = random.Random(0), Sender(0, "", "m")
    with Served(tmp_path, "--checkpoint-seconds", "0.2") as served:
        httpx.put(f"{served.url}/models/m", json={"classes": ["a", "b"]}, timeout=400.0)

        def sent() -> httpx.Response:
            first = sum(n for _, n in sender.acknowledged)
            rows = [row(rng, c=0, n=first + n) for n in range(100)]
            answer = httpx.post(f"{served.url}/models/m/learn", json=rows)
            if answer.status_code == 200:
                sender.acknowledged.append((first, 100))
            return answer

        for _ in range(10):
            assert sent().status_code == 200
        served.limit_files(sum(path.stat().st_size for path in tmp_path.glob("log.db*")))
        while (answer := sent()).status_code == 200:
            pass
        assert answer.status_code == 507
        assert "nothing was learned" in answer.json()["error"]["message"]
        answer = httpx.post(f"{served.url}/models/m/predict", json={"f1": 1.0})
        assert answer.status_code == 200
        file = httpx.get(f"{served.url}/models/m/file").content
        served.limit_files(1000)
        assert httpx.get(f"{served.url}/models/m/file").status_code == 507
        assert httpx.put(f"{served.url}/models/n/file", content=file).status_code == 507
        if is_killed:
            served.kill()
            served.start()
        else:
            served.limit_files(-1)
        for _ in range(10):
            assert sent().status_code == 200
        served.wait_until_learned()
        model = httpx.get(f"{served.url}/models/m/file").content
        assert served.stop() < 5.0
    check_log(tmp_path, [sender])
    assert model == learned_again(tmp_path)
