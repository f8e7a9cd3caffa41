"""A served model, champion or challenger: it reads bodies, predicts and learns.

Estimators are imported with the first of them, since scikit-learn takes longer than all else.
"""

import inspect
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rarefy.analysis.explanation import explain_row
from rarefy.arrays import Flags, Floats
from rarefy.errors import ConfigError, DivergenceError, InputError, RarefyError
from rarefy.files.model import Model, model_of
from rarefy.files.model_file import save_model
from rarefy.model.answers import LOSSES_WITH_PROBABILITIES, chance, right_answers
from rarefy.readers.single.row_lines import RowLines
from rarefy.serving.bodies import OF_LINES, Body, encode_json, joined, json_of, with_member
from rarefy.serving.json_lists import lines_of_list
from rarefy.serving.limits import Limits
from rarefy.serving.refusals import RefusedError, TooLargeError
from rarefy.serving.track_record import Record
from rarefy.stores import Prepared
from rarefy.streams.class_numbers import ClassNumbers
from rarefy.streams.single_rows import SingleRows
from rarefy.streams.stream_model import StreamModel

PAUSE = 1e-5  # seconds
LARGE = 1 << 15  # bytes of a body, to read which takes a while
_importing = threading.Lock()


def import_estimators() -> Any:
    """The package of estimators, which one thread imports while others wait.

    Threads that import the same packages at the same time may find them half imported, where these
    import each other.
    """
    with _importing:
        return import_module("rarefy.estimators")


class Ready(NamedTuple):
    """Rows of bodies that have been read for a model; for others they have to be read again."""

    rows: int
    model: StreamModel | None
    parts: list[Prepared]


class Answered(NamedTuple):
    """What is predicted for some rows, and the probabilities of classes, if there are any."""

    answers: Any
    names: list[str] | None = None
    chances: Floats | None = None

    def as_json(self) -> list[dict[str, Any]]:
        found = [{"prediction": answer} for answer in self.answers.tolist()]
        if self.names is not None and self.chances is not None:
            for one, numbers in zip(found, self.chances.tolist(), strict=True):
                one["probabilities"] = dict(zip(self.names, numbers, strict=True))
        return found


