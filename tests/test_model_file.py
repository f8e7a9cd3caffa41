"""Model files: what is written comes back, and nothing else is taken for a model."""

from __future__ import annotations

import json
import math
import os
import zlib

import numpy as np
import pytest
from click.testing import CliRunner

from rarefy import InputError
from rarefy.cli import main
from rarefy.model_file import MAGIC, Model, load_model, save_model


def model(n_weights: int = 3, **changes) -> Model:
    rng = np.random.default_rng(n_weights)
    plain = Model(
        loss="logistic",
        bits=12,
        intercept=-0.125,
        parameters={"rule": "Ogd()", "data": ["a.svm"]},
        examples=7,
        progressive_loss=0.5,
        slots=np.arange(n_weights, dtype=np.int64) * 3,
        weights=rng.normal(size=n_weights),
    )
    return plain._replace(**changes)


def with_header(header: object, payload: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return MAGIC + len(text).to_bytes(8, "little") + text + payload


def header_of(some: Model, **changes) -> dict:
    header = {**some._asdict(), "n_weights": len(some.weights), **changes}
    return {name: value for name, value in header.items() if name not in ("slots", "weights")}


def payload_of(some: Model) -> bytes:
    return some.slots.tobytes() + some.weights.tobytes()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "some.model"


class TestRoundTrip:
    @pytest.mark.parametrize("n_weights", [0, 1, 3, 1000])
    def test_everything_comes_back(self, path, n_weights):
        before = model(n_weights)
        save_model(path, before)
        after = load_model(path)
        assert after.slots.tobytes() == before.slots.tobytes()
        assert after.weights.tobytes() == before.weights.tobytes()
        arrays = {"slots": None, "weights": None}
        assert after._replace(**arrays) == before._replace(**arrays)

    def test_odd_numbers_come_back(self, path):
        weights = np.array([5e-324, -1.7976931348623157e308, 0.1])
        save_model(path, model(weights=weights, intercept=0.1 + 0.2, progressive_loss=1e-300))
        after = load_model(path)
        assert after.weights.tobytes() == weights.tobytes()
        assert (after.intercept, after.progressive_loss) == (0.1 + 0.2, 1e-300)

    def test_as_described(self, path):
        """The format, read without the library."""
        some = model()
        save_model(path, some)
        data = path.read_bytes()
        magic, rest = data.split(b"\n", 1)
        n = int.from_bytes(rest[:8], "little")
        header, payload = json.loads(rest[8 : 8 + n]), rest[8 + n :]
        assert magic == b"rarefy model 1"
        assert header["loss"] == "logistic"
        assert np.frombuffer(payload[:24], "<i8").tolist() == some.slots.tolist()
        assert np.frombuffer(payload[24:48], "<f8").tolist() == some.weights.tolist()
        assert payload[48:] == zlib.crc32(data[:-4]).to_bytes(4, "little")

    def test_an_older_file_is_replaced(self, path):
        save_model(path, model(3))
        save_model(path, model(5))
        assert len(load_model(path).weights) == 5
        assert os.listdir(path.parent) == [path.name]

    def test_the_file_may_be_read_as_other_new_files_may(self, path):
        save_model(path, model())
        plain = path.with_name("plain")
        plain.write_bytes(b"")
        assert path.stat().st_mode == plain.stat().st_mode


class TestRefused:
    @pytest.mark.parametrize("n_weights", [0, 2])
    def test_cut_off_anywhere(self, path, n_weights):
        save_model(path, model(n_weights))
        data = path.read_bytes()
        for n in range(len(data)):
            path.write_bytes(data[:n])
            with pytest.raises(InputError, match=r"some\.model"):
                load_model(path)

    @pytest.mark.parametrize("n_weights", [0, 2])
    def test_with_bytes_behind_its_end(self, path, n_weights):
        save_model(path, model(n_weights))
        path.write_bytes(path.read_bytes() + b"x")
        with pytest.raises(InputError, match="damaged"):
            load_model(path)

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
            with_header(b"[" * 100_000),
            with_header({"n_weights": 0}),
            with_header({"n_weights": 0, "something": 1}),
            with_header(header_of(model(0), n_weights=-1)),
            with_header(header_of(model(0), n_weights=10**30)),
            with_header(header_of(model(0), n_weights=10**18)),
            with_header(header_of(model(0), n_weights=0.5)),
            with_header(header_of(model(0), n_weights="many")),
            with_header(header_of(model(0), n_weights=None)),
            with_header(header_of(model(0), more="more")),
        ],
        ids=[
            "empty", "a newline", "data", "another version", "magic alone", "huge header",
            "noise", "empty header", "a list", "a number", "null", "a string", "deep",
            "fields missing", "another field", "negative count", "astronomic count",
            "large count", "half a weight", "count in words", "no count", "one field more",
        ],
    )  # fmt: skip
    def test_foreign_or_damaged(self, path, data):
        path.write_bytes(data)
        with pytest.raises(InputError, match=r"some\.model"):
            load_model(path)

    @pytest.mark.parametrize(
        "change",
        [
            {"loss": "unknown"},
            {"loss": 5},
            {"bits": 0},
            {"bits": -3},
            {"bits": 99},
            {"bits": "ten"},
            {"bits": 1.5},
            {"intercept": "low"},
            {"intercept": None},
            {"intercept": math.nan},
        ],
        ids=lambda change: "{}={}".format(*next(iter(change.items()))),
    )
    def test_fields_without_meaning(self, path, change):
        some = model()
        path.write_bytes(with_header(header_of(some, **change), payload_of(some)))
        with pytest.raises(InputError, match=r"some\.model"):
            load_model(path)

    @pytest.mark.parametrize("slot", [-1, 1024, 2**62], ids=str)
    def test_slots_that_do_not_exist(self, path, slot):
        some = model(slots=np.array([0, 1, slot]))
        path.write_bytes(with_header(header_of(some), payload_of(some)))
        with pytest.raises(InputError, match=r"some\.model"):
            load_model(path)

    def test_weights_that_are_no_numbers(self, path):
        some = model(weights=np.array([0.0, math.nan, math.inf]))
        path.write_bytes(with_header(header_of(some), payload_of(some)))
        with pytest.raises(InputError, match=r"some\.model"):
            load_model(path)

    def test_missing_or_a_folder(self, tmp_path):
        with pytest.raises(InputError, match="No such file"):
            load_model(tmp_path / "missing")
        with pytest.raises(InputError, match="directory"):
            load_model(tmp_path)


