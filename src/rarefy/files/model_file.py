"""The model file: a magic line, a JSON header, and arrays; no pickle.

rarefy model 1\\n (2 in the middle of a search for parameters, or of a run with a limit to features;
3 with weights of classes, or a decision threshold; 4 if probabilities are calibrated; 5 if classes
grow)
length of the header, 8 bytes, little-endian
header: JSON with what was learned, from what, and how, and which arrays follow
the arrays, little-endian, one after the other
CRC-32 of all that, 4 bytes

A slim model has the weights that are not zero. Any other has the state of every feature instead,
from which weights follow, and with which learning goes on as if it had never stopped. Where
parameters are still to be found, the state is that of the model in use, and the models that learn
beside it are there, too.
"""

import json
import re
import zlib
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.engine.reference import REFERENCE_ARRAYS
from rarefy.engine.snapshots import Arrays
from rarefy.engine.task import Task, with_calibration
from rarefy.errors import ConfigError, InputError
from rarefy.files.model import NOTHING_KEPT, Model, Search
from rarefy.files.model_checks import (
    check_kept,
    check_parts,
    checked_task,
    classes_in_file,
    texts,
)
from rarefy.model.calibration import restored
from rarefy.model.clock import Clock
from rarefy.parameters.describe import built, described, is_unknown
from rarefy.readers.features.columns import columns_given
from rarefy.readers.features.crosses import checked_crosses
from rarefy.stores import STATE_ARRAYS, Kept
from rarefy.streams.stream_model import Reading
from rarefy.system.atomic_write import Output
from rarefy.version import __version__

VERSION = 6  # the newest that is read
MAGIC = b"rarefy model 1\n"  # of all models that older versions read
UNSETTLED_MAGIC = b"rarefy model 2\n"
OF_CLASSES_MAGIC = b"rarefy model 3\n"
GROWING_MAGIC = b"rarefy model 5\n"
CALIBRATED_MAGIC = b"rarefy model 6\n"  # or 4, before calibrations had a gain
KEPT_ARRAYS = {
    "keys": "<u8",
    "outputs": "<i8",
    "weights": "<f8",
    "counts": "<i8",
    "r": "<f8",
    "name_lengths": "<i8",
    "name_text": "|u1",
}
ARRAYS = {
    **KEPT_ARRAYS,
    **STATE_ARRAYS,
    **REFERENCE_ARRAYS,
    "intercept_state": "<f8",
    "group_sums": "<f8",
}
PACKED = ("<f8", *(f"{'|' if n == 1 else '<'}{kind}{n}" for kind in "iu" for n in (1, 2, 4, 8)))
CLOCK_FIELDS = Clock._fields[1:]  # without the schedule
# Of the clock, too, but not where they say nothing: older files do not have them.
LATER_CLOCK_FIELDS = {
    name: Clock._field_defaults[name]
    for name in ("pass_number", "unit", "slope", "steepest", "common")
}
# Names in files that differ from those that users know, and back.
PARAMETERS_IN_FILES = {"target_features": "max_features"}
PARAMETERS_FROM_FILES = {"max_features": "target_features"}
STORE_IN_FILES = {"capacity": "max_features"}
STORE_FROM_FILES = {"max_features": "capacity"}


