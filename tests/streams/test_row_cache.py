"""The cache of rows: the same models as without it, and never a wrong one."""

from __future__ import annotations

import bz2
import gc
import gzip
import json
import lzma
import os
import random
import signal
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import rarefy
from rarefy.cli import main
from rarefy.engine.task import Task
from rarefy.files.model_file import load_model
from rarefy.model.losses import Logistic
from rarefy.model.schedules import Constant
from rarefy.readers import Reader, read
from rarefy.readers.source import blocks
from rarefy.rules.ogd import Ogd
from rarefy.stores import make_store
from rarefy.stores.table_store import TableStore
from rarefy.streams import row_cache
from rarefy.streams.stream_model import StreamModel
from tests.runs import learn_all

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
feather = pytest.importorskip("pyarrow.feather")

CACHE = Path("rows.arrow")
TEXTS = ["Win a prize now", "See you at lunch", "Prize: call NOW!", "Lunch, maybe?", "Grüße 東京"]


# --- data in every format, and models -------------------------------------------------------


def example(n: int) -> dict[str, object]:
    rng = random.Random(n)
    return {
        "label": ["ham", "spam", "eggs"][n % 3] if n % 7 else "ham",
        "size": round(rng.uniform(-2, 2), 3),
        "site": f"s{rng.randrange(6)}",
        "message": " ".join(rng.choices(TEXTS, k=2)),
    }


EXAMPLES = [example(n) for n in range(60)]


def csv_text(rows: list[dict[str, object]] = EXAMPLES) -> str:
    lines = [",".join(f'"{value}"' for value in row.values()) for row in rows]
    return "\n".join(["label,size,site,message", *lines]) + "\n"


def json_text() -> str:
    return "".join(json.dumps(row) + "\n" for row in EXAMPLES)


def svmlight_text(seed: int = 0, n: int = 60) -> str:
    rng = random.Random(seed)
    lines = []
    for row in range(n):
        features = " ".join(f"{rng.randrange(40)}:{rng.uniform(-1, 1):.4f}" for _ in range(5))
        lines.append(f"{1 if row % 3 else -1} {features}\n")
    return "".join(lines)


def vw_text() -> str:
    lines = [
        f"{1 if n % 2 else -1} {1 + n % 3} |site {row['site']}:0.5 |m:2 {row['message']}\n"
        for n, row in enumerate(EXAMPLES)
    ]
    return "".join(lines).replace(": ", " ")