def test_a_damaged_byte_never_ends_in_a_traceback(path):
    """Every byte changed in turn: the model is refused, or predicts something."""
    save_model(path, model(2))
    data = path.read_bytes()
    examples = path.with_name("data.svm")
    examples.write_text("1 1:2\n")
    surprises = []
    for i in range(len(data)):
        path.write_bytes(data[:i] + bytes([data[i] ^ 0x11]) + data[i + 1 :])
        try:
            load_model(path)
        except InputError:
            continue
        except Exception as error:
            surprises.append((i, repr(error)))
            continue
        result = CliRunner().invoke(main, ["predict", str(path), str(examples)])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            surprises.append((i, repr(result.exception)))
    assert surprises == []


class TestFailedWrite:
    def check(self, path, monkeypatch, name, error):
        save_model(path, model(3))
        before = path.read_bytes()

        def fail(*args, **kwargs):
            raise error

        monkeypatch.setattr(os, name, fail)
        with pytest.raises(type(error)):
            save_model(path, model(5))
        monkeypatch.undo()
        assert path.read_bytes() == before
        assert os.listdir(path.parent) == [path.name]

    @pytest.mark.parametrize("name", ["fsync", "replace"])
    def test_leaves_the_old_file_and_nothing_else(self, path, monkeypatch, name):
        self.check(path, monkeypatch, name, KeyboardInterrupt())

    @pytest.mark.parametrize("name", ["fsync", "replace"])
    def test_is_an_input_error(self, path, monkeypatch, name):
        save_model(path, model(3))

        def fail(*args, **kwargs):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, name, fail)
        with pytest.raises(InputError, match="No space left"):
            save_model(path, model(5))
        monkeypatch.undo()
        assert len(load_model(path).weights) == 3
        assert os.listdir(path.parent) == [path.name]

    def test_to_a_folder_that_does_not_exist(self, tmp_path):
        with pytest.raises(InputError, match="there is no folder"):
            save_model(tmp_path / "missing" / "some.model", model())

    def test_to_a_folder(self, tmp_path):
        target = tmp_path / "folder"
        target.mkdir()
        with pytest.raises(InputError, match="folder"):
            save_model(target, model())
        assert os.listdir(tmp_path) == ["folder"]
