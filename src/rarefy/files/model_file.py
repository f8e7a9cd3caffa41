"""Models on disk: a line that says what it is, a JSON header, and arrays; no pickle.

rarefy model 1\\n (2 in the middle of a search for parameters, or of a run with a limit to features)
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
import math
import re
import zlib
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.checks import check_whole
from rarefy.engine.snapshots import Arrays
from rarefy.engine.task import Task
from rarefy.errors import ConfigError, InputError
from rarefy.files.label_types import is_label_type
from rarefy.model.clock import Clock
from rarefy.model.importance import PLAIN, Weighting
from rarefy.model.losses import LOSSES, REGRESSION_LOSSES
from rarefy.model.multiclass import MULTICLASS
from rarefy.model.schedules import SCHEDULES, Constant
from rarefy.parameters.describe import built, described, is_unknown
from rarefy.parameters.table import MOST_FEATURES as LARGEST_TARGET
from rarefy.readers.features.columns import Columns, checked_columns
from rarefy.readers.features.crosses import checked_crosses
from rarefy.readers.features.labels import checked_classes, checked_names
from rarefy.rules.ogd import Ogd
from rarefy.stores import STATE_ARRAYS, Kept, check_store, make_store
from rarefy.stores.array import MOST_FEATURES
from rarefy.streams.run import NEVER, Position
from rarefy.streams.stream_model import Reading, StreamModel
from rarefy.system.atomic_write import Output
from rarefy.version import __version__

VERSION = 2  # the newest that is read
MAGIC = b"rarefy model 1\n"  # of all models that older versions read
UNSETTLED_MAGIC = b"rarefy model 2\n"
KEPT_ARRAYS = {
    "keys": "<u8",
    "outputs": "<i8",
    "weights": "<f8",
    "counts": "<i8",
    "r": "<f8",
    "name_lengths": "<i8",
    "name_text": "|u1",
}
ARRAYS = {**KEPT_ARRAYS, **STATE_ARRAYS, "intercept_state": "<f8"}
PACKED = ("<f8", *(f"{'|' if n == 1 else '<'}{kind}{n}" for kind in "iu" for n in (1, 2, 4, 8)))
CLOCK_FIELDS = Clock._fields[1:]  # without the schedule
# Names in files that differ from those that users know, and back.
PARAMETERS_IN_FILES = {"target_features": "max_features"}
PARAMETERS_FROM_FILES = {"max_features": "target_features"}
STORE_IN_FILES = {"capacity": "max_features"}
STORE_FROM_FILES = {"max_features": "capacity"}
Search = dict[str, Any]  # for parameters, with all that it takes to go on
NOTHING_KEPT = Kept(np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0), None, None)


class Model(NamedTuple):
    """What a file says: all that a prediction needs, and how the model came to be."""

    task: Task
    classes: tuple[str, ...]
    store: dict[str, Any]
    reading: Reading
    intercepts: tuple[float, ...]
    parameters: dict[str, Any]  # that the user gave
    examples: int
    progress: tuple[float, ...]  # weighted sums of losses, examples and right answers
    kept: Kept
    run: dict[str, Any] | None = None  # how to go on with a run that has not come to its end
    state: Arrays | None = None  # None: slim, it cannot go on learning
    clock: tuple[float, ...] = ()
    matrix: dict[str, Any] | None = None  # labels and columns of the matrices it was learned from
    search: Search | None = None  # where parameters are still to be found
    limit: int | None = None  # of features that have a weight, once the run is over

    @property
    def asked(self) -> dict[str, Any]:
        """The parameters that the user gave, without what was found so far."""
        asked: dict[str, Any] = (self.search or {}).get("parameters", self.parameters)
        return asked

    @property
    def is_settled(self) -> bool:
        return self.search is None and self.limit is None

    @property
    def loss(self) -> str:
        return self.task.loss_name

    @property
    def multiclass(self) -> str:
        return self.task.multiclass

    @property
    def progressive_loss(self) -> float:
        total, weight, _ = self.progress
        return total / weight if weight else 0.0

    def scorer(self) -> StreamModel:
        """A model to predict with; it cannot go on learning."""
        task = Task(Ogd(), Constant(1.0), self.task.loss, self.multiclass)
        # a limit of features would only take room for all of them
        store = make_store(**{**self.store, "capacity": None})
        model = StreamModel(task, store, self.classes)
        model.reading = self.reading
        learner = model.learner.settled()
        slots = store.slots_for(learner, self.kept)
        learner.state[slots * learner.n_outputs + self.kept.outputs, 0] = self.kept.weights
        learner.intercept_state[:, 0] = self.intercepts
        learner.clock = learner.clock._replace(t=float(self.examples))
        learner.progress[:] = self.progress
        return model

    def learner(self) -> StreamModel:
        """A model that goes on learning from where this one was."""
        if self.state is None:
            raise InputError(
                "the model is slim, or refitted: it can predict, but what it would need to go on "
                "learning was not saved."
            )
        task = self.task
        if self.search is not None:
            from rarefy.tuning.open_task import OpenTask, begun_with, resumed

            space, point = begun_with(self.search)
            rule, schedule = space.rule_at(point)
            task = task._replace(rule=rule, schedule=schedule, weighting=PLAIN)
        model = StreamModel(task, make_store(**self.store), self.classes)
        model.reading = self.reading
        model.target_features = self.limit
        learner = model.learner.settled()
        model.store.restore(learner, self.state)
        learner.intercept_state[:] = self.state["intercept_state"].reshape(
            learner.intercept_state.shape
        )
        learner.clock = Clock(task.schedule, *self.clock)
        learner.progress[:] = self.progress
        if self.search is not None:
            model.adopt(resumed(self.search, self.state, learner))
            model.task = OpenTask(space, None, *task[2:])
        return model


def model_of(
    model: StreamModel,
    parameters: dict[str, Any],
    *,
    run: dict[str, Any] | None = None,
    matrix: dict[str, Any] | None = None,
    slim: bool = False,
) -> Model:
    """What is to be kept of a model that has learned."""
    settled = model.settled()
    learner = settled.learner.settled()
    saved = Model(
        settled.task,
        model.classes,
        model.store.settings(),
        model.reading,
        tuple(learner.intercept().tolist()),
        {**parameters, **learner.found},
        learner.t,
        tuple(learner.progress.tolist()),
        settled.kept() if slim else NOTHING_KEPT,  # it follows from the state
        run,
        matrix=matrix,
    )
    if slim:
        return saved
    in_use, search, arrays = model.learner.checkpoint()
    arrays |= model.store.snapshot(in_use)
    arrays["intercept_state"] = in_use.intercept_state
    if search is not None:
        search = {"parameters": parameters, **search}
    return saved._replace(
        state=arrays, clock=in_use.clock[1:], search=search, limit=model.target_features
    )


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
            "task": {name: described(part) for name, part in model.task._asdict().items()},
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
            "clock": dict(zip(CLOCK_FIELDS, model.clock, strict=False)),
            **({} if model.is_settled else unsettled),
            "arrays": {name: [array.dtype.str, array.size] for name, array in packed.items()},
        },
        allow_nan=False,
    ).encode()
    magic = MAGIC if model.is_settled else UNSETTLED_MAGIC
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


def name_in_files(parameter: str) -> str:
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
        raise InputError(f"{path} is damaged: what it says makes no sense.") from error
    except MemoryError as error:
        raise InputError(f"{path}: there is not enough memory for this model.") from error


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
    columns = checked_columns(Columns(**reading["columns"]))
    is_slim = "weights" in arrays
    task = header.pop("task")
    model = Model(
        **{
            **header,
            "task": _checked_task(_task(task, is_slim)),
            "classes": _classes(texts(header["classes"]), header["matrix"]),
            "intercepts": tuple(header["intercepts"]),
            "progress": tuple(header["progress"]),
            "store": _renamed(header["store"], STORE_FROM_FILES),
            "parameters": _renamed(
                _parameters(header["parameters"], is_slim), PARAMETERS_FROM_FILES
            ),
            "reading": Reading(columns, checked_crosses(reading["cross"])),
            "search": _with_parameters(built(header.get("search")), PARAMETERS_FROM_FILES),
        },
        kept=_kept_of(arrays) if is_slim else NOTHING_KEPT,
        state=None if is_slim else arrays,
        clock=tuple(clock[name] for name in CLOCK_FIELDS) if clock else (),
    )
    _check(model)
    if not is_slim:
        model = model._replace(kept=model.learner().settled().kept())
    _check_kept(model)
    return model


def _classes(names: list[str], matrix: Any) -> tuple[str, ...]:
    """Those of matrices need not be such that files can have them."""
    return checked_classes(names) if matrix is None else checked_names(names)


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


def texts(found: Any) -> list[str]:
    """The list, if it is one of texts."""
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise ValueError("a list of texts is expected")
    return found


def _checked_task(task: Task) -> Task:
    right = (
        (task.rule is None or is_unknown(task.rule) or hasattr(task.rule, "state_fields"))
        and type(task.schedule) in SCHEDULES.values()
        and type(task.loss) in LOSSES.values()
        and task.multiclass in MULTICLASS
        and isinstance(task.fit_intercept, bool)
        and isinstance(task.weighting, Weighting)
    )
    if not right:
        raise ValueError("there is no such task")
    return task


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


def _check(model: Model) -> None:
    """Refuse what no training can have written."""
    check_store(**model.store)
    if model.limit is not None:
        check_whole("limit", model.limit, 1, LARGEST_TARGET)
    n_classes = len(model.classes)
    numbers = (*model.intercepts, *model.progress, *model.clock)
    right = (
        (n_classes == 0) == (model.loss in REGRESSION_LOSSES)
        and len(model.intercepts) == (n_classes if n_classes > 2 else 1)
        and len(model.progress) == 3
        and all(isinstance(number, float) and math.isfinite(number) for number in numbers)
        and type(model.examples) is int
        and model.examples >= 0
        and (not model.clock or model.clock[0] == model.examples)
        and isinstance(model.parameters, dict)
        and "kind" in model.store
        and (model.run is None or _is_run(model.run))
        and (model.matrix is None or _is_matrix(**model.matrix))
        and (model.is_settled or model.state is not None)
    )
    if not right:
        raise ValueError("the parts of the model contradict each other")


def _is_run(run: Any) -> bool:
    """Whether what is shown of it makes sense; to go on with it takes more."""
    if not isinstance(run, dict):
        return False
    if "reader" in run:
        texts(run["reader"]["files"])
    if "place" in run:
        for name, value in {**Position(**run["place"])._asdict(), "passes": run["passes"]}.items():
            check_whole(name, value, 0, NEVER)
    return True


def _is_matrix(labels: Any, columns: Any, n_features: Any) -> bool:
    return (
        (labels is None or is_label_type(labels))
        and (columns is None or len(texts(columns)) <= n_features)
        and type(n_features) is int
        and 0 <= n_features <= MOST_FEATURES
    )


def _check_kept(model: Model) -> None:
    kept, n_outputs = model.kept, len(model.intercepts)
    beside = [kept.keys, kept.outputs, kept.names, kept.counts, kept.r]
    right = (
        np.isfinite(kept.weights).all()
        and (kept.r is None or np.isfinite(kept.r).all())
        and all(len(part) == len(kept.weights) for part in beside if part is not None)
        and ((kept.outputs >= 0) & (kept.outputs < n_outputs)).all()
        and (kept.counts is None or kept.counts.min(initial=1) > 0)
        and (kept.keys < make_store(**{**model.store, "capacity": None}).most_keys).all()
    )
    if not right:
        raise ValueError("no training gives such weights")