WITH_TEXT = {"text": ["message"]}
SOURCES = {
    "svmlight": ({}, ("array", "hashed", "table")),
    "vw": ({}, ("hashed", "table")),
    "csv": (WITH_TEXT, ("hashed", "table")),
    "jsonl": (WITH_TEXT, ("hashed", "table")),
    "parquet": (WITH_TEXT, ("hashed", "table")),
}
CASES = [(ending, store) for ending, (_, stores) in SOURCES.items() for store in stores]


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """The working directory, with data in it; a file is read in many small blocks."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("rarefy.readers.reader.blocks", partial(blocks, block_bytes=700))
    Path("data.svmlight").write_text(svmlight_text())
    Path("data.vw").write_text(vw_text())
    Path("data.csv").write_text(csv_text())
    Path("data.jsonl").write_text(json_text())
    pq.write_table(pa.Table.from_pylist(EXAMPLES), "data.parquet", row_group_size=20)
    return tmp_path


class Found(dict):
    """All that a model is, to be compared bit for bit."""

    def __init__(self, model) -> None:
        super().__init__(
            weights={name: np.asarray(w).tolist() for name, w in model.weights_.items()},
            intercept=model.intercept_.tolist(),
            loss=model.progressive_loss_,
            t=model.t_,
            classes=model.classes_.tolist(),
            reading=model.stream_.reading,
        )


def train(*paths: str, passes: int = 3, l1: float = 1e-3, **parameters) -> Found:
    return Found(rarefy.train(*paths, passes=passes, l1=l1, **parameters))


def forbid_reading(monkeypatch) -> None:
    def refuse(self, n_buffers=None):
        raise AssertionError("the source was read again")

    monkeypatch.setattr(Reader, "jobs", refuse)


def parts() -> list[Path]:
    return list(Path().glob("*.part"))


# --- the same models ------------------------------------------------------------------------


@pytest.mark.parametrize(("ending", "store"), CASES)
def test_models_are_the_same_bit_for_bit(folder, monkeypatch, ending, store):
    parameters = {"store": store, **SOURCES[ending][0]}
    if store == "hashed":
        parameters["bits"] = 8
    without = train(f"data.{ending}", **parameters)
    assert len(without["weights"]) > 5
    assert train(f"data.{ending}", cache=CACHE, **parameters) == without
    forbid_reading(monkeypatch)
    assert train(f"data.{ending}", cache=CACHE, **parameters) == without
    assert parts() == []


def test_a_file_is_cached_in_several_batches(folder):
    """Otherwise the tests of this file would test less than they seem to."""
    train("data.csv", cache=CACHE, **WITH_TEXT)
    assert pa.ipc.open_file(CACHE).num_record_batches > 3


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed_sources(folder, monkeypatch, compress):
    without = train("data.csv", **WITH_TEXT)
    Path("data.csv.z").write_bytes(compress(Path("data.csv").read_bytes()))
    assert train("data.csv.z", cache=CACHE, **WITH_TEXT) == without
    forbid_reading(monkeypatch)
    assert train("data.csv.z", cache=CACHE, **WITH_TEXT) == without


def test_several_files_and_crosses(folder, monkeypatch):
    Path("more.csv").write_text(csv_text([example(n) for n in range(60, 90)]))
    parameters = {"cross": [("site", "message"), ("site", "size")], "names": True, **WITH_TEXT}
    without = train("data.csv", "more.csv", **parameters)
    assert any("*" in name for name in without["weights"])
    assert train("data.csv", "more.csv", cache=CACHE, **parameters) == without
    forbid_reading(monkeypatch)
    assert train("data.csv", "more.csv", cache=CACHE, **parameters) == without


def test_without_names(folder, monkeypatch):
    without = train("data.csv", names=False, **WITH_TEXT)
    assert all(name.isdigit() for name in without["weights"])
    train("data.csv", names=False, cache=CACHE, **WITH_TEXT)
    forbid_reading(monkeypatch)
    assert train("data.csv", names=False, cache=CACHE, **WITH_TEXT) == without


def test_other_rules_losses_and_limits_use_the_same_rows(folder, monkeypatch):
    others = [{"rule": "ftrl"}, {"loss": "hinge"}, {"capacity": 60}, {"passes": 1}]
    without = [train("data.csv", **WITH_TEXT, **other) for other in others]
    train("data.csv", cache=CACHE, **WITH_TEXT)
    forbid_reading(monkeypatch)
    assert [train("data.csv", cache=CACHE, **WITH_TEXT, **other) for other in others] == without


@pytest.mark.parametrize("nothing", ["", "\n\n", "label,size,site,message\nbad\n"])
@pytest.mark.parametrize("first", [True, False], ids=["first", "last"])
def test_a_file_without_rows(folder, monkeypatch, nothing, first):
    """Its batch has no rows, and no names."""
    Path("nothing.csv").write_text(nothing)
    paths = ("nothing.csv", "data.csv") if first else ("data.csv", "nothing.csv")
    kinds = {"numeric": ["size"], "categorical": ["site"], "bad_lines": "skip", **WITH_TEXT}
    without = train(*paths, **kinds)
    assert train(*paths, cache=CACHE, **kinds) == without
    forbid_reading(monkeypatch)
    assert train(*paths, cache=CACHE, **kinds) == without


def test_skipped_bad_lines_are_reported_from_the_cache_too(folder, monkeypatch):
    lines = csv_text().splitlines(keepends=True)
    for at in (3, 10, 25, 31, 44, 57, 60):
        lines.insert(at, f"bad line {at}\n")
    Path("bad.csv").write_text("".join(lines))

    def stderr(*options: str) -> str:
        command = "train bad.csv --text message --bad-lines skip --quiet -o some.model"
        result = CliRunner().invoke(main, [*command.split(), *options])
        assert result.exit_code == 0, result.output
        return result.stderr

    without = stderr("--passes", "2")
    assert without.startswith("7 bad lines were skipped, first:\n  bad.csv:4:")
    weights = load_model("some.model").kept.weights.tolist()
    assert stderr("--passes", "2", "--cache", "rows.arrow") == without
    assert load_model("some.model").kept.weights.tolist() == weights
    forbid_reading(monkeypatch)
    assert stderr("--passes", "2", "--cache", "rows.arrow") == without
    assert load_model("some.model").kept.weights.tolist() == weights


def test_standard_input_in_several_passes(folder):
    def run(*arguments: str, code: int = 0, stdin: bytes | None = None):
        command = ["train", *arguments, "-o", "some.model", "--store", "array"]
        result = CliRunner().invoke(main, command, input=stdin)
        assert result.exit_code == code, result.output
        return result

    text = Path("data.svmlight").read_bytes()
    run("data.svmlight", "--passes", "3")
    expected = load_model("some.model").kept
    run("-", "--passes", "3", "--cache", "rows.arrow", stdin=text)
    found = load_model("some.model").kept
    assert found.weights.tolist() == expected.weights.tolist()
    assert found.keys.tolist() == expected.keys.tolist()
    assert "only once" in run("-", "--passes", "3", stdin=text, code=1).stderr
    other = Path("data.svmlight")
    other.write_text(svmlight_text(seed=5))
    run("data.svmlight", "--passes", "3")
    expected = load_model("some.model").kept
    run("-", "--passes", "3", "--cache", "rows.arrow", stdin=other.read_bytes())
    assert load_model("some.model").kept.weights.tolist() == expected.weights.tolist()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("cache", [None, CACHE])
def test_a_named_pipe_in_several_passes(folder, cache):
    os.mkfifo("pipe.svm")
    writing = threading.Thread(target=Path("pipe.svm").write_text, args=(svmlight_text(),))
    writing.start()
    try:
        if cache is None:
            with pytest.raises(rarefy.InputError, match="only once"):
                train("pipe.svm", store="array")
        else:
            expected = train("data.svmlight", store="array")
            assert train("pipe.svm", store="array", cache=cache) == expected
    finally:
        writing.join()


def test_the_source_is_not_needed_as_long_as_it_seems_the_same(folder):
    expected = train("data.csv", cache=CACHE, **WITH_TEXT)
    source = Path("data.csv")
    status = source.stat()
    source.write_bytes(b"\xff" * status.st_size)
    os.utime(source, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert train("data.csv", cache=CACHE, **WITH_TEXT) == expected


# --- what is made from something else is made anew ------------------------------------------


def touch(path: str) -> None:
    os.utime(path, ns=(0, Path(path).stat().st_mtime_ns + 1000))


def append_a_row() -> None:
    path = Path("data.csv")
    status = path.stat()
    with path.open("a") as file:
        file.write('"spam","1","s1","prize"\n')
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


FIRST = {"store": "table", "cross": [("site", "size")], **WITH_TEXT}
CHANGES = {
    "the time of the file": ({}, lambda: touch("data.csv")),
    "the size of the file": ({}, append_a_row),
    "text": ({"text": []}, None),
    "categorical": ({"categorical": ["size"]}, None),
    "numeric": ({"numeric": ["size"]}, None),
    "ignore": ({"ignore": ["size"]}, None),
    "label": ({"label": "site"}, None),
    "crosses": ({"cross": [("site", "message")]}, None),
    "classes": ({"classes": ["ham", "spam", "eggs", "more"]}, None),
    "store": ({"store": "hashed"}, None),
    "names": ({"names": False}, None),
    "bad lines": ({"bad_lines": "skip"}, None),
    "delimiter": ({"delimiter": ","}, None),
    "format": ({"format": "csv"}, None),
}


@pytest.mark.parametrize(("change", "act"), CHANGES.values(), ids=list(CHANGES))
def test_a_change_makes_it_anew(folder, change, act):
    train("data.csv", cache=CACHE, **FIRST)
    before = CACHE.read_bytes()
    if act is not None:
        act()
    parameters = {**FIRST, **change}
    if "label" in change or "ignore" in change:
        parameters["cross"] = []
    expected = train("data.csv", **parameters)
    assert train("data.csv", cache=CACHE, **parameters) == expected
    assert CACHE.read_bytes() != before
    before = CACHE.read_bytes()
    assert train("data.csv", cache=CACHE, **parameters) == expected
    assert CACHE.read_bytes() == before


def test_other_bits_make_it_anew(folder):
    for bits in (4, 9, 4):
        expected = train("data.vw", store="hashed", bits=bits)
        assert train("data.vw", store="hashed", bits=bits, cache=CACHE) == expected


def test_files_in_another_order_make_it_anew(folder):
    Path("more.csv").write_text(csv_text([example(n) for n in range(60, 90)]))
    for paths in (("data.csv", "more.csv"), ("more.csv", "data.csv"), ("more.csv",)):
        expected = train(*paths, **WITH_TEXT)
        assert train(*paths, cache=CACHE, **WITH_TEXT) == expected


# --- interruptions --------------------------------------------------------------------------


def test_an_error_in_the_middle_leaves_no_cache(folder):
    good = Path("data.csv").read_text()
    Path("data.csv").write_text(good + "bad\n")
    with pytest.raises(rarefy.InputError, match=r"data\.csv:62:"):
        train("data.csv", cache=CACHE, **WITH_TEXT)
    assert not CACHE.exists()
    assert parts() == []
    Path("data.csv").write_text(good)
    assert train("data.csv", cache=CACHE, **WITH_TEXT) == train("data.csv", **WITH_TEXT)


def test_an_error_leaves_the_cache_of_before(folder):
    train("data.csv", cache=CACHE, **WITH_TEXT)
    before = CACHE.read_bytes()
    Path("data.csv").write_text(csv_text() + "bad\n")
    with pytest.raises(rarefy.InputError):
        train("data.csv", cache=CACHE, **WITH_TEXT)
    assert CACHE.read_bytes() == before
    assert parts() == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interruption_of_the_learner_leaves_no_half_of_a_cache(folder, monkeypatch, error):
    expected = train("data.csv", **WITH_TEXT)
    learn, calls = TableStore.learn, []

    def interrupted(self, *arguments):
        calls.append(None)
        if len(calls) == 3:
            raise error
        learn(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(TableStore, "learn", interrupted)
        with pytest.raises(error):
            train("data.csv", cache=CACHE, **WITH_TEXT)
    assert parts() == []
    assert train("data.csv", cache=CACHE, **WITH_TEXT) == expected


def in_a_fork(action) -> int:
    """Run an action in a process of its own; the status with which it ended."""
    process = os.fork()
    if process == 0:
        try:
            signal.alarm(60)
            action()
        except BaseException:
            os._exit(3)
        os._exit(0)
    return os.waitpid(process, 0)[1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("moment", [1, 2, 5, "before it is moved", "after it was moved"])
def test_a_kill_leaves_no_cache_or_a_complete_one(folder, moment):
    expected = train("data.csv", **WITH_TEXT)

    def die(*_) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def action() -> None:
        if isinstance(moment, int):
            write, calls = row_cache._write, []

            def killed(*arguments, **options):
                write(*arguments, **options)
                calls.append(None)
                if len(calls) == moment:
                    die()

            row_cache._write = killed
        else:
            replace = os.replace
            when = {"before it is moved": die, "after it was moved": lambda *a: die(replace(*a))}
            os.replace = when[moment]
        train("data.csv", cache=CACHE, **WITH_TEXT)

    assert in_a_fork(action) == signal.SIGKILL
    assert CACHE.exists() == (moment == "after it was moved")
    assert train("data.csv", cache=CACHE, **WITH_TEXT) == expected
    assert train("data.csv", cache=CACHE, **WITH_TEXT) == expected


@pytest.mark.slow
def test_kills_of_the_command_at_random_moments(folder):
    Path("many.svmlight").write_text(svmlight_text(n=200_000))
    command = [sys.executable, "-m", "rarefy", "train", "many.svmlight", "--passes", "2"]
    subprocess.run([*command, "-o", "right.model"], check=True)
    right = load_model("right.model").kept
    random_moment = random.Random(0)
    command += ["--cache", str(CACHE), "-o", "some.model"]
    for _ in range(10):
        process = subprocess.Popen(command)
        try:
            process.wait(random_moment.uniform(0.8, 3.0))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    subprocess.run(command, check=True)
    found = load_model("some.model").kept
    assert found.weights.tolist() == right.weights.tolist()
    assert found.names == right.names


def test_threads_that_make_the_same_cache_do_not_meet(folder):
    expected = train("data.csv", **WITH_TEXT)
    found: list[Found] = []

    def work() -> None:
        for bad_lines in ("stop", "skip", "stop"):  # another cache each time
            found.append(train("data.csv", cache=CACHE, bad_lines=bad_lines, **WITH_TEXT))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 12
    assert parts() == []


# --- damage, and files that are no caches ---------------------------------------------------


def refusal(**parameters) -> str:
    """What is said of the file at CACHE, which stays as it is."""
    before = CACHE.read_bytes()
    with pytest.raises(rarefy.InputError, match=r"rows\.arrow") as caught:
        train("data.csv", cache=CACHE, **{**WITH_TEXT, **parameters})
    assert CACHE.read_bytes() == before
    assert parts() == []
    return str(caught.value)


def test_what_is_no_cache_is_not_overwritten(folder):
    table = pa.table({"label": [1, 2]})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema.with_metadata({"made_from": "[1"})) as writer:
        writer.write(table)
    others = [
        b"",
        b"ARROW1",
        Path("data.svmlight").read_bytes(),
        Path("data.parquet").read_bytes(),
        sink.getvalue().to_pybytes(),
    ]
    feather.write_feather(table, "data.arrow", compression="uncompressed")
    others.append(Path("data.arrow").read_bytes())
    for other in others:
        CACHE.write_bytes(other)
        assert "not a row cache" in refusal()


def test_a_source_given_as_the_cache_stays(folder):
    before = Path("data.csv").read_bytes()
    with pytest.raises(rarefy.InputError, match="is also read"):
        train("data.csv", cache="data.csv", **WITH_TEXT)
    assert Path("data.csv").read_bytes() == before


def test_a_truncated_cache_is_refused(folder):
    train("data.csv", cache=CACHE, **WITH_TEXT)
    whole = CACHE.read_bytes()
    for size in [1, 7, 8, *range(100, len(whole), len(whole) // 20), len(whole) - 1]:
        CACHE.write_bytes(whole[:size])
        refusal()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("store", ["hashed", "table"])
def test_damage_is_noticed_wherever_it_is(folder, store):
    """Bytes are changed at random. In a process of its own, lest the tests go down with it."""
    parameters = {"store": store, **WITH_TEXT, **({"bits": 8} if store == "hashed" else {})}
    expected = train("data.csv", cache=CACHE, **parameters)
    whole = CACHE.read_bytes()

    def action() -> None:
        rng, n_refused = random.Random(1), 0
        for _ in range(150):
            damaged = bytearray(whole)
            damaged[rng.randrange(len(whole))] ^= rng.choice([1, 2, 128, rng.randrange(1, 256)])
            CACHE.write_bytes(damaged)
            try:
                found = train("data.csv", cache=CACHE, passes=3, **parameters)
                assert found == expected
            except rarefy.InputError:
                n_refused += 1
        assert n_refused > 100

    assert in_a_fork(action) == 0


def test_checksums_are_compared_once_in_a_run(folder, monkeypatch):
    expected = train("data.csv", cache=CACHE, **WITH_TEXT)
    checked, checksum = [], row_cache._checksum

    def counted(table, about):
        checked.append(table.num_rows)
        return checksum(table, about)

    monkeypatch.setattr(row_cache, "_checksum", counted)
    assert train("data.csv", cache=CACHE, **WITH_TEXT) == expected
    rows = sum(checked)
    assert rows % len(EXAMPLES) == 0  # in the first of its passes
    checked.clear()
    train("data.csv", cache=CACHE, **{**WITH_TEXT, "passes": 7})
    assert sum(checked) == rows


def test_damage_between_two_passes_is_noticed(folder):
    cache = row_cache.RowCache(CACHE, read("data.svmlight"), TableStore(names=False))
    for _ in range(3):  # it is written, checked, and believed
        assert len(list(cache.batches(lambda prepared: prepared))) > 3
    damaged = bytearray(CACHE.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    CACHE.write_bytes(damaged)
    with pytest.raises(rarefy.InputError, match="damaged"):
        list(cache.batches(lambda prepared: prepared))


def test_batches_that_are_missing_are_noticed(folder):
    train("data.csv", cache=CACHE, **WITH_TEXT)
    file = pa.ipc.open_file(CACHE.read_bytes())
    with pa.ipc.new_file(str(CACHE), file.schema) as writer:
        for n in range(file.num_record_batches - 1):
            batch, metadata = file.get_batch_with_custom_metadata(n)
            writer.write_batch(batch, custom_metadata=metadata)
    assert "damaged" in refusal()


def with_first(number):
    def change(values):
        values = values.copy()
        values[:1] = number
        return values

    return change


def with_second(number):
    return lambda values: np.insert(np.delete(values, 1), 1, number)


def with_last(number):
    return lambda values: np.append(values[:-1], number).astype(values.dtype)


def as_type(dtype):
    return lambda values: values.astype(dtype)


def forge(changes, said=None, at=1) -> None:
    """Change the values of some columns of a batch, and give it a right checksum.

    A change of `name offsets` is one of the offsets of the column `name`. `said` is put into what
    the batch says of itself.
    """
    file = pa.ipc.open_file(CACHE.read_bytes())
    made = []
    for n in range(file.num_record_batches):
        batch, metadata = file.get_batch_with_custom_metadata(n)
        about = json.loads(metadata[b"rarefy"])
        chosen = n == at % file.num_record_batches
        arrays = {}
        for name in batch.schema.names:
            change = changes.get(name, np.array) if chosen else np.array
            column = batch.column(name)
            if not hasattr(column, "offsets"):
                arrays[name] = pa.array(change(column.to_numpy()))
                continue
            move = changes.get(f"{name} offsets", np.array) if chosen else np.array
            offsets, values = move(column.offsets.to_numpy()), change(column.values.to_numpy())
            if f"{name} offsets" not in changes:
                offsets = np.minimum(offsets, len(values))
            lists = pa.ListArray if offsets.dtype == np.int32 else pa.LargeListArray
            arrays[name] = lists.from_arrays(pa.array(offsets), pa.array(values))
        batch = pa.record_batch(arrays).replace_schema_metadata(file.schema.metadata)
        text = json.dumps({**about, **(said or {})} if chosen else about).encode()
        made.append((batch, {"rarefy": text, "checksum": row_cache._checksum(batch, text)}))
    with pa.ipc.new_file(str(CACHE), made[at][0].schema) as writer:
        for batch, metadata in made:
            if batch.schema == made[at][0].schema:
                writer.write_batch(batch, custom_metadata=metadata)


def test_a_forgery_without_changes_is_as_good(folder):
    expected = train("data.csv", cache=CACHE, **WITH_TEXT)
    forge({})
    assert train("data.csv", cache=CACHE, **WITH_TEXT) == expected


@pytest.mark.parametrize("place", [-1, 16, 1 << 30])
def test_places_outside_of_the_store_do_not_reach_the_engine(folder, place):
    """Even with the right checksum, as of a file that somebody made."""
    train("data.csv", cache=CACHE, store="hashed", bits=4, **WITH_TEXT)
    forge({"places": with_first(place)})
    assert "damaged" in refusal(store="hashed", bits=4)


@pytest.mark.parametrize(
    "changes",
    [
        *({"name_ends": with_first(end)} for end in (-1, 1 << 40, -(1 << 62))),
        *({"name_ends": with_last(end)} for end in (-1, 0, 1 << 40)),
        *(
            {"name_ends": change}
            for change in (as_type("i4"), as_type("f8"), lambda ends: ends[:0])
        ),
        *(
            {"name_keys": change}
            for change in (as_type("i4"), as_type("f8"), lambda keys: keys[:-1])
        ),
        *({"name_text": with_first(byte)} for byte in (0x80, 0xFF)),
        *({"name_text": change} for change in (as_type("i8"), lambda text: text[:-1])),
        *({"values": with_first(value)} for value in (np.nan, np.inf, -1e300)),
        *({"values": change} for change in (as_type("f4"), as_type("i8"))),
        *({"places": change} for change in (as_type("i4"), as_type("f8"), as_type("u1"))),
        *({"importance": with_first(value)} for value in (np.nan, -1.0, np.inf)),
        {"importance": as_type("f4")},
        {"label": as_type("i8")},
        {"line": as_type("f8")},
        {"places offsets": as_type("i4")},
        *({"places offsets": with_second(end)} for end in (-1, 1 << 40, -(1 << 62))),
    ],
)
def test_forged_rows_are_refused(folder, changes):
    train("data.csv", cache=CACHE, **WITH_TEXT)
    forge(changes)
    refusal()


@pytest.mark.parametrize("label", [-1.0, 0.5, 1e9, np.inf, np.nan])
def test_labels_that_no_word_has_are_refused(folder, label):
    Path("data.csv").write_text(csv_text().replace('"1"', '"yes"').replace('"0"', '"no"'))
    train("data.csv", cache=CACHE, **WITH_TEXT)
    forge({"label": with_first(label)})
    refusal()


@pytest.mark.parametrize(
    ("at", "said"),
    [
        *((1, {"path": path}) for path in (None, 3, ["data.csv"])),
        *((1, {"label_names": names}) for names in (3, [3], [None], {"a": 1})),
        *((1, {"block_labels": labels}) for labels in (["a"], {"a": 1}, "no")),
        *((-1, {"n_bad_lines": count}) for count in (-1, 1.5, "3", None, 10**30, 7)),
        *((-1, {"bad_lines": lines}) for lines in (3, [3], None)),
        *((-1, {"columns": columns}) for columns in (3, [], [3], ["label"] * 30)),
        *((-1, {"findings": findings}) for findings in (3, {"n_shared": "x"}, [1], {"n": 1})),
    ],
)
def test_forged_words_are_refused(folder, at, said):
    expected = train("data.csv", cache=CACHE, **WITH_TEXT)
    forge({}, said, at)
    if said == {"columns": []}:  # what is not said is as usual
        assert train("data.csv", cache=CACHE, **WITH_TEXT)["weights"] == expected["weights"]
        return
    refusal()


def test_names_of_rows_that_are_refused_are_not_kept(folder):
    values = pa.array([b"x", b"y"] * 19 + [b"\xffbad", b"z"], pa.binary())
    pq.write_table(pa.table({"label": [0, 1] * 20, "a": values}), "bad.parquet")
    expected = train("bad.parquet", bad_lines="skip")
    for _ in range(2):
        assert train("bad.parquet", bad_lines="skip", cache=CACHE) == expected


@pytest.mark.parametrize("cache", ["nowhere/rows.arrow", "data.csv/rows.arrow", "."])
def test_a_place_where_no_cache_can_be(folder, cache):
    with pytest.raises(rarefy.InputError):
        train("data.csv", cache=cache, **WITH_TEXT)
    result = CliRunner().invoke(main, ["train", "data.csv", "-o", "some.model", "--cache", cache])
    assert isinstance(result.exception, SystemExit)
    assert not Path("some.model").exists()


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_to(folder):
    Path("closed").mkdir(mode=0o500)
    with pytest.raises(rarefy.InputError, match="cache cannot be written"):
        train("data.csv", cache="closed/rows.arrow", **WITH_TEXT)


@pytest.mark.parametrize("exists", [False, True])
def test_without_pyarrow(folder, monkeypatch, exists):
    if exists:
        train("data.csv", cache=CACHE, **WITH_TEXT)
    for name in ("pyarrow", "pyarrow.ipc"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(rarefy.InputError, match=r"pip install rarefy\[arrow\]"):
        train("data.csv", cache=CACHE, **WITH_TEXT)
    assert train("data.csv", **WITH_TEXT)["t"] == 180


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_memory_does_not_grow_with_the_cache(tmp_path):
    script = """