def save_model(place: str | Path | Output, model: Model) -> int:
    """Write the file, so that it is never half there; how many bytes it has."""
    output = place if isinstance(place, Output) else Output(place)
    arrays = _arrays_of(model.kept) if model.state is None else model.state
    packed = {name: _packed(array.astype(_type_of(name))) for name, array in arrays.items()}
    search = _with_parameters(model.search, PARAMETERS_IN_FILES)
    unsettled = {"search": described(search), "limit": model.limit}
    text = json.dumps(
        {
            "rarefy": __version__,
            "task": _described_task(model.task),
            "classes": model.classes,
            "store": _renamed(model.store, STORE_IN_FILES),
            "reading": {
                "columns": model.reading.columns._asdict(),
                "cross": model.reading.cross,
            },
            "intercepts": model.intercepts,
            "parameters": described(_renamed(model.parameters, PARAMETERS_IN_FILES)),
            "examples": model.examples,
            "progress": model.progress,
            "run": model.run,
            "matrix": model.matrix,
            "clock": _clock_in_file(model.clock),
            **({} if model.is_settled else unsettled),
            **_of_classes(model),
            "arrays": {name: [array.dtype.str, array.size] for name, array in packed.items()},
        },
        allow_nan=False,
    ).encode()
    magic = MAGIC if model.is_settled else UNSETTLED_MAGIC
    if model.task.class_weight is not None or model.decision_threshold:
        magic = OF_CLASSES_MAGIC
    if model.task.classes_grow:
        magic = GROWING_MAGIC
    if model.calibration is not None:
        magic = CALIBRATED_MAGIC
    parts = [magic, len(text).to_bytes(8, "little"), text]
    parts += [array.tobytes() for array in packed.values()]
    checksum = 0
    for part in parts:
        checksum = zlib.crc32(part, checksum)
    parts.append(checksum.to_bytes(4, "little"))
    try:
        with output.writing() as file:
            for part in parts:
                file.write(part)
    except OSError as error:
        message = f"{output.path}: the model cannot be written: {error.strerror}."
        raise InputError(message) from error
    return sum(map(len, parts))


def _described_task(task: Task) -> dict[str, Any]:
    """All parts; but for the sake of older versions, not what they do not know and is not used."""
    parts = {name: described(part) for name, part in task._asdict().items()}
    if task.class_weight is None:
        del parts["class_weight"]
    for name in ("l1_of", "groups"):
        if not parts[name]:
            del parts[name]
    if not task.classes_grow:
        del parts["classes_grow"]
    del parts["calibrate"]  # which is among the parameters
    return parts


def _of_classes(model: Model) -> dict[str, Any]:
    """What there is to say of classes beside their names, where it is not what is usual."""
    said = {
        "class_totals": model.class_totals,
        "decision_threshold": model.decision_threshold,
        "calibration": model.calibration,
    }
    return {name: value for name, value in said.items() if value}


def _clock_in_file(clock: tuple[Any, ...]) -> dict[str, Any]:
    named = zip(CLOCK_FIELDS, clock, strict=False)
    return {name: value for name, value in named if LATER_CLOCK_FIELDS.get(name) != value}


def _clock_from_file(clock: dict[str, Any]) -> tuple[Any, ...]:
    if not clock:
        return ()
    fields = LATER_CLOCK_FIELDS | clock
    return (*(fields[name] for name in CLOCK_FIELDS[:-1]), tuple(fields["common"]))


def parameter_in_files(parameter: str) -> str:
    """What files call a parameter."""
    return PARAMETERS_IN_FILES.get(parameter, parameter)


def _renamed(named: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in named.items()}


def _with_parameters(search: Search | None, names: dict[str, str]) -> Search | None:
    """A search whose parameters have other names."""
    if search is None:
        return None
    return {**search, "parameters": _renamed(search["parameters"], names)}


