"""Requests that are meant to do harm, or come at the worst time: no fault, and nothing lost."""

import io
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import rarefy
from rarefy.serving.service import Service
from tests.serving.in_process import SAID, Client, rows

VW = {"Content-Type": "text/x-vw"}
SVMLIGHT = {"Content-Type": "text/x-svmlight"}
ARROW = {"Content-Type": "application/vnd.apache.arrow.stream"}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    client = Client(tmp_path)
    client.put("/models/m", json=SAID).raise_for_status()
    yield client
    client.service.close()


@pytest.mark.parametrize("path", ["predict", "learn", "label", "explain"])
@pytest.mark.parametrize(
    "body",
    [
        b"[" * 50_000,
        b"[" * 40_000 + b"]" * 40_000,
        b"[{},]",
        b"[,{}]",
        b"[{},,{}]",
        b"[{}]]",
        b"[{}}",
        b'[{"a": "\n"}]',
        b'["',
        b"[{} {}]",
    ],
)
def test_lists_that_are_none_are_refused(client: Client, path: str, body: bytes) -> None:
    answer = client.post(f"/models/m/{path}", content=body)
    assert answer.status_code == 422, answer.text


def test_a_list_is_the_same_rows_however_it_is_written(client: Client, tmp_path: Path) -> None:
    some = [{**one, 'a,"[{\\': "]} ,\n", "é": [1, {"b": ","}]} for one in rows(20)]
    client.put("/models/lines", json=SAID)
    client.put("/models/wide", json=SAID)
    client.post("/models/m/learn", json=some).raise_for_status()
    client.post("/models/wide/learn", content=json.dumps(some, indent=2)).raise_for_status()
    lines = "".join(f"{json.dumps(one)}\n" for one in some)
    kind = {"Content-Type": "application/x-ndjson"}
    client.post("/models/lines/learn", content=lines, headers=kind).raise_for_status()
    assert client.learned("m") == client.learned("lines") == client.learned("wide")


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b"[" + b"{}," * 1000 + b"{}]", {}),
        (b"|\n" * 1002, VW),
        (b"1 1:1\n" * 1002, SVMLIGHT),
        (b"a\n" * 1002, {"Content-Type": "text/csv"}),
    ],
)
def test_too_many_rows_are_not_predicted(client: Client, body: bytes, headers: Any) -> None:
    assert client.post("/models/m/predict", content=body, headers=headers).status_code == 413


@pytest.mark.parametrize("kind", ["nulls", "compressed", "file", "dictionary"])
def test_small_bodies_of_large_tables_are_refused(client: Client, kind: str) -> None:
    pa = pytest.importorskip("pyarrow")
    column = pa.nulls(1_000_000) if kind == "nulls" else pa.array(["a" * 200_000])
    column = column.dictionary_encode() if kind == "dictionary" else column
    table, sink = pa.table({"x": column}), io.BytesIO()
    new = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
    with new(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)
    assert len(sink.getvalue()) < 1000
    answer = client.post("/models/m/predict", content=sink.getvalue(), headers=ARROW)
    assert answer.status_code == 413


def test_compressed_tables_are_read(client: Client) -> None:
    pa = pytest.importorskip("pyarrow")
    table, sink = pa.table({"x": ["a", "b"] * 9, "y": range(18)}), io.BytesIO()
    with pa.ipc.new_file(
        sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")
    ) as writer:
        writer.write_table(table)
    answer = client.post("/models/m/predict", content=sink.getvalue(), headers=ARROW)
    assert len(answer.json()["predictions"]) == 18


@pytest.mark.parametrize(
    ("headers", "body", "learned"),
    [
        (VW, b"1 2.0 'tag| a\r b\n\n| c\n", b"1 2.0 | a\r b\n1 | c\n"),
        (SVMLIGHT, b"# none\n0\t1:2 # 3:4\n\n 0 2:1\r\n", b"1 1:2\n1 2:1\n"),
    ],
)
def test_rows_of_lines_are_remembered_as_they_are_read(
    client: Client, headers: Any, body: bytes, learned: bytes
) -> None:
    for name in ("later", "now"):
        client.put(f"/models/{name}", json={"classes": ["-1", "1"], "format": "vw"})
    answer = client.post("/models/later/predict?remember=true", content=body, headers=headers)
    ids = [one["id"] for one in answer.json()["predictions"]]
    labels = [{"id": id, "label": 1} for id in ids]
    assert client.post("/models/later/label", json=labels).json()["rows"] == 2
    client.post("/models/now/learn", content=learned, headers=headers).raise_for_status()
    assert client.learned("later") == client.learned("now")


@pytest.mark.parametrize("seq", ["9" * 5000, "x", "-1"])
@pytest.mark.parametrize(("method", "what"), [("GET", "diff"), ("POST", "rollback")])
def test_numbers_that_no_snapshot_has(client: Client, method: str, what: str, seq: str) -> None:
    assert client.request(method, f"/models/m/snapshots/{seq}/{what}").status_code == 404


def test_tables_that_would_not_fit_are_not_begun(client: Client) -> None:
    said = {**SAID, "capacity": 1 << 25}
    assert client.put("/models/n", json=said).status_code == 413


