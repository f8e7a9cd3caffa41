"""Requests and their answers, without a network."""

import gc
import gzip
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import rarefy
from rarefy.serving.access_control import Tokens, check_listening
from rarefy.serving.bodies import Body
from rarefy.serving.member import LARGE, Member
from rarefy.serving.served_model import ServedModel
from rarefy.serving.service import Service
from rarefy.streams.fast_path import FastPath
from tests.serving.in_process import SAID, Client, model_of, rows


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    client = Client(tmp_path)
    client.put("/models/m", json=SAID).raise_for_status()
    yield client
    client.service.close()


def test_restarted_service_has_the_same_bytes(client: Client, tmp_path: Path) -> None:
    some = rows(60)
    for one in some[:20]:
        client.post("/models/m/learn", json=one)
    assert client.service.wait()
    assert client.post("/models/m/snapshots").json() == {"seq": 21}
    client.put("/models/m/challengers/ftrl", json={"rule": "ftrl"}).raise_for_status()
    client.post("/models/m/learn", json=some[20:])
    before = client.learned()
    assert before == model_of(some, tmp_path)
    client.service.wait()
    copy = tmp_path / "copy"
    copy_folder(client.service.folder, copy)  # as it is at this moment, without a last snapshot
    again = Client(copy)
    assert again.learned() == before
    assert set(again.service.served_models["m"].members) == {"first", "ftrl"}
    ftrl = again.service.served_models["m"].members["ftrl"].estimator
    assert ftrl.t_ == 40
    again.service.close()


def copy_folder(old: Path, new: Path) -> None:
    for path in old.rglob("*"):
        if path.is_file() and path.name != "lock" and new not in path.parents:
            target = new / path.relative_to(old)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())


def test_large_bodies_are_read_once_and_mean_the_same(client: Client, tmp_path: Path) -> None:
    some = rows(900)
    assert len(json.dumps(some)) > LARGE
    client.put("/models/m/challengers/again", json={}).raise_for_status()
    client.post("/models/m/learn", json=some[:10]).raise_for_status()
    client.post("/models/m/learn", json=some[10:]).raise_for_status()
    straight = model_of(some, tmp_path)
    assert client.learned() == straight
    client.post("/models/m/challengers/again/promote").raise_for_status()
    assert client.learned() == straight  # it has read the rows itself


def test_keys_make_requests_repeatable(client: Client) -> None:
    send = {"json": rows(3), "headers": {"Idempotency-Key": "one"}}
    assert client.post("/models/m/learn", **send).json()["repeated"] is False
    assert client.post("/models/m/learn", **send).json() == {"rows": 3, "seq": 2, "repeated": True}
    send["json"] = rows(3, seed=1)
    assert client.post("/models/m/learn", **send).status_code == 409
    client.service.wait()
    assert client.service.champion("m").t == 3
    assert client.put("/models/m", json=SAID).json() == {"model": "m", "seq": 1}


def test_labels_that_come_later_are_learned_once(client: Client, tmp_path: Path) -> None:
    some = rows(8)
    answers = client.post("/models/m/predict?remember=true", json=some[:2]).json()["predictions"]
    one = client.post("/models/m/predict?id=mine", json=some[2]).json()
    assert one["id"] == "mine"
    ids = [answers[1]["id"], answers[0]["id"], "mine"]
    labels = [{"id": id, "label": some[n]["label"]} for id, n in zip(ids, (1, 0, 2), strict=True)]
    found = client.post("/models/m/label", json=labels[:2]).json()
    assert found == {"rows": 2, "seq": 2, "repeated": 0, "unknown": []}
    found = client.post("/models/m/label", json=[*labels, {"id": "no", "label": "a"}]).json()
    assert found == {"rows": 1, "seq": 3, "repeated": 2, "unknown": ["no"]}
    assert client.post("/models/m/label", json={"id": "no", "label": "a"}).status_code == 404
    ordered = [some[1], some[0], some[2]]
    assert client.learned() == model_of(ordered, tmp_path)
    client.post("/models/m/predict?remember=true", json=some[:7])  # more than are remembered
    client.post("/models/m/predict?id=last", json=some[7])
    wrong = client.post("/models/m/label", json={"id": "last", "label": "c"})
    assert wrong.status_code == 422
    assert client.post("/models/m/label", json={"id": "mine", "label": "a"}).status_code == 404
    assert client.post("/models/m/label", json={"id": "last", "label": "a"}).json()["rows"] == 1


