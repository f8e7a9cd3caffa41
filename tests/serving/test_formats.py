"""Bodies of every format mean what files mean: the same predictions, and the same bytes learned.

Each model is trained by `rarefy train`, served, and given a second file: what it predicts for it is
what `rarefy predict` prints, and what it becomes is what `rarefy train --resume` makes of it.
"""

import functools
import gzip
import io
import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from rarefy.cli import main
from rarefy.files.model_file import load_model, save_model
from rarefy.serving.limits import Limits
from tests.serving.in_process import Client

# most bodies here have a row or two, of columns and features that the model does not know
pytestmark = pytest.mark.filterwarnings(
    "ignore:rows. new columns are ignored:rarefy.RarefyWarning",
    "ignore:rows. the model has no weight:rarefy.RarefyWarning",
)

COLUMNS = ("size", "shop", "words", "weight", "label")
OF_COLUMNS = ("--weight", "weight", "--text", "words")
Row = dict[str, object]


def made(n_rows: int, seed: int) -> list[Row]:
    rng = random.Random(seed)
    found = []
    for _ in range(n_rows):
        size, shop = round(rng.gauss(0.0, 1.0), 3), rng.choice(["north", "south", "östlich"])
        words = " ".join(rng.choices(["win", "prize", "lunch", "noon", "é"], k=3))
        is_one = size + (shop == "north") - words.count("prize") + rng.gauss(0.0, 0.3) > 0.0
        weight = rng.choice([0.5, 1.0, 2.0])
        values = (size, shop, words, weight, "1" if is_one else "-1")
        found.append(dict(zip(COLUMNS, values, strict=True)))
    return found