def test_acknowledged_rows_of_growing_classes_are_learned(client: Client) -> None:
    """Also where numbers are followed by words, and before the first is learned."""
    client.put("/models/grow", json={"classes": "grow"})
    for label in (1, "x", 2, -0.0, 0):
        answer = client.post("/models/grow/learn", json={"a": 1.0, "label": label})
        assert answer.status_code == 200
    assert client.service.wait()
    champion = client.service.champion("grow")
    assert (champion.t, champion.n_refused) == (5, 0)
    assert champion.estimator.classes_.tolist() == ["1", "x", "2", "0"]


@pytest.mark.parametrize("label", ["a\0", "\0", "\0\0"])
def test_labels_that_end_in_nul_are_refused(client: Client, tmp_path: Path, label: str) -> None:
    """Arrays of NumPy would drop it, and the model predict another label than it has learned."""
    for classes in ([label, "b"], [label, "a"]):
        answer = client.put("/models/n", json={"classes": classes})
        assert answer.status_code == 422
        assert "ends in NUL" in answer.json()["error"]["message"]
    client.put("/models/grow", json={"classes": "grow"}).raise_for_status()
    for known in ("a", "b", "a\0b"):
        row = {"x": 1.0, "label": known}
        client.post("/models/grow/learn", json=row).raise_for_status()
    client.post("/models/grow/predict?id=later", json={"x": 1.0}).raise_for_status()
    for path, content in (
        ("learn", {"x": 1.0, "label": label}),
        ("learn", [{"x": 1.0, "label": "c"}, {"x": 1.0, "label": label}]),
        ("label", {"id": "later", "label": label}),
    ):
        answer = client.post(f"/models/grow/{path}", json=content)
        assert answer.status_code == 422
        assert "ends in NUL" in answer.json()["error"]["message"]
    client.post("/models/grow/label", json={"id": "later", "label": "a"}).raise_for_status()
    assert client.service.wait()
    champion = client.service.champion("grow")
    assert champion.estimator.classes_.tolist() == ["a", "b", "a\0b"]
    assert (champion.t, champion.n_refused) == (4, 0)
    asked, model = {"x": 1.0, "y": 2.0}, client.learned("grow")
    answer = client.post("/models/grow/predict", json=asked).json()
    client.service.close()
    again = Client(tmp_path)
    assert again.post("/models/grow/predict", json=asked).json() == answer
    assert again.learned("grow") == model
    again.service.close()


def test_names_can_be_used_again_at_once(client: Client) -> None:
    """Models that are created and deleted by several at a time are there, or they are not."""

    def create_and_delete(n: int) -> None:
        for _ in range(15):
            with suppress(rarefy.InputError):
                client.service.create("n", SAID)
            with suppress(rarefy.InputError):
                client.service.delete("n")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(create_and_delete, range(4)))
    assert set(client.service.log.models) == set(client.service.served_models) == {"m"}
    client.put("/models/n", json=SAID).raise_for_status()
    client.post("/models/n/learn", json=rows(3)).raise_for_status()
    assert client.learned("n") != client.learned("m")


def test_a_model_that_cannot_go_on_says_so(client: Client, tmp_path: Path) -> None:
    client.put("/models/n/file", content=client.learned()).raise_for_status()
    client.service.close()
    for path in (*(tmp_path / "files").iterdir(), *(tmp_path / "snapshots" / "n").rglob("*.*")):
        path.unlink()
    again = Service(tmp_path)
    served = again.served_models["n"]
    served._thread.join(60.0)
    assert "stopped learning" in (served.problem or "")
    with pytest.raises(rarefy.InputError, match="closed"):
        again.ask("n", lambda served: served)
    again.close()


def test_snapshots_that_cannot_be_read_are_not_listed(client: Client, tmp_path: Path) -> None:
    client.post("/models/m/learn", json=rows(3)).raise_for_status()
    client.learned()
    seq = client.post("/models/m/snapshots").json()["seq"]
    (path,) = (tmp_path / "snapshots" / "m").iterdir()
    (path / "first.model").unlink()
    assert client.post(f"/models/m/snapshots/{seq}/rollback").status_code == 404
    (path / "state.json").write_text("{")
    assert client.get("/models/m/snapshots").json() == {"snapshots": []}
    assert client.get("/models/m").status_code == 200


def test_the_last_token_takes_the_door_with_it(tmp_path: Path) -> None:
    """A service that others can reach stays closed when no token is left."""
    client = Client(tmp_path, host="example.org")
    token = client.tokens.add("one", "read")
    headers = {"Authorization": f"Bearer {token}"}
    assert client.get("/models", headers=headers).status_code == 200
    client.tokens.remove("one")
    for host in ("example.org", "localhost"):
        answer = client.get("/models", headers={**headers, "Host": host})
        assert answer.status_code == 401
    client.service.close()


@pytest.mark.parametrize("text", ["{", "[]", '{"a": {"scope": "all", "sha256": ""}}', '{"a": 3}'])
def test_tokens_that_cannot_be_read_let_nobody_in(client: Client, text: str) -> None:
    client.tokens.add("one", "admin")
    client.tokens.path.write_text(text)
    client.tokens._right_until = 0.0
    for _ in range(2):
        assert client.get("/models").status_code == 503
    with pytest.raises(rarefy.InputError, match=r"tokens\.json cannot be read"):
        client.tokens.add("two", "read")