@pytest.mark.parametrize(
    ("method", "path", "send", "status"),
    [
        ("POST", "/models/m/learn", {"content": b"{"}, 422),
        ("POST", "/models/m/learn", {"content": b""}, 422),
        ("POST", "/models/m/learn", {"content": b"[]"}, 422),
        ("POST", "/models/m/learn", {"json": {"x": 1.0}}, 422),
        ("POST", "/models/m/learn", {"json": {"x": 1.0, "label": "c"}}, 422),
        ("POST", "/models/m/learn", {"json": [[1]]}, 422),
        ("POST", "/models/m/learn", {"content": b"x" * 100_001}, 413),
        ("POST", "/models/m/learn", {"json": [{"label": "a"}] * 1001}, 413),
        ("POST", "/models/none/learn", {"json": {"label": "a"}}, 404),
        ("POST", "/models/m/predict", {"content": b"[1"}, 422),
        ("POST", "/models/m/predict", {"json": 3}, 422),
        ("POST", "/models/m/label", {"json": {"id": 3, "label": "a"}}, 422),
        ("PUT", "/models/m", {"json": {"classes": ["a", "c"]}}, 409),
        ("PUT", "/models/n", {"json": {"classes": ["a", "b"], "no_such": 1}}, 422),
        ("PUT", "/models/n", {"json": {"classes": ["a", "b"], "l1": -1.0}}, 422),
        ("PUT", "/models/n", {"json": {"classes": 3}}, 422),
        ("PUT", "/models/n", {"json": {"classes": ["a", "b"], "store": "hashed", "bits": 30}}, 413),
        ("PUT", "/models/..%2fx", {"json": SAID}, 404),
        ("PUT", "/models/a.b", {"json": SAID}, 422),
        ("PUT", "/models/m/file", {"content": b"nothing"}, 422),
        ("POST", "/models/m/snapshots/99/rollback", {}, 404),
        ("POST", "/models/m/challengers/none/promote", {}, 404),
        ("GET", "/page/..%2fapp.py", {}, 404),
        ("PATCH", "/models/m", {}, 405),
    ],
)
def test_bad_requests_are_refused(
    client: Client, method: str, path: str, send: dict[str, object], status: int
) -> None:
    answer = client.request(method, path, **send)
    assert answer.status_code == status, answer.text
    assert answer.json()["error"]["message"]
    assert client.service.served_models["m"].last == 1


def test_bombs_and_unknown_types_are_refused(client: Client) -> None:
    bomb = gzip.compress(b" " * 10_000_000)
    headers = {"Content-Encoding": "gzip"}
    assert client.post("/models/m/learn", content=bomb, headers=headers).status_code == 413
    headers = {"Content-Encoding": "gzip"}
    assert client.post("/models/m/learn", content=b"abc", headers=headers).status_code == 422
    headers = {"Content-Encoding": "br"}
    assert client.post("/models/m/learn", content=b"abc", headers=headers).status_code == 415
    headers = {"Content-Type": "text/html"}
    assert client.post("/models/m/learn", content=b"abc", headers=headers).status_code == 415


def test_one_bad_row_in_a_group_is_refused_alone(client: Client) -> None:
    good, bad = (json.dumps(one).encode() + b"\n" for one in (rows(1)[0], {"label": "c"}))
    futures = [client.service.learn("m", Body("json", text)) for text in (good, bad, good)]
    assert futures[0].result().rows == futures[2].result().rows == 1
    with pytest.raises(rarefy.InputError):
        futures[1].result()


@pytest.mark.parametrize("path", ["learn", "predict", "label", "explain"])
@pytest.mark.parametrize("n_rows", [1, 900])
def test_refused_rows_are_not_kept_in_memory(client: Client, path: str, n_rows: int) -> None:
    text = b"".join(json.dumps(one).encode() + b"\n" for one in rows(n_rows)) + b"[3]\n"
    headers = {"Content-Type": "application/x-ndjson"}
    with only_new_objects_counted():
        answer = client.post(f"/models/m/{path}?row=901", content=text, headers=headers)
        assert answer.status_code == 422, answer.text
        until = time.monotonic() + 5.0
        while (n := objects_of(rarefy.InputError)) and time.monotonic() < until:
            time.sleep(0.01)  # the thread that writes has them for a moment
        assert n == 0