import sys, rarefy
rarefy.train(sys.argv[1], cache=sys.argv[2], passes=2, store="array")
print(open("/proc/self/status").read().split("VmHWM:")[1].split()[0])
"""
    peaks = []
    part = svmlight_text(n=20_000)
    for n_parts in (30, 90):
        source = tmp_path / f"{n_parts}.svm"
        source.write_text(part * n_parts)
        command = [sys.executable, "-c", script, str(source), str(tmp_path / f"{n_parts}.arrow")]
        for _ in range(2):
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            peaks.append(int(done.stdout) // 1024)
    assert (tmp_path / "90.arrow").stat().st_size > 150 << 20
    assert max(peaks[2:]) - max(peaks[:2]) < 40, peaks


def test_shared_weights_are_reported_from_the_cache_too(tmp_path):
    text = "".join(f"{n % 2} {n % 40}:1\n" for n in range(200))
    path = tmp_path / "rows.svm"
    path.write_text(text)
    reports = []
    for _ in range(2):
        store = make_store("hashed", bits=3)
        model = StreamModel(Task(Ogd(), Constant(0.1), Logistic()), store)
        learn_all(model, read(path), cache=tmp_path / "rows.arrow")
        reports.append(store.report())
    assert reports[0].startswith("8 of 8 weights are shared")
    assert reports[1] == reports[0]


def test_an_interruption_that_is_kept_does_not_disturb_the_next_run(folder, monkeypatch):
    """A traceback keeps all that it went through; what was being written goes all the same."""
    expected = train("data.csv", **WITH_TEXT)
    learn = StreamModel.begin

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(StreamModel, "begin", interrupted)
    with pytest.raises(KeyboardInterrupt) as kept:
        train("data.csv", cache=CACHE, **WITH_TEXT)
    assert parts() == []
    monkeypatch.setattr(StreamModel, "begin", learn)
    assert train("data.csv", cache=CACHE, **WITH_TEXT) == expected
    del kept
    gc.collect()
    assert train("data.csv", cache=CACHE, **WITH_TEXT) == expected
