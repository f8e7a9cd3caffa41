"""Model files: what is written comes back, and nothing else is taken for a model."""

from __future__ import annotations

import copy
import functools
import itertools
import json
import math
import os
import resource
import threading
import zlib
from contextlib import suppress
from itertools import pairwise

import numpy as np
import pytest
from click.testing import CliRunner

from rarefy import InputError
from rarefy.cli import main
from rarefy.engine.task import Task
from rarefy.errors import RarefyError
from rarefy.files.model import Model, model_of
from rarefy.files.model_file import MAGIC, load_model, save_model
from rarefy.model.losses import Hinge, Logistic, Squared
from rarefy.model.schedules import InvSqrt
from rarefy.readers import read
from rarefy.readers.features.columns import Columns
from rarefy.stores import Kept, make_store
from rarefy.streams.stream_model import Reading, StreamModel
from tests.runs import learn_all
from tests.selecting import slow_but
from tests.stores.test_stores import task_of

WORDS = ("", "a", "site=é", "東 京", "a,b\nc", "x" * 300, "\x00")
TABLE = {"kind": "table", "capacity": None, "names": True}
HASHED = {"kind": "hashed", "bits": 12}


def kept(n_weights: int = 3, n_outputs: int = 1, *, names=True, counts=True, r=False) -> Kept:
    rng = np.random.default_rng(n_weights)
    return Kept(
        rng.choice(4096, n_weights, replace=False).astype(np.uint64),
        np.arange(n_weights) % n_outputs,
        rng.normal(size=n_weights),
        [WORDS[n % len(WORDS)] for n in range(n_weights)] if names else None,
        np.arange(1, n_weights + 1) if counts else None,
        rng.random(n_weights) if r else None,
    )


def model(n_weights: int = 3, **changes) -> Model:
    plain = Model(
        task=Task(None, InvSqrt(0.5), Logistic()),
        classes=("ham", "späm"),
        store=TABLE,
        reading=Reading(
            Columns("kind", text=("message",), categorical=("site", "ad"), delimiter=";"),
            (("site", "ad"), ("ad", "ad")),
        ),
        intercepts=(-0.125,),
        parameters={"rule": "ogd", "l1": 0.25, "threshold": math.inf, "q": None},
        examples=7,
        progress=(3.5, 7.0, 6.0),
        kept=kept(n_weights),
    )
    return plain._replace(**changes)


MODELS = {
    "table": model(),
    "nothing kept": model(0),
    "one weight": model(1),
    "many weights": model(1000),
    "feature-aware": model(kept=kept(r=True)),
    "capped": model(store={**TABLE, "capacity": 10}),
    "table without names": model(store={**TABLE, "names": False}, kept=kept(names=False)),
    "hashed": model(store=HASHED, kept=kept(names=False, counts=False), classes=("-1", "1")),
    "array": model(store={"kind": "array"}, kept=kept(names=False, counts=False)),
    "four classes": model(
        classes=("0", "1", "2", "3"), intercepts=(0.5, 0.0, -1.0, 2.0), kept=kept(10, 4)
    ),
    "one-vs-rest": model(
        classes=("a", "b", "c"), intercepts=(0.0,) * 3, kept=kept(5, 3),
        task=Task(None, InvSqrt(0.5), Hinge(), "ovr", False),
    ),
    "regression": model(task=Task(None, InvSqrt(2.0), Squared()), classes=()),
    "from matrices": model(
        store={"kind": "array"}, kept=kept(names=False, counts=False),
        matrix={"labels": "str", "columns": ["a", "é"], "n_features": 5000},
    ),
}  # fmt: skip


def same_kept(first: Kept, second: Kept) -> bool:
    for ours, theirs in zip(first, second, strict=True):
        if (ours is None) != (theirs is None):
            return False
        if isinstance(ours, np.ndarray):
            if ours.tobytes() != theirs.tobytes():
                return False
        elif ours is not None and list(ours) != list(theirs):
            return False
    return True


def parts_of(data: bytes) -> tuple[dict, bytes]:
    """The header and the arrays of a file, read without the library."""
    begin = len(MAGIC) + 8
    end = begin + int.from_bytes(data[len(MAGIC) : begin], "little")
    return json.loads(data[begin:end]), data[end:-4]