def test_models_that_go_are_not_kept_in_memory(client: Client) -> None:
    file = client.learned()
    with only_new_objects_counted():
        client.put("/models/new/file", content=file).raise_for_status()
        client.delete("/models/new").raise_for_status()
        client.put("/models/m/challengers/c", json={}).raise_for_status()
        client.delete("/models/m/challengers/c").raise_for_status()
        until = time.monotonic() + 5.0
        while (n := objects_of(Member)) and time.monotonic() < until:
            time.sleep(0.01)  # the thread that learned has it for a moment
        assert n + objects_of(FastPath) == 0


@contextmanager
def only_new_objects_counted() -> Iterator[None]:
    """Meanwhile, no cycles are collected: what is kept by nothing but itself is still there."""
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


def objects_of(kind: type) -> int:
    return sum(isinstance(one, kind) for one in gc.get_objects())


def test_full_disk_refuses_and_recovers(client: Client, tmp_path: Path) -> None:
    db = client.service.log.db
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    (pages,) = db.execute("PRAGMA page_count").fetchone()
    db.execute(f"PRAGMA max_page_count = {pages}")
    assert client.post("/models/m/learn", json=rows(1000)).status_code == 507
    db.execute(f"PRAGMA max_page_count = {1 << 30}")
    assert client.post("/models/m/learn", json=rows(3)).status_code == 200
    assert client.learned() == model_of(rows(3), tmp_path)


def test_champion_is_replaced_and_brought_back(client: Client) -> None:
    client.put("/models/m/challengers/c", json={"rule": "ftrl"}).raise_for_status()
    client.post("/models/m/learn", json=rows(100)).raise_for_status()
    client.service.wait()
    members = client.get("/models/m").json()["members"]
    assert members["c"]["against_champion"]["rows"] == 100
    first = client.learned()
    client.post("/models/m/challengers/c/promote").raise_for_status()
    assert client.learned() != first
    assert client.post("/models/m/challengers/c/promote").status_code == 409
    client.post("/models/m/challengers/first/promote").raise_for_status()
    assert client.learned() == first
    assert client.delete("/models/m/challengers/c").status_code == 204
    assert client.delete("/models/m/challengers/first").status_code == 409


def test_rollback_and_upload(client: Client) -> None:
    client.post("/models/m/learn", json=rows(50))
    old = client.learned()
    seq = client.post("/models/m/snapshots").json()["seq"]
    client.post("/models/m/learn", json=rows(50, seed=1))
    assert client.learned() != old
    assert client.get(f"/models/m/snapshots/{seq}/diff").json()["counts"]
    client.post(f"/models/m/snapshots/{seq}/rollback").raise_for_status()
    assert client.learned() == old
    assert client.put("/models/copy/file", content=old).status_code == 201
    assert client.get("/models/copy/file").content == old
    assert client.delete("/models/copy").status_code == 204
    assert client.get("/models/copy").status_code == 404


def test_what_is_shown(client: Client) -> None:
    client.post("/models/m/learn", json=rows(100))
    client.service.wait()
    client.live_figures.update()
    point = client.live_figures.latest["models"]["m"]
    assert point["examples"] == 100
    assert 0.0 < point["rolling"]["accuracy"] <= 1.0
    assert client.get("/models/m/history").json()["points"] == [point]
    assert client.get("/models").json()["models"][0]["name"] == "m"
    found = client.get("/models/m/features?search=F1&top=3").json()
    assert all("f1" in one["feature"] for one in found["features"])
    why = client.post("/models/m/explain", json=rows(1)[0]).json()
    assert why["score"] == pytest.approx(
        why["intercept"] + sum(one["contribution"] for one in why["features"])
    )
    assert b'rarefy_rows_learned_total{model="m"} 100.0' in client.get("/metrics").content
    assert client.get("/health").json()["status"] == "ok"
    assert client.get("/").headers["x-frame-options"] == "DENY"
    answer = client.post("/models/m/predict", json={})
    assert answer.headers["x-content-type-options"] == "nosniff"
    paths = client.get("/openapi.json").json()["paths"]
    assert set(paths) >= {"/models/{name}/predict", "/models/{name}/learn"}