class Member:
    """An estimator, and how it has done."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator
        self.diverged: str | None = None
        self.n_refused = 0  # bodies
        self._formats_read: set[str] = set()
        self.record: Record | None = None
        if estimator.stream_ is None:
            raise RefusedError(
                "the model was trained on matrices, and has no names of features; train it on "
                "files, or begin it with start()."
            )
        estimator._begin_fast_path(estimator._single().fast_path, has_learned=False)
        task = estimator._learned_by.task
        self._loss_name: str = task.loss_name
        has_chances = self._loss_name in LOSSES_WITH_PROBABILITIES and not task.is_regression
        self._has_two_chances = (
            has_chances and not task.classes_grow and len(estimator.classes_) == 2
        )
        self._class_names = [str(name) for name in getattr(estimator, "classes_", ())]
        if not task.is_open:
            self.record = Record(task)
            estimator._set_watch(self.record)

    @classmethod
    def created(cls, said: dict[str, Any], limits: Limits) -> "Member":
        """A model that has learned nothing; `said` are parameters of an estimator and of start."""
        estimators = import_estimators()
        of_start = inspect.signature(estimators.SparseOnlineClassifier.start).parameters
        start = {name: value for name, value in said.items() if name in of_start}
        rest = {name: value for name, value in said.items() if name not in of_start}
        classes = start.get("classes")
        name = "SparseOnlineRegressor" if classes is None else "SparseOnlineClassifier"
        estimator_class = getattr(estimators, name)
        if isinstance(classes, list) and len(classes) > limits.classes:
            raise TooLargeError(
                f"there are {len(classes):,} classes; {limits.classes:,} are allowed."
            )
        if isinstance(start.get("bits"), int) and start["bits"] > limits.bits:
            raise TooLargeError(f"bits={start['bits']}: {limits.bits} are allowed at most.")
        most = 1 << limits.bits
        if isinstance(start.get("capacity"), int) and start["capacity"] > most:
            raise TooLargeError(f"capacity={start['capacity']}: {most:,} are allowed at most.")
        try:
            start["cross"] = [tuple(names) for names in start.get("cross", ())]
            estimator = estimator_class(**rest).start(**start)
            estimator._be_ready_to_learn()
        except TypeError as error:
            raise ConfigError(f"there is no such parameter: {error}.") from error
        return cls(estimator)

    def challenger(self, parameters: dict[str, Any]) -> "Member":
        """A model with other parameters that has learned nothing, and reads the same rows."""
        ours = self.estimator
        stream, grows = ours.stream_, self.classes_grow
        try:
            estimator = type(ours)(**{**parameters})
        except TypeError as error:
            raise ConfigError(f"there is no such parameter: {error}.") from error
        classes = None if stream.task.is_regression else ours.classes_.tolist()
        estimator.start(classes="grow" if grows else classes, **_store(stream.store.settings()))
        estimator.stream_.reading = stream.reading
        estimator._be_ready_to_learn()
        return Member(estimator)

    @classmethod
    def loaded(cls, path: Path) -> "Member":
        return cls(import_estimators().persistence.load(path))

    def warm_up_another(self) -> None:
        """Have all compiled that the model will be asked for, by a new one of the same kind."""
        with suppress(RarefyError):
            self.challenger(self.estimator.get_params()).warm_up()

    def warm_up(self) -> None:
        """Do all that will be asked for, so that it is compiled; the model is of no use then.

        Machine code is kept on disk, so that this takes time only once. A model that cannot learn,
        or needs rows of another kind, is as warm as it can be.
        """
        body, row = self._made_up()
        lines_of_list(b"[]", 1)
        with suppress(InputError):
            self.judged(body, self.described().scorer())
            explain_row(self.described(), body.reader(self.reader_classes), 1)
            self.answers(body)
            self.answer(Body("json", row))
            self.check(body, Limits())
            self.learn([body])

    def _made_up(self) -> tuple[Body, bytes]:
        """A row that can be learned, and as it is sent to be predicted alone."""
        columns, task = self.estimator.stream_.reading.columns, self.estimator._learned_by.task
        label = 0 if task.is_regression else (self.reader_classes or ("0",))[0]
        if not columns.named:
            return Body("vw", f"{label} | a\n".encode()), b'{"x": 1.0}\n'
        texts = (*columns.text, *columns.categorical)
        row = {**dict.fromkeys(columns.numeric, 1.0), **dict.fromkeys(texts, "a b"), "x": 1.0}
        if columns.weight is not None:
            row[columns.weight] = 1.0
        line = encode_json(row) + b"\n"
        return Body("json", with_member(line, columns.label, label)), line

    @property
    def t(self) -> int:
        return int(self.estimator.t_)

    @property
    def classes_grow(self) -> bool:
        return bool(self.estimator._learned_by.task.classes_grow)

    @property
    def _single(self) -> SingleRows:
        single: SingleRows = self.estimator._single()
        return single

    @property
    def reader_classes(self) -> tuple[str, ...]:
        """By which readers know labels; those that grow come as they are."""
        return () if self.classes_grow else self.estimator.stream_.classes

    @property
    def label(self) -> str:
        """What the label is called in rows with names."""
        name: str = self.estimator.stream_.reading.columns.label
        return name

    # --- bodies -------------------------------------------------------------------------------

    def understood(self, body: Body) -> Body:
        """The body in a format that the model reads; objects of JSON can be lines of VW text."""
        if self._format_read(body) == body.format:
            return body
        columns, texts = self.estimator.stream_.reading.columns, []
        lines = RowLines(columns)
        for number, text in enumerate(body.data.splitlines(), start=1):
            row = json_of(text)
            label = row.pop(columns.label, None) if isinstance(row, dict) else None
            if not isinstance(label, int | float | None):
                raise RefusedError(f"rows:{number}: the label is {label!r}; a number is expected.")
            texts.append(b"" if label is None else f"{label} ".encode())
            texts.append(lines.line(row, number).text)
        return Body("vw", b"".join(texts))

    def _format_read(self, body: Body) -> str:
        columns = self.estimator.stream_.reading.columns
        is_read = body.format != "json" or columns.named or columns.complete
        return body.format if is_read else "vw"

    def takes_a_while(self, body: Body) -> bool:
        """Whether to read a body may take longer than others should wait.

        It does if it is long, or the first of its format, for which a parser may be compiled.
        """
        read = self._formats_read
        return len(body.data) > LARGE or not (
            body.format in read or self._format_read(body) in read
        )

    def check(self, body: Body, limits: Limits) -> "Ready":
        """Rows that can be learned; whatever is wrong with one is an error now."""
        if self.diverged is not None:
            raise RefusedError(f"the model does not learn any more: {self.diverged}")
        self.estimator._check_can_learn()
        numbers = ClassNumbers(self.estimator.stream_.classes) if self.classes_grow else None
        ready = self._single.prepared(body.reader(self.reader_classes), None, None, None, numbers)
        self._formats_read.add(body.format)
        if numbers is not None and len(numbers.names) > limits.classes:
            raise TooLargeError(f"there would be more than {limits.classes:,} classes.")
        n_rows = sum(len(part.batch.labels) for part in ready)
        if n_rows > limits.rows:
            raise TooLargeError(f"there are {n_rows:,} rows; {limits.rows:,} are allowed at once.")
        if n_rows == 0:
            raise RefusedError("there are no rows in the body.")
        return Ready(n_rows, self.estimator.stream_ if numbers is None else None, ready)

    def can_join(self, body: Body) -> bool:
        """Whether rows mean the same alone and behind those of another body."""
        return body.format in OF_LINES and not self.classes_grow

    def learn(self, bodies: Sequence[Body], ready: "Ready | None" = None) -> None:
        """Learn rows in their order, of which some are ready; what cannot be learned is counted.

        That they were checked does not mean that they are right for a model that has come since.
        """
        if self.diverged is not None:
            return
        try:
            if self.classes_grow:
                self.estimator.learn_many(joined(bodies).reader(()))
                time.sleep(PAUSE)
            elif ready is not None and ready.model is self.estimator.stream_:
                self._learn_parts(ready.parts)
            else:
                self.estimator._be_ready_to_learn()
                reader = joined(bodies).reader(self.reader_classes)
                self._learn_parts(self._single.prepared(reader, None, None))
        except DivergenceError as error:
            self.diverged = str(error)
        except InputError:  # nothing has been learned
            if len(bodies) == 1:
                self.n_refused += 1
                return
            for body in bodies:
                self.learn([body])

    def _learn_parts(self, parts: Sequence[Prepared]) -> None:
        """Learn rows; between blocks of them, a prediction that waits gets its turn."""
        for part in parts:
            self._single.learn([part])
            time.sleep(PAUSE)
        self.estimator._note_learned()
        self.estimator._tell_drifts()

    # --- predictions --------------------------------------------------------------------------

    def answers(self, body: Body) -> list[dict[str, Any]]:
        """What is predicted for each row."""
        single, body = self._single, self.understood(body)
        batches = single.read(body.reader(self.reader_classes))
        self._formats_read.add(body.format)
        found = []
        for batch in batches:
            with self.estimator._lock:  # scores, and what scales them, are of one moment
                answered = self._answered(single.scores_of([batch]))
            found += answered.as_json()  # which takes longer, and keeps nobody waiting
        return found

    def answer(self, body: Body) -> dict[str, Any]:
        """What is predicted for a single row, an object of JSON on a line."""
        row, format = self._row_of(body)
        with self.estimator._lock:
            return self._answered_one(self.estimator._scores_of_row(row, format))

    def _row_of(self, body: Body) -> tuple[Any, str | None]:
        """A row, and what format it has; numbers in columns of texts count as they are written."""
        if self._format_read(body) != body.format:
            row = json_of(body.data)
            if not isinstance(row, dict):
                raise RefusedError("an object of JSON is expected.")
            return row, None
        try:
            return body.data.decode(), body.format
        except UnicodeDecodeError as error:
            raise RefusedError(f"the body is not valid JSON: {error}.") from error

    def judged(self, body: Body, model: StreamModel) -> Flags | None:
        """Whether this or an earlier state of the model is right about each of some rows."""
        if model.task.is_regression or self.classes_grow:
            return None
        try:
            scored = [
                (scored.scores, scored.y) for scored in model.scored(body.reader(model.classes))
            ]
        except InputError:
            return None
        return np.concatenate([right_answers(scores, y) for scores, y in scored]).astype(bool)

    def _answered_one(self, scores: Floats) -> dict[str, Any]:
        """What one row's scores say; of two classes in less time."""
        estimator = self.estimator
        if scores.size > 1 or not self._has_two_chances:
            return self._answered(scores).as_json()[0]
        scaling = estimator.learner_.settled().scaling
        of_second = chance(self._loss_name, scores.item(), scaling)
        first, second = self._class_names
        return {
            "prediction": estimator._answer(scores),
            "probabilities": {first: 1.0 - of_second, second: of_second},
        }

    def _answered(self, scores: Floats) -> "Answered":
        estimator = self.estimator
        task, answers = estimator._learned_by.task, estimator._answers(scores)
        if task.is_regression or task.loss_name not in LOSSES_WITH_PROBABILITIES:
            return Answered(answers)
        names = [str(label) for label in estimator.classes_.tolist()]
        return Answered(answers, names, estimator._probabilities(scores)[:, : len(names)])

    # --- files --------------------------------------------------------------------------------

    @property
    def can_be_saved(self) -> bool:
        return not self.classes_grow or len(self.estimator.classes_) >= 2

    def save(self, path: Path) -> None:
        """Write the model to a file; while nothing is learned."""
        from rarefy.estimators.persistence import model_of_estimator

        save_model(path, model_of_estimator(self.estimator, slim=self.estimator.is_slim_))

    def described(self) -> Model:
        """The model with its weights, for people to look at; while nothing is learned."""
        estimator = self.estimator
        return model_of(estimator._as_stream(), estimator._learned_by.parameters, slim=True)


def _store(settings: dict[str, Any]) -> dict[str, Any]:
    """What start() takes of a store."""
    named = {**settings, "store": settings["kind"]}
    return {name: named[name] for name in ("store", "bits", "capacity", "names") if name in named}


def loaded_member(path: Path) -> Member:
    """The model in a file that somebody has sent; anything else is refused."""
    try:
        return Member.loaded(path)
    except InputError as error:
        raise RefusedError(str(error).replace(str(path), "the file")) from error