def with_header(header: object, payload: bytes = b"") -> bytes:
    """A file with a right checksum, whatever the header says."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    data = MAGIC + len(text).to_bytes(8, "little") + text + payload
    return data + zlib.crc32(data).to_bytes(4, "little")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "some.model"


class TestRoundTrip:
    @pytest.mark.parametrize("name", MODELS)
    def test_everything_comes_back(self, path, name):
        before = MODELS[name]
        save_model(path, before)
        after = load_model(path)
        assert same_kept(after.kept, before.kept)
        assert after._replace(kept=None) == before._replace(kept=None)

    def test_odd_numbers_come_back(self, path):
        weights = np.array([5e-324, -1.7976931348623157e308, 0.1])
        keys = np.array([0, 2**63, 2**64 - 1], np.uint64)
        counts = np.array([1, 2**40, 2**63 - 1])
        before = model(kept=kept()._replace(weights=weights, keys=keys, counts=counts))
        before = before._replace(intercepts=(0.1 + 0.2,), progress=(1e-300, 1e300, 0.1))
        save_model(path, before)
        after = load_model(path)
        assert same_kept(after.kept, before.kept)
        assert (after.intercepts, after.progress) == ((0.1 + 0.2,), (1e-300, 1e300, 0.1))

    def test_what_follows_from_its_parts(self):
        some = MODELS["one-vs-rest"]
        assert (some.loss, some.multiclass, some.progressive_loss) == ("hinge", "ovr", 0.5)
        assert model(progress=(0.0, 0.0, 0.0)).progressive_loss == 0.0

    @pytest.mark.parametrize("name", MODELS)
    def test_as_described(self, path, name):
        """The format, read without the library."""
        some = MODELS[name]
        save_model(path, some)
        data = path.read_bytes()
        magic, rest = data.split(b"\n", 1)
        n = int.from_bytes(rest[:8], "little")
        header, payload = json.loads(rest[8 : 8 + n]), rest[8 + n :]
        assert magic == b"rarefy model 1"
        assert header["task"]["loss"]["is"].lower() == some.loss
        assert header["classes"] == list(some.classes)
        assert header["reading"]["columns"]["text"] == ["message"]
        assert header["reading"]["cross"] == [["site", "ad"], ["ad", "ad"]]
        arrays, at = {}, 0
        for part, (dtype, length) in header["arrays"].items():
            n_bytes = length * np.dtype(dtype).itemsize
            arrays[part] = np.frombuffer(payload[at : at + n_bytes], dtype)
            at += n_bytes
        assert payload[at:] == zlib.crc32(data[:-4]).to_bytes(4, "little")
        assert arrays["keys"].tolist() == some.kept.keys.tolist()
        assert arrays["outputs"].tolist() == some.kept.outputs.tolist()
        assert arrays["weights"].tolist() == some.kept.weights.tolist()
        assert ("counts" in arrays) == (some.kept.counts is not None)
        assert ("r" in arrays) == (some.kept.r is not None)
        assert ("name_lengths" in arrays) == (some.kept.names is not None)
        if some.kept.names is not None:
            assert arrays["counts"].tolist() == some.kept.counts.tolist()
            text, ends = arrays["name_text"].tobytes(), [0, *np.cumsum(arrays["name_lengths"])]
            assert [text[a:b].decode() for a, b in pairwise(ends)] == some.kept.names

    def test_an_older_file_is_replaced(self, path):
        save_model(path, model(3))
        save_model(path, model(5))
        assert len(load_model(path).kept.weights) == 5
        assert os.listdir(path.parent) == [path.name]

    def test_the_file_may_be_read_as_other_new_files_may(self, path):
        save_model(path, model())
        plain = path.with_name("plain")
        plain.write_bytes(b"")
        assert path.stat().st_mode == plain.stat().st_mode


# --- a model that has learned predicts the same from its file --------------------------------

ROWS = [
    '{"label": "b", "n": 1.5, "site": "x", "ad": "u", "text": "Win a prize now"}',
    '{"label": "a", "n": -2, "site": "y", "ad": "v", "text": "See you at lunch"}',
    '{"label": "c", "n": 0.5, "site": "x", "ad": "v", "text": "Win lunch"}',
    '{"label": "a", "site": "y", "ad": "u"}',
]


@pytest.mark.parametrize("n_classes", slow_but([0, 2, 3], 3))
@pytest.mark.parametrize("store", [{"kind": "table"}, {"kind": "table", "capacity": 30},
                                   {"kind": "hashed", "bits": 5}], ids=str)  # fmt: skip
def test_a_model_predicts_the_same_from_its_file(path, n_classes, store):
    rows = ROWS if n_classes == 3 else [row for row in ROWS if '"c"' not in row]
    label = "label" if n_classes else "n"
    if not n_classes:
        rows = rows[:2]
    data = path.with_name("data.jsonl")
    data.write_text("\n".join(rows * 20))

    def reader():
        return read(data, label=label, text=["text"], cross=[("site", "ad")])

    chosen = {"rule": "frda", "loss": "logistic" if n_classes else "squared", "l1": 0.01}
    learned = StreamModel(task_of(chosen)[0], make_store(**store))
    learn_all(learned, reader(), passes=2)
    save_model(path, model_of(learned, {"passes": 2}))
    loaded = load_model(path)
    assert loaded.classes == tuple("abc"[:n_classes])
    assert same_kept(loaded.kept, learned.kept())
    assert len(loaded.kept.weights) > 0
    scorer = loaded.scorer()
    (expected,), (found,) = learned.scores(reader()), scorer.scores(read(data))
    assert found.shape == (len(rows) * 20, max(1, n_classes if n_classes > 2 else 1))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def test_a_limit_of_features_takes_no_room_in_a_model_that_predicts(path):
    """The table of a billion features would take 48 GiB."""
    save_model(path, model(store={**TABLE, "capacity": 10**9}))
    scorer = load_model(path).scorer()
    assert scorer.store.n_slots < 100
    assert len(scorer.kept().weights) == 3


def test_slots_of_a_table_are_wide_enough_for_many_classes():
    """Times the number of classes they go beyond 32 bits."""
    store = make_store("table")
    scorer = StreamModel(task_of({"rule": "ogd"})[0], store, ("-1", "1"))
    assert store.slots_for(scorer.learner, kept(1)).dtype == np.int64


# --- what is refused ------------------------------------------------------------------------


def refused(path, data: bytes, match: str = r"some\.model") -> None:
    path.write_bytes(data)
    with pytest.raises(InputError, match=match):
        load_model(path)


def changed(some: Model, tmp_path, **changes) -> bytes:
    """The file of a model with other entries in its header; None takes one out."""
    path = tmp_path / "whole.model"
    save_model(path, some)
    header, payload = parts_of(path.read_bytes())
    for name, value in changes.items():
        at, last = header, name.split("__")
        for key in last[:-1]:
            at = at[key]
        at[last[-1]] = value
    return with_header(header, payload)


class TestRefused:
    @pytest.mark.parametrize("name", ["nothing kept", "table"])
    def test_cut_off_anywhere(self, path, name):
        save_model(path, MODELS[name])
        data = path.read_bytes()
        for n in range(len(data)):
            refused(path, data[:n])

    @pytest.mark.parametrize("name", ["table", "hashed"])
    def test_cut_off_anywhere_with_a_right_checksum(self, path, name):
        """As a program would leave it that writes the checksum in any case."""
        save_model(path, MODELS[name])
        data = path.read_bytes()[:-4]
        for n in range(len(MAGIC), len(data), 3):
            refused(path, data[:n] + zlib.crc32(data[:n]).to_bytes(4, "little"))

    @pytest.mark.parametrize("name", ["nothing kept", "table"])
    def test_with_bytes_behind_its_end(self, path, name):
        save_model(path, MODELS[name])
        data = path.read_bytes()
        refused(path, data + b"x", "damaged")
        longer = data[:-4] + b"\0" * 8
        refused(path, longer + zlib.crc32(longer).to_bytes(4, "little"), "damaged")

    @pytest.mark.parametrize(
        "data",
        [
            b"",
            b"\n",
            b"1 1:2\n",
            b"rarefy model 2\n" + bytes(100),
            MAGIC,
            MAGIC + b"\xff" * 8,
            MAGIC + b"\xff" * 100,
            with_header({}),
            with_header([]),
            with_header(b"5"),
            with_header(b"null"),
            with_header(b'"text"'),
            with_header(b"\xff"),
            with_header(b"[" * 100_000),
            with_header({"arrays": {}}),
            with_header({"arrays": {}, "reading": {}}),
        ],
        ids=[
            "empty", "a newline", "data", "another version", "magic alone", "huge header",
            "noise", "empty header", "a list", "a number", "null", "a string", "not UTF-8", "deep",
            "fields missing", "no columns",
        ],
    )  # fmt: skip
    def test_foreign_or_damaged(self, path, data):
        refused(path, data)

    @pytest.mark.parametrize(
        "change",
        [
            {"task": None},
            {"task__loss": "logistic"},
            {"task__loss": 5},
            {"task__loss": None},
            {"task__loss": {"is": "Squared"}},
            {"task__loss": {"is": "InvSqrt", "eta0": 0.5}},
            {"task__schedule": {"is": "Logistic"}},
            {"task__schedule": {"is": "InvSqrt", "eta0": "large"}},
            {"task__schedule": {"is": "InvSqrt", "eta0": 2**64}},
            {"task__schedule": {"is": "InvSqrt", "eta0": [0.5]}},
            {"task__schedule": None},
            {"task__multiclass": "some"},
            {"task__multiclass": None},
            {"task__fit_intercept": 5},
            {"task__more": 5},
            {"classes": []},
            {"classes": ["ham"]},
            {"classes": ["ham", "ham"]},
            {"classes": ["ham", 5]},
            {"classes": ["ham", "\ud800"]},
            {"classes": ["ham", "spam", "eggs"]},
            {"classes": "ab"},
            {"classes": None},
            {"intercepts": []},
            {"intercepts": [0.0, 0.0]},
            {"intercepts": ["low"]},
            {"intercepts": [None]},
            {"intercepts": [math.nan]},
            {"intercepts": [math.inf]},
            {"intercepts": 0.0},
            {"store": None},
            {"store": {}},
            {"store": {"kind": "tree"}},
            {"store": {"kind": "table", "bits": 5}},
            {"store": {"kind": "table", "color": "red"}},
            {"store": {"kind": "table", "max_features": 0}},
            {"store": {"kind": "table", "max_features": 1e400}},
            {"store": {"kind": "table", "max_features": "many"}},
            {"store": {"kind": "hashed", "bits": 0}},
            {"store": {"kind": "hashed", "bits": -3}},
            {"store": {"kind": "hashed", "bits": 99}},
            {"store": {"kind": "hashed", "bits": 40}},
            {"store": {"kind": "hashed", "bits": "ten"}},
            {"store": {"kind": "hashed", "bits": 1.5}},
            {"reading__columns__label": None},
            {"reading__columns__label": 5},
            {"reading__columns__label": "\ud800"},
            {"reading__columns__weight": 5},
            {"reading__columns__weight": "kind"},
            {"reading__columns__text": "message"},
            {"reading__columns__text": [5]},
            {"reading__columns__numeric": ["site"]},
            {"reading__columns__delimiter": "ab"},
            {"reading__columns__delimiter": 5},
            {"reading__columns__header": "no"},
            {"reading__columns__more": 1},
            {"reading__columns": []},
            {"reading__cross": [["a", "b", "c", "d"]]},
            {"reading__cross": [["a", 5]]},
            {"reading__cross": 5},
            {"reading": None},
            {"parameters": 5},
            {"parameters": {"l1": {"is": "float", "text": "many"}}},
            {"parameters": {"l1": {"is": ["float"]}}},
            {"examples": "seven"},
            {"examples": -7},
            {"examples": 0.5},
            {"examples": True},
            {"progress": None},
            {"progress": [0.0, 0.0]},
            {"progress": [0.0, 0.0, math.nan]},
            {"run": 5},
            {"run": ["reader"]},
            {"run": "text"},
            {"run": {"reader": None}},
            {"run": {"reader": {}}},
            {"run": {"reader": {"files": "a"}}},
            {"run": {"reader": {"files": [5]}}},
            {"run": {"place": None, "passes": 1}},
            {"run": {"place": {}}},
            {"run": {"place": {"pass_number": "x"}, "passes": 1}},
            {"run": {"place": {"pass_number": 1, "rows": 10**30}, "passes": 1}},
            {"run": {"place": {"pass_number": 1}, "passes": "many"}},
            {"run": {"place": {"pass_number": 1}, "passes": [1]}},
            {"matrix": 5},
            {"matrix": {}},
            {"matrix": {"labels": "complex", "columns": None, "n_features": 5000}},
            {"matrix": {"labels": "<M8[D]", "columns": None, "n_features": 5000}},
            {"matrix": {"labels": "<U999999", "columns": None, "n_features": 5000}},
            {"matrix": {"labels": "O", "columns": None, "n_features": 5000}},
            {"matrix": {"labels": "i4,i4", "columns": None, "n_features": 5000}},
            {"matrix": {"labels": ["<i4"], "columns": None, "n_features": 5000}},
            {"matrix": {"labels": "str", "columns": "ab", "n_features": 5000}},
            {"matrix": {"labels": "str", "columns": [5], "n_features": 5000}},
            {"matrix": {"labels": "str", "columns": None, "n_features": -1}},
            {"matrix": {"labels": "str", "columns": None, "n_features": 10**12}},
            {"more": "more"},
            {"kept": 1},
        ],
        ids=lambda change: "{}={}".format(*next(iter(change.items()))),
    )
    def test_entries_without_meaning(self, path, tmp_path, change):
        refused(path, changed(MODELS["table"], tmp_path, **change), "damaged")

    @pytest.mark.parametrize(
        "entry",
        ["task", "classes", "store", "reading", "intercepts", "parameters", "examples", "progress",
         "clock", "arrays"],
    )  # fmt: skip
    def test_entries_that_are_missing(self, path, entry):
        save_model(path, model())
        header, payload = parts_of(path.read_bytes())
        del header[entry]
        refused(path, with_header(header, payload), "damaged")

    @pytest.mark.parametrize("length", [-1, 2, 4, 10**18, 10**30, 0.5, "many", None, True])
    @pytest.mark.parametrize("array", ["keys", "counts", "name_lengths", "name_text"])
    def test_arrays_of_another_length(self, path, array, length):
        save_model(path, model())
        header, payload = parts_of(path.read_bytes())
        header["arrays"][array][1] = length
        refused(path, with_header(header, payload), "damaged")

    @pytest.mark.parametrize("array", ["keys", "outputs", "weights", "name_text"])
    def test_arrays_that_are_missing(self, path, array):
        save_model(path, model(0))
        header, payload = parts_of(path.read_bytes())
        lengths = copy.copy(header["arrays"])
        del lengths[array]
        refused(path, with_header({**header, "arrays": lengths}, payload), "damaged")
        refused(path, with_header({**header, "arrays": {**lengths, "other": ["<i8", 0]}}, payload))

    @pytest.mark.parametrize(
        "wrong",
        [
            {"outputs": np.array([0, 0, 1])},
            {"outputs": np.array([0, 0, -1])},
            {"outputs": np.array([0, 0])},
            {"keys": np.array([1, 2], np.uint64)},
            {"keys": np.array([1, 2, 4096], np.uint64)},
            {"keys": np.array([1, 2, 2**64 - 1], np.uint64)},
            {"weights": np.array([1.0, math.nan, 2.0])},
            {"weights": np.array([1.0, math.inf, 2.0])},
            {"weights": np.array([1.0])},
            {"counts": np.array([1])},
            {"r": np.array([1.0])},
            {"r": np.array([1.0, math.nan, 2.0])},
            {"counts": np.array([1, 0, 1])},
            {"names": ["a", "b"]},
        ],
        ids=lambda wrong: "{}={}".format(*next(iter(wrong.items()))),
    )
    def test_weights_that_no_training_can_have_written(self, path, wrong):
        some = kept(names=False, counts=False)._replace(**wrong)
        save_model(path, model(store=HASHED, kept=some))
        with pytest.raises(InputError, match="damaged"):
            load_model(path)

    @pytest.mark.parametrize("ends", [[2, 1, 3], [0, 0, 2], [0, 0, 4], [-1, 2, 3], [1, 2, 2**62]])
    def test_names_that_do_not_fill_their_text(self, path, ends):
        save_model(path, model(kept=kept()._replace(names=["a", "b", "c"])))
        header, payload = parts_of(path.read_bytes())
        text = payload[-3:]
        payload = payload[:-27] + np.array(ends, "<i8").tobytes() + text
        refused(path, with_header(header, payload), "damaged")

    def test_names_that_are_not_utf8(self, path):
        save_model(path, model(kept=kept()._replace(names=["a", "b", "c"])))
        header, payload = parts_of(path.read_bytes())
        refused(path, with_header(header, payload[:-1] + b"\xff"), "damaged")

    def test_missing_or_a_folder(self, tmp_path):
        with pytest.raises(InputError, match="No such file"):
            load_model(tmp_path / "missing")
        with pytest.raises(InputError, match="directory"):
            load_model(tmp_path)


def test_a_damaged_byte_is_noticed(path):
    """Every byte changed in turn."""
    save_model(path, model(2))
    data = path.read_bytes()
    for n in range(len(data)):
        refused(path, data[:n] + bytes([data[n] ^ 0x11]) + data[n + 1 :])


def test_a_damaged_byte_with_a_right_checksum_never_ends_in_a_traceback(path):
    """Bytes changed in turn: the model is refused, or predicts something."""
    columns = Columns("kind", text=("message",), categorical=("site", "ad"))
    save_model(path, model(2, reading=Reading(columns, (("site", "ad"),))))
    data = path.read_bytes()[:-4]
    examples = path.with_name("data.jsonl")
    examples.write_text('{"kind": "ham", "site": "x", "ad": "y", "message": "a b"}\n')
    surprises = []
    for n in range(len(MAGIC) + 8, len(data), 2):
        damaged = data[:n] + bytes([data[n] ^ 0x11]) + data[n + 1 :]
        path.write_bytes(damaged + zlib.crc32(damaged).to_bytes(4, "little"))
        result = CliRunner().invoke(main, ["predict", str(path), str(examples)])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            surprises.append((n, repr(result.exception)))
    assert surprises == []


# --- models with all their state ------------------------------------------------------------

FULL = {
    "table": {"kind": "table"},
    "table without names": {"kind": "table", "names": False},
    "capped": {"kind": "table", "capacity": 12},
    "hashed": {"kind": "hashed", "bits": 5},
    "array": {"kind": "array"},
}
DTYPES = {"state": "<f8", "intercept_state": "<f8", "state_keys": "<u8",
          "state_name_text": "u1"}  # fmt: skip
SOME_OR_ALL = [pytest.param(1, marks=pytest.mark.slow), 23]  # bytes
NUMBERED = "1 0:1 3:-2.5\n-1 1:1 9:0.5\n1 3:1 40:2\n"


def learned_from(path, store: dict, text: str) -> StreamModel:
    path.write_text(text)
    chosen = {"rule": "fobos", "l1": 0.004, "l2": 0.001}
    model = StreamModel(task_of(chosen)[0], make_store(**store))
    learn_all(model, read(path, text=["text"] if "{" in text else []))
    return model


@pytest.fixture(params=FULL)
def full(request, tmp_path) -> bytes:
    """The file of a small model that can go on learning."""
    store = FULL[request.param]
    text = NUMBERED * 3 if store["kind"] == "array" else "\n".join([*ROWS[:2], ROWS[3]] * 3)
    learned = learned_from(tmp_path / "examples", store, text)
    path = tmp_path / "full.model"
    save_model(path, model_of(learned, {"rule": "fobos"}))
    return path.read_bytes()


def arrays_of(data: bytes) -> tuple[dict, dict[str, np.ndarray]]:
    header, payload = parts_of(data)
    arrays, at = {}, 0
    for name, (dtype, length) in header["arrays"].items():
        packed = np.frombuffer(payload, dtype, length, at)
        arrays[name] = packed.astype(DTYPES.get(name, "<i8"))
        at += packed.nbytes
    assert at == len(payload)
    return header, arrays


def with_arrays(header: dict, arrays: dict[str, np.ndarray]) -> bytes:
    types = {name: [array.dtype.str, array.size] for name, array in arrays.items()}
    payload = b"".join(array.tobytes() for array in arrays.values())
    return with_header({**header, "arrays": types}, payload)


def goes_on(path) -> None:
    """Load, predict, learn and look at the weights; only a clear error may stop that."""
    examples = path.with_name("examples")
    with suppress(RarefyError):
        saved = load_model(path)
        for _ in saved.scorer().scores(read(examples, classes=saved.classes)):
            pass
        learner = saved.learner()
        label = saved.reading.columns.label
        learn_all(learner, read(examples, classes=saved.classes, label=label))
        save_model(path.with_name("next.model"), model_of(learner, {}))
        load_model(path.with_name("next.model"))


class TestFull:
    def test_comes_back(self, path, full):
        path.write_bytes(full)
        again = load_model(path)
        save_model(path, again)
        assert path.read_bytes() == full
        save_model(path, model_of(again.learner(), again.parameters))
        assert path.read_bytes() == full

    def test_predicts_and_learns_as_if_it_had_never_been_saved(self, path, tmp_path):
        for store in FULL.values():
            text = NUMBERED * 3 if store["kind"] == "array" else "\n".join(ROWS[:2] * 4)
            learned = learned_from(tmp_path / "examples", store, text)
            save_model(path, model_of(learned, {}))
            loaded = load_model(path)
            again = loaded.learner()
            assert same_kept(again.kept(), learned.kept())
            assert same_kept(loaded.kept, learned.kept())
            reader = read(tmp_path / "examples", text=["text"] if "{" in text else [])
            (expected,), (found,) = learned.scores(reader), again.scores(reader)
            assert found.tobytes() == expected.tobytes()
            (found,) = loaded.scorer().scores(reader)
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
            for some in (learned, again):
                learn_all(some, reader, passes=2)
            assert same_kept(again.kept(), learned.kept())

    @pytest.mark.parametrize("every", SOME_OR_ALL)
    def test_cut_off_or_damaged_anywhere(self, path, full, every):
        for n in range(0, len(full), every):
            refused(path, full[:n])
            refused(path, full[:n] + bytes([full[n] ^ 0x11]) + full[n + 1 :])

    @pytest.mark.parametrize("every", SOME_OR_ALL)
    def test_damaged_with_a_right_checksum(self, path, full, every):
        """The model is refused, or goes on somehow; there is no traceback, crash or hang."""
        data = full[:-4]
        for n in range(len(MAGIC) + 8, len(data), every):
            damaged = data[:n] + bytes([data[n] ^ (1 << n % 8)]) + data[n + 1 :]
            path.write_bytes(damaged + zlib.crc32(damaged).to_bytes(4, "little"))
            goes_on(path)

    def test_arrays_that_are_missing(self, path, full):
        header, arrays = arrays_of(full)
        for name in arrays:
            others = {other: array for other, array in arrays.items() if other != name}
            refused(path, with_arrays(header, others), "damaged")

    def test_arrays_of_another_length(self, path, full):
        header, arrays = arrays_of(full)
        for name, array in arrays.items():
            for other in (array[:-1], array[1:], array[:0], np.append(array, array[-1:])):
                if name == "size" and len(other) > 1:
                    continue
                refused(path, with_arrays(header, {**arrays, name: other}), "damaged")

    @pytest.mark.parametrize("wrong", [-1, -5, 10**6, 2**31, 2**63 - 1, -(2**63)])
    @pytest.mark.parametrize("position", [0, -1])
    def test_slots_elsewhere(self, path, full, position, wrong):
        header, arrays = arrays_of(full)
        slots = arrays["slots"].copy()
        slots[position] = wrong
        refused(path, with_arrays(header, {**arrays, "slots": slots}), "damaged")

    def test_slots_twice_or_in_disorder(self, path, full):
        header, arrays = arrays_of(full)
        twice = arrays["slots"].copy()
        twice[1] = twice[0]
        refused(path, with_arrays(header, {**arrays, "slots": twice}), "damaged")
        backwards = arrays["slots"][::-1].copy()
        refused(path, with_arrays(header, {**arrays, "slots": backwards}), "damaged")

    def test_a_feature_twice(self, path, full):
        """All that belongs to the first feature, again."""
        header, arrays = arrays_of(full)
        n = len(arrays["slots"])
        doubled = {
            name: np.concatenate([array[: len(array) // n], array])
            if len(array) % n == 0 and name != "state_name_text"
            else array
            for name, array in arrays.items()
        }
        assert len(doubled["slots"]) == n + 1
        refused(path, with_arrays(header, doubled), "damaged")

    @pytest.mark.parametrize(
        "size", [0, 1, 3, 16, 33, 4095, 8192, -1, -4096, 2**20, 2**30 + 1, 2**31, 2**40, 2**62]
    )
    def test_of_another_size(self, path, full, size):
        """Refused at once, or there is room for it; an array may be of any size up to 2^30."""
        header, arrays = arrays_of(full)
        data = with_arrays(header, {**arrays, "size": np.array([size])})
        if header["store"]["kind"] == "array" and 40 < size <= 2**20:
            path.write_bytes(data)
            assert load_model(path).learner().learner.n_features == size
        else:
            refused(path, data, "damaged")

    def test_a_table_without_a_free_place(self, path, full):
        """It would be searched forever."""
        header, arrays = arrays_of(full)
        if header["store"]["kind"] == "table":
            n = 1 << (len(arrays["slots"]).bit_length() - 1)
            taken = {name: array[: len(array) // len(arrays["slots"]) * n]
                     for name, array in arrays.items() if len(array) >= n}  # fmt: skip
            some = {**arrays, **taken, "slots": np.arange(n), "size": np.array([n])}
            refused(path, with_arrays(header, some), "damaged")

    def test_keys_that_are_not_where_they_are_looked_for(self, path, full):
        header, arrays = arrays_of(full)
        if "state_keys" in arrays:
            for keys in (arrays["state_keys"][::-1].copy(), arrays["state_keys"] + np.uint64(1)):
                refused(path, with_arrays(header, {**arrays, "state_keys": keys}), "damaged")

    @pytest.mark.parametrize("count", [0, -1, -(2**63)])
    def test_counts_of_nothing(self, path, full, count):
        header, arrays = arrays_of(full)
        if "state_counts" in arrays:
            counts = arrays["state_counts"].copy()
            counts[0] = count
            refused(path, with_arrays(header, {**arrays, "state_counts": counts}), "damaged")

    @pytest.mark.parametrize(
        "lengths",
        [(-2,), (2**62,), (2**63 - 1, 2**63 - 1, 2), (2**63 - 1, -(2**63)), (10**9,)],
        ids=str,
    )
    def test_lengths_of_names(self, path, full, lengths):
        """Sums of some of these are right again, modulo 2^64."""
        header, arrays = arrays_of(full)
        if "state_name_lengths" in arrays:
            whole = arrays["state_name_lengths"].copy()
            whole[: len(lengths)] = lengths
            for text in (arrays["state_name_text"], arrays["state_name_text"][:0]):
                changed = {**arrays, "state_name_lengths": whole, "state_name_text": text}
                refused(path, with_arrays(header, changed), "damaged")
            rest = np.zeros(len(whole), np.int64)
            rest[: len(lengths)] = lengths
            changed = {**arrays, "state_name_lengths": rest,
                       "state_name_text": arrays["state_name_text"][:0]}  # fmt: skip
            refused(path, with_arrays(header, changed), "damaged")

    def test_names_that_are_not_utf8(self, path, full):
        """Whether or not their features have a weight now; they may have one later."""
        header, arrays = arrays_of(full)
        if "state_name_text" in arrays:
            for n in range(len(arrays["state_name_text"])):
                text = arrays["state_name_text"].copy()
                text[n] = 0xFF
                refused(path, with_arrays(header, {**arrays, "state_name_text": text}), "damaged")

    def test_names_that_share_a_character(self, path, full):
        header, arrays = arrays_of(full)
        if "state_name_text" in arrays:
            text = arrays["state_name_text"].copy()
            first = arrays["state_name_lengths"][0]
            text[first - 1 : first + 1] = list("é".encode())
            refused(path, with_arrays(header, {**arrays, "state_name_text": text}), "damaged")

    @pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
    def test_weights_that_are_no_numbers(self, path, full, value):
        header, arrays = arrays_of(full)
        state = arrays["state"].copy()
        state[0] = value
        refused(path, with_arrays(header, {**arrays, "state": state}), "damaged")

    @pytest.mark.parametrize(
        "change",
        [
            {"clock": {}},
            {"clock": None},
            {"clock__t": None},
            {"clock__t": math.nan},
            {"clock__t": 9},
            {"clock__t": -9.0},
            {"clock__total": "much"},
            {"examples": 8},
            {"task__rule": None},
            {"task__rule": "fobos"},
            {"task__rule": {"is": "Logistic"}},
            {"task__rule": {"is": "Fobos", "l1": "much", "l2": 0.001}},
            {"task__rule": {"is": "Fobos", "l1": -1.0, "l2": 0.001}},
            {"task__rule": {"is": "Fobos", "l1": None, "l2": 0.001}},
            {"task__rule": {"is": "Fobos", "l1": 0.004, "l2": [0.001]}},
            {"task__rule": {"is": "Frda", "l1": 0.004, "l2": None, "intensity": 1e308}},
            {"task__rule": {"is": "Frda", "l1": 0.004, "l2": None, "intensity": None}},
            {"task__rule": {"is": "Frda", "l1": 0.004, "l2": None, "intensity": {"is": "Ogd"}}},
            {"run": 5},
            {"run": []},
            {"classes": []},
            {"classes": ["a", "b", "c"]},
            {"intercepts": []},
        ],
        ids=lambda change: "{}={}".format(*next(iter(change.items()))),
    )
    def test_entries_without_meaning(self, path, full, change):
        header, _ = parts_of(full)
        for name, value in change.items():
            *parents, last = name.split("__")
            at = functools.reduce(dict.__getitem__, parents, header)
            at[last] = value
        refused(path, with_header(header, parts_of(full)[1]), "damaged")


@pytest.mark.parametrize("dtype", ["<,8", "O", "<f4", ">i8", "S8", "i8,i8", "", None, 8, ["<i8"]])
def test_numbers_that_are_none(path, dtype):
    save_model(path, model())
    header, payload = parts_of(path.read_bytes())
    for array in header["arrays"]:
        arrays = {**header["arrays"], array: [dtype, header["arrays"][array][1]]}
        refused(path, with_header({**header, "arrays": arrays}, payload), "damaged")


def test_a_rule_that_is_not_known_here(path):
    """A model with state needs it, and a slim one does not."""
    learned = learned_from(path.with_name("examples"), {"kind": "table"}, NUMBERED * 3)
    save_model(path, model_of(learned, {}))
    header, payload = parts_of(path.read_bytes())
    header["task"]["rule"] = {"is": "elsewhere.MyRule", "l1": 0.5}
    refused(path, with_header(header, payload), r"rule elsewhere\.MyRule; import the module")
    save_model(path, model_of(learned, {}, slim=True))
    header, payload = parts_of(path.read_bytes())
    header["task"]["rule"] = {"is": "elsewhere.MyRule", "l1": 0.5}
    path.write_bytes(with_header(header, payload))
    assert load_model(path).task.rule == {"is": "elsewhere.MyRule", "l1": 0.5}
    for rule in ("frda", 1, {}, {"is": ["Frda"]}, {"is": "class"}):
        header["task"]["rule"] = rule
        refused(path, with_header(header, payload), "damaged")


def test_a_rule_with_other_parameters_than_here(path):
    learned = learned_from(path.with_name("examples"), {"kind": "table"}, NUMBERED * 3)
    save_model(path, model_of(learned, {}))
    header, payload = parts_of(path.read_bytes())
    header["task"]["rule"] = {"is": "Fobos", "l1": 0.5, "speed": 3.0}
    refused(path, with_header(header, payload), r"trained with Fobos\(l1, speed\), but here")


@pytest.mark.parametrize("version", [7, 10, 999_999_999])
def test_a_file_of_a_newer_version(path, version):
    """Whatever follows, and whatever its checksum is."""
    for rest in (b"", b"something else", bytes(1000)):
        begin = b"rarefy model %d\n" % version
        refused(path, begin + rest, f"version {version}, from a newer rarefy.*Update rarefy")


@pytest.mark.parametrize("version", [b"0", b"-1", b"1.5", b"one", b"", b"01", b"1" * 50])
def test_a_version_that_there_is_not(path, version):
    save_model(path, model())
    data = path.read_bytes().replace(MAGIC, b"rarefy model %s\n" % version, 1)[:-4]
    refused(path, data + zlib.crc32(data).to_bytes(4, "little"))


@pytest.mark.parametrize("slim", [True, False])
def test_a_small_file_takes_little_memory(path, slim):
    """What it says of a limit of a billion features would take 48 GiB to be true."""
    learned = learned_from(path.with_name("examples"), FULL["capped"], "\n".join(ROWS[:2]))
    save_model(path, model_of(learned, {}, slim=slim))
    header, payload = parts_of(path.read_bytes())
    header["store"]["max_features"] = 3 << 29
    path.write_bytes(with_header(header, payload))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with suppress(InputError):
        load_model(path).scorer()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kB


# --- writing --------------------------------------------------------------------------------


class TestFailedWrite:
    @pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device")])
    @pytest.mark.parametrize("name", ["fsync", "replace"])
    def test_leaves_the_old_file_and_nothing_else(self, path, monkeypatch, name, error):
        save_model(path, model(3))
        before = path.read_bytes()

        def fail(*args, **kwargs):
            raise error

        monkeypatch.setattr(os, name, fail)
        raised = InputError if isinstance(error, OSError) else KeyboardInterrupt
        with pytest.raises(raised) as caught:
            save_model(path, model(5))
        monkeypatch.undo()
        assert path.read_bytes() == before
        assert os.listdir(path.parent) == [path.name]
        if raised is InputError:
            assert str(caught.value) == (
                f"{path}: the model cannot be written: No space left on device."
            )

    def test_to_a_folder_that_does_not_exist(self, tmp_path):
        with pytest.raises(InputError, match="there is no folder"):
            save_model(tmp_path / "missing" / "some.model", model())

    def test_to_a_folder(self, tmp_path):
        target = tmp_path / "folder"
        target.mkdir()
        with pytest.raises(InputError, match="folder"):
            save_model(target, model())
        assert os.listdir(tmp_path) == ["folder"]


def test_a_link_still_leads_to_the_model(path):
    target = path.with_name("target.model")
    path.symlink_to(target)
    for n_weights in (3, 5):
        save_model(path, model(n_weights))
        assert path.is_symlink()
        assert len(load_model(target).kept.weights) == n_weights


def test_what_is_no_file_is_not_replaced_by_one(path):
    """A pipe, or a device such as /dev/null, takes the bytes and stays what it is."""
    os.mkfifo(path)
    received = []
    thread = threading.Thread(target=lambda: received.append(path.read_bytes()))
    thread.start()
    save_model(path, model(3))
    thread.join(10)
    assert path.is_fifo()
    assert received[0].startswith(MAGIC)
    assert os.listdir(path.parent) == [path.name]


def test_what_a_killed_process_left_is_in_nobodys_way(path, monkeypatch):
    """In a container every process may have the same number, and number its files alike."""
    monkeypatch.setattr("rarefy.system.atomic_write._numbers", itertools.count(5))
    part = f"{path.name}.{os.getpid()}-5.part"
    path.with_name(part).write_bytes(b"half a model")
    save_model(path, model(3))
    assert len(load_model(path).kept.weights) == 3
    assert os.listdir(path.parent) == [path.name]


def test_threads_may_save_to_the_same_place(path):
    threads = [
        threading.Thread(target=lambda: [save_model(path, model(50)) for _ in range(10)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(load_model(path).kept.weights) == 50
    assert os.listdir(path.parent) == [path.name]
