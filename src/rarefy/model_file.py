"""Models on disk: a line that says what it is, a JSON header, and arrays; no pickle.

rarefy model 1\\n
length of the header, 8 bytes, little-endian
header: JSON with the parameters of training, what prediction needs, and which arrays follow
the arrays, little-endian, one after the other
CRC-32 of all that, 4 bytes
"""

import json
import math
import zlib
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.config import choose
from rarefy.errors import ConfigError, InputError
from rarefy.losses import LOSSES, REGRESSION_LOSSES
from rarefy.multiclass import MULTICLASS
from rarefy.readers.columns import Columns, checked_columns
from rarefy.readers.crosses import checked_crosses
from rarefy.readers.labels import checked_classes
from rarefy.replacing import replacing
from rarefy.rules.ogd import Ogd
from rarefy.schedules import Constant
from rarefy.stores import Kept, Store, check_store, make_store
from rarefy.stream import Reading, StreamModel, Task

MAGIC = b"rarefy model 1\n"
ARRAYS = {
    "keys": "<u8",
    "outputs": "<i8",
    "weights": "<f8",
    "counts": "<i8",
    "name_ends": "<i8",
    "name_text": "|u1",
}


class Model(NamedTuple):
    """What a prediction needs, and how the model came to be."""

    loss: str
    multiclass: str
    classes: tuple[str, ...]
    store: dict[str, Any]
    reading: Reading
    intercepts: tuple[float, ...]
    parameters: dict[str, Any]
    examples: int
    progressive_loss: float
    kept: Kept

    def empty_store(self) -> Store:
        """A store for the weights; a limit of features would only take room for all of them."""
        return make_store(**{**self.store, "max_features": None})

    def scorer(self) -> StreamModel:
        """A model to predict with; it cannot go on learning."""
        task = Task(Ogd(), Constant(1.0), LOSSES[self.loss](), self.multiclass)
        model = StreamModel(task, self.empty_store(), self.classes)
        model.reading = self.reading
        learner = model.learner
        slots = model.store.slots_for(learner, self.kept.keys)
        learner.state[slots * learner.n_outputs + self.kept.outputs, 0] = self.kept.weights
        learner.intercept_state[:, 0] = self.intercepts
        return model


def model_of(model: StreamModel, parameters: dict[str, Any]) -> Model:
    """What is to be kept of a model that has learned."""
    task, learner = model.task, model.learner
    return Model(
        task.loss_name,
        task.multiclass,
        model.classes,
        model.store.settings(),
        model.reading,
        tuple(learner.intercept().tolist()),
        {
            "rule": str(task.rule),
            "schedule": str(task.schedule),
            "loss": str(task.loss),
            **parameters,
        },
        learner.t,
        learner.progressive_loss,
        model.kept(),
    )


def check_place(path: str | Path) -> None:
    """Refuse a path at which no file can be written, before any work is done."""
    target = Path(path)
    if target.is_dir() or not target.name:
        raise InputError(f"{path!s} is a folder; name a file.")
    if not target.parent.is_dir():
        raise InputError(f"{path}: there is no folder {target.parent}.")


def save_model(path: str | Path, model: Model) -> None:
    """Write the file, so that it is never half there."""
    check_place(path)
    header = model._asdict()
    arrays = _arrays_of(header.pop("kept"))
    reading = model.reading
    header["reading"] = {**reading._asdict(), "columns": reading.columns._asdict()}
    header["arrays"] = {name: len(array) for name, array in arrays.items()}
    text = json.dumps(header).encode()
    data = MAGIC + len(text).to_bytes(8, "little") + text
    data += b"".join(array.astype(ARRAYS[name]).tobytes() for name, array in arrays.items())
    try:
        with replacing(path) as file:
            file.write(data + zlib.crc32(data).to_bytes(4, "little"))
    except OSError as error:
        raise InputError(f"{path}: the model cannot be written: {error.strerror}.") from error


def load_model(path: str | Path) -> Model:
    """Read a model; anything that is not a whole one is refused."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}.") from error
    if not data.startswith(MAGIC):
        raise InputError(f"{path} is not a rarefy model of version 1.")
    if zlib.crc32(data[:-4]) != int.from_bytes(data[-4:], "little"):
        raise InputError(f"{path} is damaged: its checksum is wrong.")
    try:
        return _parsed(data)
    except (
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        ArithmeticError,
        RecursionError,
        ConfigError,
    ) as error:
        raise InputError(f"{path} is damaged: what it says makes no sense.") from error


def _parsed(data: bytes) -> Model:
    begin = len(MAGIC) + 8
    end = begin + int.from_bytes(data[len(MAGIC) : begin], "little")
    header = json.loads(data[begin:end])
    arrays = {}
    for name, length in header.pop("arrays").items():
        arrays[name] = np.frombuffer(data, ARRAYS[name], length, end)
        end += arrays[name].nbytes
    if end + 4 != len(data):
        raise ValueError("the arrays do not fill the file")
    reading = header.pop("reading")
    columns = checked_columns(Columns(**reading["columns"]))
    model = Model(
        **{
            **header,
            "classes": checked_classes(texts(header["classes"])),
            "intercepts": tuple(header["intercepts"]),
            "reading": Reading(columns, checked_crosses(reading["cross"])),
        },
        kept=_kept_of(arrays),
    )
    _check(model)
    return model


def texts(found: Any) -> list[str]:
    """The list, if it is one of texts."""
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise ValueError("a list of texts is expected")
    return found


def _arrays_of(kept: Kept) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {
        "keys": kept.keys,
        "outputs": kept.outputs,
        "weights": kept.weights,
    }
    if kept.counts is not None:
        arrays["counts"] = kept.counts
    if kept.names is not None:
        texts = [name.encode() for name in kept.names]
        arrays["name_ends"] = np.cumsum([len(text) for text in texts], dtype=np.int64)
        arrays["name_text"] = np.frombuffer(b"".join(texts), np.uint8)
    return arrays


def _kept_of(arrays: dict[str, NDArray[Any]]) -> Kept:
    names = None
    if "name_ends" in arrays:
        text = arrays["name_text"].tobytes()
        ends = [0, *arrays["name_ends"].tolist()]
        if ends != sorted(ends) or ends[-1] != len(text):
            raise ValueError("the names do not fill their text")
        names = [text[begin:end].decode() for begin, end in pairwise(ends)]
    return Kept(arrays["keys"], arrays["outputs"], arrays["weights"], names, arrays.get("counts"))


def _check(model: Model) -> None:
    """Refuse what no training can have written."""
    choose("loss", model.loss, LOSSES)
    choose("multiclass", model.multiclass, dict.fromkeys(MULTICLASS))
    check_store(**model.store)
    kept, store = model.kept, model.empty_store()
    n_classes = len(model.classes)
    n_outputs = n_classes if n_classes > 2 else 1
    n_weights = len(kept.weights)
    beside = [kept.keys, kept.outputs, kept.names, kept.counts]
    right = (
        (n_classes == 0) == (model.loss in REGRESSION_LOSSES)
        and len(model.intercepts) == n_outputs
        and all(math.isfinite(value) for value in model.intercepts)
        and math.isfinite(model.progressive_loss)
        and isinstance(model.examples, int)
        and isinstance(model.parameters, dict)
        and np.isfinite(kept.weights).all()
        and all(len(part) == n_weights for part in beside if part is not None)
        and ((kept.outputs >= 0) & (kept.outputs < n_outputs)).all()
        and (kept.keys < store.most_keys).all()
    )
    if not right:
        raise ValueError("the parts of the model contradict each other")
