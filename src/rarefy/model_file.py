"""Models on disk: a line that says what it is, a JSON header, and the weights; no pickle.

rarefy model 1\\n
length of the header, 8 bytes, little-endian
header: JSON with the parameters of training and what prediction needs
slots of the weights that are not zero, int64, and the weights, float64, little-endian
"""

import json
import os
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.errors import InputError

MAGIC = b"rarefy model 1\n"


class Model(NamedTuple):
    """What a prediction needs, and how the model came to be."""

    loss: str
    bits: int
    intercept: float
    parameters: dict[str, Any]
    examples: int
    progressive_loss: float
    slots: NDArray[np.int64]
    weights: NDArray[np.float64]


def save_model(path: str | Path, model: Model) -> None:
    """Write the file beside its place and move it there, so that it is never half there."""
    header = model._asdict()
    slots, weights = header.pop("slots"), header.pop("weights")
    header["n_weights"] = len(weights)
    text = json.dumps(header).encode()
    target = Path(path)
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=target.name, suffix=".part")
    except OSError as error:
        raise InputError(f"{path}: the model cannot be written there: {error.strerror}.") from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(MAGIC + len(text).to_bytes(8, "little") + text)
            file.write(slots.astype("<i8").tobytes() + weights.astype("<f8").tobytes())
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def load_model(path: str | Path) -> Model:
    """Read a model; anything that is not a whole one is refused."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}.") from error
    if not data.startswith(MAGIC):
        raise InputError(f"{path} is not a rarefy model of version 1.")
    begin = len(MAGIC) + 8
    end = begin + int.from_bytes(data[len(MAGIC) : begin], "little")
    try:
        header = json.loads(data[begin:end])
        n = header.pop("n_weights")
        slots = np.frombuffer(data, "<i8", n, end)
        weights = np.frombuffer(data, "<f8", n, end + 8 * n)
        complete = end + 16 * n == len(data)
        model = Model(**header, slots=slots, weights=weights)
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is damaged: {error}") from error
    if not complete:
        raise InputError(f"{path} is damaged: it has {len(data)} bytes, not {end + 16 * n}.")
    return model