def json_lines(rows: list[Row]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def json_list(rows: list[Row]) -> bytes:
    return json.dumps(rows, indent=1).encode()


def separated(rows: list[Row], by: str) -> bytes:
    lines = [by.join(str(value) for value in row.values()) for row in rows]
    return "\n".join([by.join(rows[0]), *lines]).encode()  # the last without an end


def vw(rows: list[Row]) -> bytes:
    lines = [
        f"{row['label']} {row['weight']} |n size:{row['size']} {row['shop']} |w {row['words']}\n"
        for row in rows
    ]
    return "".join(lines).encode()


def svmlight(rows: list[Row]) -> bytes:
    shops = ["north", "south", "östlich"]
    return "".join(
        f"{row['label']} 1:{row['size']} {shops.index(row['shop']) + 2}:1 # a comment\n"
        for row in rows
    ).encode()


def arrow(rows: list[Row], kind: str) -> bytes:
    pa = pytest.importorskip("pyarrow")
    table, sink = pa.Table.from_pylist(rows), io.BytesIO()
    new = pa.ipc.new_stream if kind == "stream" else pa.ipc.new_file
    with new(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=7)
    return sink.getvalue()


# Content-Type, ending of files, how rows are written, options of `rarefy train`
FORMATS: dict[str, tuple[str, Callable[[list[Row]], bytes], tuple[str, ...]]] = {
    "application/json": ("jsonl", json_list, OF_COLUMNS),
    "application/x-ndjson": ("jsonl", json_lines, OF_COLUMNS),
    "application/jsonl; charset=utf-8": ("jsonl", json_lines, OF_COLUMNS),
    "text/csv": ("csv", functools.partial(separated, by=","), OF_COLUMNS),
    "text/tab-separated-values": ("tsv", functools.partial(separated, by="\t"), OF_COLUMNS),
    "text/x-vw": ("vw", vw, ()),
    "text/x-svmlight": ("svm", svmlight, ()),
    "application/vnd.apache.arrow.stream": (
        *("arrow", functools.partial(arrow, kind="stream")),
        OF_COLUMNS,
    ),
    "application/vnd.apache.arrow.file": (
        *("arrow", functools.partial(arrow, kind="file")),
        OF_COLUMNS,
    ),
}


def compressed(data: bytes, encoding: str) -> bytes:
    """In two parts, one behind the other, as they may come."""
    half = len(data) // 2
    if encoding == "gzip":
        return gzip.compress(data[:half]) + gzip.compress(data[half:])
    if encoding == "zstd":
        zstd = pytest.importorskip("zstandard").ZstdCompressor()
        return zstd.compress(data[:half]) + zstd.compress(data[half:])
    return data


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    client = Client(tmp_path_factory.mktemp("formats"), Limits())
    yield client
    client.service.close()


def run(*arguments: object) -> str:
    found = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert found.exit_code == 0, found.output
    return found.stdout


def without_run(path: Path, **changed: object) -> bytes:
    """A model file without the files that were read, of which the service knows nothing."""
    save_model(path.with_suffix(".bin"), load_model(path)._replace(run=None, **changed))
    return path.with_suffix(".bin").read_bytes()


@pytest.mark.parametrize("kind", FORMATS)
def test_bodies_mean_what_files_mean(client: Client, tmp_path: Path, kind: str) -> None:
    ending, written, options = FORMATS[kind]
    second = made(40, seed=1)
    old, new = trained(tmp_path, ending, written, options)
    printed = run("predict", old, tmp_path / f"second.{ending}", "--probabilities").split()
    for encoding in ("identity", "gzip", "zstd"):
        client.put("/models/m/file", content=old.read_bytes()).raise_for_status()
        body = compressed(written(second), encoding)
        headers = {"Content-Type": kind, "Content-Encoding": encoding}
        found = client.post("/models/m/predict", content=body, headers=headers).json()
        chances = [one["probabilities"]["1"] for one in found["predictions"]]
        assert [f"{chance:.6g}" for chance in chances] == [f"{float(x):.6g}" for x in printed]
        found = client.post("/models/m/learn", content=body, headers=headers).json()
        assert found["rows"] == len(second)
        assert client.learned() == without_run(new) != without_run(old)


def trained(
    folder: Path, ending: str, written: Callable[[list[Row]], bytes], options: tuple[str, ...]
) -> tuple[Path, Path]:
    """A model of sixty rows, and what it becomes with forty more, by the command line."""
    file_of = json_lines if ending == "jsonl" else written
    paths = []
    for name, n_rows in (("first", 60), ("second", 40)):
        paths.append(folder / f"{name}.{ending}")
        paths[-1].write_bytes(file_of(made(n_rows, seed=len(paths) - 1)))
    old, new = folder / "old.model", folder / "new.model"
    run("train", paths[0], "-o", old, *options)
    run("train", paths[1], "-o", new, "--resume", old)
    return old, new


def test_formats_can_be_mixed(client: Client, tmp_path: Path) -> None:
    old, new = trained(tmp_path, *FORMATS["text/csv"])
    second = made(40, seed=1)
    client.put("/models/m/file", content=old.read_bytes()).raise_for_status()
    kinds = [kind for kind, (_, _, options) in FORMATS.items() if options]
    for n, kind in enumerate(kinds):
        part = second[n * 5 : n * 5 + 5] if n < len(kinds) - 1 else second[n * 5 :]
        send = {"content": FORMATS[kind][1](part), "headers": {"Content-Type": kind}}
        client.post("/models/m/learn", **send).raise_for_status()
    assert client.learned() == without_run(new)


@pytest.mark.parametrize("format", ["json", "vw", "svmlight"])
def test_models_that_are_begun_become_what_is_trained(
    client: Client, tmp_path: Path, format: str
) -> None:
    kind = {"json": "application/x-ndjson"}.get(format, f"text/x-{format}")
    ending, written, options = FORMATS[kind]
    path = tmp_path / f"rows.{ending}"
    path.write_bytes(written(made(60, seed=0)))
    run(
        "train", path, "-o", tmp_path / "m.model", *options, "--classes", "-1,1", "--store", "table"
    )
    said = {"format": format, "classes": ["-1", "1"]}
    said |= {"weight": "weight", "text": ["words"]} if options else {}
    name = f"begun-{format}"
    client.put(f"/models/{name}", json=said).raise_for_status()
    lines = path.read_bytes().splitlines(keepends=True)
    for part in (lines[:1], lines[1:2], lines[2:30], lines[30:]):
        send = {"content": b"".join(part), "headers": {"Content-Type": kind}}
        client.post(f"/models/{name}/learn", **send).raise_for_status()
    client.service.wait()
    (tmp_path / "s.model").write_bytes(client.learned(name))
    # what was asked is told with other words by commands than by estimators
    asked = [load_model(tmp_path / f"{one}.model").parameters for one in "ms"]
    assert asked[0].items() - {("passes", 1)} <= asked[1].items()
    assert without_run(tmp_path / "s.model", parameters={}) == without_run(
        tmp_path / "m.model", parameters={}
    )


@pytest.mark.parametrize("kind", FORMATS)
def test_rows_to_predict_need_no_label(client: Client, tmp_path: Path, kind: str) -> None:
    ending, written, options = FORMATS[kind]
    old, _ = trained(tmp_path, ending, written, options)
    client.put("/models/m/file", content=old.read_bytes()).raise_for_status()
    rows = made(10, seed=2)

    def predictions(body: bytes) -> list[object]:
        headers = {"Content-Type": kind}
        answer = client.post("/models/m/predict", content=body, headers=headers)
        return answer.raise_for_status().json()["predictions"]

    with_labels = written(rows)
    if options:
        without = written([{k: row[k] for k in COLUMNS[:-1]} for row in rows])
    else:
        start, no_label = (rb"^\S+ \S+ ", b"") if ending == "vw" else (rb"^\S+", b"0")
        without = re.sub(start, no_label, with_labels, flags=re.MULTILINE)
    assert b"label" not in without
    assert predictions(without) == predictions(with_labels)


@pytest.mark.parametrize(
    ("kind", "body", "said"),
    [
        ("application/json", b'[{"weight": 1, "label": "1"}, {"weight": 1, "label": 0}]', "rows:2"),
        ("application/x-ndjson", b'{"weight": 1, "label": "1"}\n{"weight": 1}\n', "rows:2"),
        ("text/csv", b"size,shop,words,weight,label\n1,a,b,1,1\n1,a,b,1,x\n", "rows:3"),
        ("text/csv", b"size,shop,words,weight\n1,a,b,1\n", "'label'"),
        ("text/x-vw", b"1 | a\nx | a\n", "rows:2"),
        ("text/x-svmlight", b"1 1:1\n1 1:x\n", "rows:2"),
        ("application/vnd.apache.arrow.stream", b"nothing", "Arrow"),
    ],
)
def test_what_is_wrong_in_a_body_is_told(
    client: Client, tmp_path: Path, kind: str, body: bytes, said: str
) -> None:
    old, _ = trained(tmp_path, *FORMATS[kind])
    client.put("/models/m/file", content=old.read_bytes()).raise_for_status()
    before = client.learned()
    answer = client.post("/models/m/learn", content=body, headers={"Content-Type": kind})
    assert answer.status_code == 422, answer.text
    assert said in answer.json()["error"]["message"]
    assert client.learned() == before


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_bodies_that_are_cut_off_are_refused(client: Client, encoding: str) -> None:
    client.put("/models/cut", json={"classes": ["-1", "1"], "text": ["words"]})
    body = compressed(json_lines(made(40, seed=1)), encoding)
    headers = {"Content-Type": "application/x-ndjson", "Content-Encoding": encoding}
    for sent in (body[:-1], body[: len(body) // 2], body[: len(body) * 3 // 4], body + b"more"):
        answer = client.post("/models/cut/learn", content=sent, headers=headers)
        assert answer.status_code == 422, answer.text
        assert "cut off" in answer.json()["error"]["message"]
    bomb = compressed(b" " * (Limits().body_bytes + 1), encoding)
    assert client.post("/models/cut/learn", content=bomb, headers=headers).status_code == 413
    assert client.post("/models/cut/learn", content=body, headers=headers).json()["rows"] == 40


AS_WRITTEN = ["1.0", "1e22", "1E5", "-0", "2.50", '["u", 1.0]', '"1.0"', "true", '"\\u00e9"']


def test_a_row_means_the_same_alone_and_in_a_list(client: Client) -> None:
    """Also if its numbers are texts or categories, or a name comes twice."""
    said = {"classes": ["a", "b"], "categorical": ["c"], "text": ["t"], "l1": 0.0}
    for name in ("now", "later"):
        client.put(f"/models/{name}", json=said).raise_for_status()
    lines = [f'{{"{name}": {value}}}' for name in "ctn" for value in AS_WRITTEN]
    lines += ['{"n": 1, "n": 2}', '{"c": "x", "c": "y"}', "{ }", '{"n": {"u": 1}, "n": {"u": 2}}']
    for n, line in enumerate(lines):
        labelled = line.removesuffix("}") + (", " if n != len(lines) - 2 else "")
        label = "ab"[n % 2]
        labelled += f'"label": "{label}"}}'
        client.post("/models/now/learn", content=labelled).raise_for_status()
        client.post(f"/models/later/predict?id={n}", content=line).raise_for_status()
        client.post("/models/later/label", json={"id": str(n), "label": label}).raise_for_status()
    assert client.learned("later") == client.learned("now")
    for line in lines:
        alone = client.post("/models/now/predict", content=line).json()
        listed = client.post("/models/now/predict", content=f"[{line}]").json()
        assert [alone] == listed["predictions"]