def test_weights_are_counted_while_a_model_is_busy(client: Client) -> None:
    client.put("/models/m/challengers/c", json={"l1": 3.0}).raise_for_status()
    client.post("/models/m/learn", json=rows(100))
    served = client.service.served("m")

    def shown() -> tuple[int, float, int]:
        client.live_figures.update()
        point = client.live_figures.latest["models"]["m"]
        return point["weights"], point["zeros"], point["challengers"]["c"]["weights"]

    client.service.wait()
    assert shown() == (None, None, None)
    served.ask(lambda: None).result()
    weights, zeros, of_challenger = shown()
    assert weights == served.members["first"].estimator.n_nonzero_
    assert of_challenger == served.members["c"].estimator.n_nonzero_ != weights
    assert 0.0 <= zeros < 1.0
    served.ask(lambda: None).result()
    with is_busy(served):
        assert shown() == (weights, zeros, of_challenger)
        assert shown() == (weights, zeros, of_challenger)
    client.delete("/models/m")
    client.live_figures.update()
    assert client.live_figures.latest["models"] == client.live_figures.history == {}


@contextmanager
def is_busy(served: ServedModel) -> Iterator[None]:
    """The thread that learns does something else."""
    over = threading.Event()
    served.ask(over.wait)
    try:
        yield
    finally:
        over.set()


def test_snapshots_are_listed(client: Client) -> None:
    assert client.get("/models/m/snapshots").json() == {"snapshots": []}
    seqs = []
    for n in range(2):
        client.post("/models/m/learn", json=rows(10, seed=n))
        client.service.wait()
        seqs.append(client.post("/models/m/snapshots").json()["seq"])
    found = client.get("/models/m/snapshots").json()["snapshots"]
    assert [one["seq"] for one in found] == seqs[::-1]
    assert [one["members"]["first"]["examples"] for one in found] == [20, 10]
    assert found == client.get("/models/m").json()["snapshots"]


def test_river_api(client: Client, tmp_path: Path) -> None:
    some = rows(2)
    features = [{name: x for name, x in one.items() if name != "label"} for one in some]
    said = {"model": "m", "features": features[0], "ground_truth": some[0]["label"]}
    assert client.post("/api/learn/", json=said).status_code == 200
    assert client.get("/api/models/").json() == {"models": ["m"]}
    found = client.post("/api/predict/", json={"model": "m", "features": features[1]}).json()
    assert found["model"] == "m"
    said = {"model": "m", "identifier": found["identifier"], "label": some[1]["label"]}
    assert client.post("/api/label/", json=said).status_code == 200
    assert client.learned() == model_of(some, tmp_path)
    assert client.request("GET", "/api/stats/", json=said).json()["learn"]["n_calls"] == 2
    assert "loss" in client.request("GET", "/api/metrics/", json=said).json()
    assert client.post("/api/learn/", json={"model": "m", "features": 3}).status_code == 422
    assert client.post("/api/learn/", json={"model": "none"}).status_code == 404


def test_tokens_open_doors(client: Client, tmp_path: Path) -> None:
    read, learn = client.tokens.add("reader", "read"), client.tokens.add("learner", "learn")
    assert read not in (tmp_path / "tokens.json").read_text()

    def status(token: str | None, path: str) -> int:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        send = {"x": 1.0, "label": "a"}
        return client.post(f"/models/m/{path}", json=send, headers=headers).status_code

    assert status(None, "predict") == status("wrong", "predict") == 401
    assert (status(read, "predict"), status(read, "learn")) == (200, 403)
    assert (status(learn, "predict"), status(learn, "learn")) == (200, 200)
    assert client.get("/health").status_code == 200
    new = client.tokens.add("reader", "read")
    assert (status(read, "predict"), status(new, "predict")) == (401, 200)


def test_other_sites_and_hosts_are_refused(client: Client) -> None:
    headers = {"Origin": "http://elsewhere.example"}
    assert client.get("/models", headers=headers).status_code == 403
    assert client.get("/models", headers={"Origin": "http://127.0.0.1"}).status_code == 200
    assert client.get("/models", headers={"Host": "elsewhere.example"}).status_code == 403


def test_no_listening_beyond_this_machine_without_a_token(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path)
    check_listening("127.0.0.1", tokens, is_open=False)
    check_listening("0.0.0.0", tokens, is_open=True)
    with pytest.raises(rarefy.InputError, match="token"):
        check_listening("0.0.0.0", tokens, is_open=False)
    tokens.add("one", "read")
    check_listening("0.0.0.0", tokens, is_open=False)


def test_folder_is_served_once(client: Client, tmp_path: Path) -> None:
    with pytest.raises(rarefy.InputError, match="another process"):
        Service(tmp_path)