def load_model(path: str | Path) -> Model:
    """Read a model; anything that is not a whole one is refused."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}.") from error
    found = re.match(rb"rarefy model ([1-9]\d{0,8})\n", data)
    if found is None:
        raise InputError(f"{path} is not a rarefy model.")
    if int(found[1]) > VERSION:
        raise InputError(
            f"{path} is a model of version {int(found[1])}, from a newer rarefy; this one reads "
            f"version {VERSION}. Update rarefy."
        )
    if zlib.crc32(memoryview(data)[:-4]) != int.from_bytes(data[-4:], "little"):
        raise InputError(f"{path} is damaged: its checksum is wrong.")
    try:
        return _parsed(data)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except (
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        ArithmeticError,
        RecursionError,
        ConfigError,
    ) as error:
        raise InputError(f"{path} is damaged: its content is invalid.") from error
    except MemoryError as error:
        raise InputError(f"{path}: not enough memory for this model.") from error


def _parsed(data: bytes) -> Model:
    begin = len(MAGIC) + 8
    end = begin + int.from_bytes(data[len(MAGIC) : begin], "little")
    header = json.loads(data[begin:end])
    header.pop("rarefy", None)  # which version wrote it, for whoever wants to know
    arrays = {}
    for name, (dtype, length) in header.pop("arrays").items():
        if dtype not in PACKED:
            raise ValueError("there are no such numbers")
        packed = np.frombuffer(data, dtype, length, end)
        arrays[name] = packed.astype(_type_of(name), casting="same_kind")
        end += packed.nbytes
    if end + 4 != len(data):
        raise ValueError("the arrays do not fill the file")
    reading, clock = header.pop("reading"), header.pop("clock")
    columns = columns_given(**reading["columns"])
    is_slim = "weights" in arrays
    task = _task(header.pop("task"), is_slim)
    calibrate = header["parameters"].get("calibrate", False)
    model = Model(
        **{
            **header,
            "task": checked_task(with_calibration(task, calibrate)),
            "classes": classes_in_file(texts(header["classes"]), header["matrix"]),
            "intercepts": tuple(header["intercepts"]),
            "progress": tuple(header["progress"]),
            "store": _renamed(header["store"], STORE_FROM_FILES),
            "parameters": _renamed(
                _parameters(header["parameters"], is_slim), PARAMETERS_FROM_FILES
            ),
            "reading": Reading(columns, checked_crosses(reading["cross"])),
            "class_totals": tuple(header.get("class_totals", ())),
            "calibration": restored(header["calibration"]) if "calibration" in header else None,
            "search": _with_parameters(built(header.get("search")), PARAMETERS_FROM_FILES),
        },
        kept=_kept_of(arrays) if is_slim else NOTHING_KEPT,
        state=None if is_slim else arrays,
        clock=_clock_from_file(clock),
    )
    check_parts(model)
    if not is_slim:
        model = model._replace(kept=model.learner().settled().kept())
    check_kept(model)
    return model


def _task(described_one: dict[str, Any], is_slim: bool) -> Task:
    """Prediction has no need of a rule: one that is not known here is left as it is described."""
    rule = described_one["rule"]
    task = Task(**{name: built(part) for name, part in {**described_one, "rule": None}.items()})
    return task._replace(rule=rule if is_slim and is_unknown(rule) else built(rule))


def _parameters(described_ones: dict[str, Any], is_slim: bool) -> Any:
    rule = described_ones.get("rule")
    if is_slim and is_unknown(rule):
        return {**built({**described_ones, "rule": None}), "rule": rule}
    return built(described_ones)


def _type_of(name: str) -> str:
    """What an array is made of; those of a search for parameters are few models' only."""
    if name in ARRAYS:
        return ARRAYS[name]
    from rarefy.tuning.checkpoint import SEARCH_ARRAYS

    return SEARCH_ARRAYS[name]


def _packed(array: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers in as few bytes as all of them fit; others as they are."""
    if array.dtype.kind == "f" or array.size == 0:
        return array
    least, most = (np.min_scalar_type(int(end)) for end in (array.min(), array.max()))
    return array.astype(np.result_type(least, most).newbyteorder("<"))


def _arrays_of(kept: Kept) -> Arrays:
    arrays: Arrays = {
        "keys": kept.keys,
        "outputs": kept.outputs,
        "weights": kept.weights,
    }
    if kept.counts is not None:
        arrays["counts"] = kept.counts
    if kept.r is not None:
        arrays["r"] = kept.r
    if kept.names is not None:
        texts = [name.encode() for name in kept.names]
        arrays["name_lengths"] = np.array([len(text) for text in texts], dtype=np.int64)
        arrays["name_text"] = np.frombuffer(b"".join(texts), np.uint8)
    return arrays


def _kept_of(arrays: Arrays) -> Kept:
    names = None
    if "name_lengths" in arrays:
        text, lengths = arrays["name_text"].tobytes(), arrays["name_lengths"]
        if lengths.min(initial=0) < 0 or lengths.sum() != len(text):
            raise ValueError("the names do not fill their text")
        ends = [0, *np.cumsum(lengths).tolist()]
        names = [text[begin:end].decode() for begin, end in pairwise(ends)]
    return Kept(
        arrays["keys"],
        arrays["outputs"],
        arrays["weights"],
        names,
        arrays.get("counts"),
        arrays.get("r"),
    )
