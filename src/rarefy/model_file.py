"""Models on disk: a line that says what it is, a JSON header, and the weights; no pickle.

rarefy model 1\\n
length of the header, 8 bytes, little-endian
header: JSON with the parameters of training and what prediction needs
slots of the weights that are not zero, int64, and the weights, float64, little-endian
"""

import json
import math
import os
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.errors import InputError
from rarefy.losses import MARGIN_LOSSES, REGRESSION_LOSSES
from rarefy.slots import MOST_BITS

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


def check_place(path: str | Path) -> None:
    """Refuse a path at which no model can be written, before anything is learned."""
    target = Path(path)
    if target.is_dir() or not target.name:
        raise InputError(f"{path!s} is a folder; name a file for the model.")
    if not target.parent.is_dir():
        raise InputError(f"{path}: there is no folder {target.parent}.")


def save_model(path: str | Path, model: Model) -> None:
    """Write the file beside its place and move it there, so that it is never half there."""
    check_place(path)
    header = model._asdict()
    slots, weights = header.pop("slots"), header.pop("weights")
    header["n_weights"] = len(weights)
    text = json.dumps(header).encode()
    data = MAGIC + len(text).to_bytes(8, "little") + text
    data += slots.astype("<i8").tobytes() + weights.astype("<f8").tobytes()
    part = Path(path).with_name(f"{Path(path).name}.{os.getpid()}.part")
    try:
        with part.open("xb") as file:
            file.write(data + zlib.crc32(data).to_bytes(4, "little"))
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except OSError as error:
        raise InputError(f"{path}: the model cannot be written: {error.strerror}.") from error
    finally:
        part.unlink(missing_ok=True)


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
    begin = len(MAGIC) + 8
    end = begin + int.from_bytes(data[len(MAGIC) : begin], "little")
    try:
        header = json.loads(data[begin:end])
        n = header.pop("n_weights")
        slots = np.frombuffer(data, "<i8", n, end)
        weights = np.frombuffer(data, "<f8", n, end + 8 * n)
        model = Model(**header, slots=slots, weights=weights)
        makes_sense = _makes_sense(model) and end + 16 * n + 4 == len(data)
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError):
        makes_sense = False
    if not makes_sense:
        raise InputError(f"{path} is damaged: what it says makes no sense.")
    return model


def _makes_sense(model: Model) -> bool:
    return bool(
        model.loss in MARGIN_LOSSES | REGRESSION_LOSSES
        and isinstance(model.bits, int)
        and 1 <= model.bits <= MOST_BITS
        and math.isfinite(model.intercept)
        and np.isfinite(model.weights).all()
        and (model.slots >= 0).all()
        and (model.slots < 1 << model.bits).all()
    )
