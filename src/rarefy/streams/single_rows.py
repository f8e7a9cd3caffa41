"""Rows of Python, learned and scored as those of files are."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from rarefy.arrays import Floats
from rarefy.errors import InputError
from rarefy.readers import Reader
from rarefy.readers.batch import Batch
from rarefy.readers.in_memory import NAME, LinesReader, RowsReader
from rarefy.readers.single.dict_batches import DictBatches
from rarefy.readers.single.row_lines import Line, RowLines
from rarefy.stores import Prepared
from rarefy.streams.class_numbers import ClassNumbers
from rarefy.streams.fast_path import FastPath
from rarefy.streams.pipeline import prepared_batches
from rarefy.streams.stream_model import Reading, StreamModel
from rarefy.system.deferred_signals import Deferral


class SingleRows:
    """Reads rows as the files were read from which a model has learned.

    Rows are a list of dicts, pairs or texts (see row_lines.py), a data frame, or a reader.
    """

    def __init__(self, model: StreamModel) -> None:
        self.model = model
        columns, self._cross = model.reading
        self._columns = columns._replace(label_needed=False)
        self._with_label = columns._replace(label_needed=True)
        self._lines = RowLines(self._columns)
        self._labelled_lines = RowLines(self._with_label)
        self._dicts = DictBatches(self._columns)
        self.fast_path = FastPath(model, self._columns, self._cross)

    def reads_like(self, reading: Reading) -> bool:
        return (self._with_label, self._cross) == (
            reading.columns._replace(label_needed=True),
            reading.cross,
        )

    def scores(self, rows: Any, format: str | None = None) -> Floats:
        """One score a row, or one a class."""
        return self.scores_of(self.read(rows, format))

    def read(self, rows: Any, format: str | None = None) -> list[Batch]:
        """Rows to be scored, for which the model itself is not needed."""
        return self._batches(rows, format, is_labelled=False, names_wanted=False)

    def scores_of(self, batches: Sequence[Batch]) -> Floats:
        """The scores of rows that were read."""
        model, scores = self.model, [np.empty((0, self.model.learner.n_outputs))]
        for batch in batches:
            prepared = model.store.prepare(batch)
            scores.append(model.scores_of(prepared))
        return np.concatenate(scores)

    def prepared(
        self,
        rows: Any,
        y: Floats | None,
        importance: Floats | None,
        format: str | None = None,
        numbers: ClassNumbers | None = None,
    ) -> list[Prepared]:
        """All rows, ready to be learned; without `y`, they have their labels themselves.

        Labels of classes that grow have the `numbers`, which go on where a class is new.
        """
        store, names_wanted = self.model.store, self.model.store.names_wanted
        batches = self._batches(rows, format, is_labelled=y is None, names_wanted=names_wanted)
        ready, begin = [], 0
        for batch in batches:
            end = begin + len(batch.labels)
            weights = batch.importance if y is None else np.ones(end - begin)
            if importance is not None:
                weights = importance[begin:end]
            prepared = store.prepare(batch._replace(importance=weights))
            if y is not None:
                ready.append(prepared._replace(y=y[begin:end]))
            elif numbers is not None:
                ready.append(prepared._replace(y=numbers.of_batch(batch)))
            else:
                ready.append(self.model.with_targets(prepared))
            begin = end
        return ready

    def learn(self, ready: Sequence[Prepared], numbers: ClassNumbers | None = None) -> None:
        """Learn what was prepared."""
        for part in ready:
            if numbers is None:
                self.model.learn(part)
            else:
                self.model.learn_with_new_classes(part, numbers.names)

    def _batches(
        self, rows: Any, format: str | None, *, is_labelled: bool, names_wanted: bool
    ) -> list[Batch]:
        def read(reader: Reader) -> list[Batch]:
            reader.names_wanted = names_wanted
            columns = self._with_label if is_labelled else self._columns
            reader.read_like(columns, self._cross, by_model=False)
            return list(reader)

        if isinstance(rows, Reader):
            return read(rows)
        classes = () if self.model.task.classes_grow else self.model.classes
        if not isinstance(rows, list | tuple):
            return read(RowsReader(rows, classes))
        if format is None and not is_labelled and self._columns.named and not self._cross:
            found = self._dicts.batches(rows, names_wanted=names_wanted)
            if found is not None:
                return found
        as_line = (self._labelled_lines if is_labelled else self._lines).line
        lines = [as_line(x, number, format) for number, x in enumerate(rows, start=1)]
        batches: list[Batch] = []
        for part in _readable_together(lines):
            batches += read(LinesReader((line.text for line in part), part[0].format, classes))
        n_found = sum(len(batch.labels) for batch in batches)
        if n_found != len(lines):
            raise InputError(
                f"{NAME}: {n_found:,} rows were found in {len(lines):,} texts; one in each is "
                f"expected (and in CSV with a header, two lines: the header and the row)."
            )
        return batches


def learn_reader(model: StreamModel, reader: Reader) -> None:
    """Learn all rows of a reader once; if one is invalid, those of the batches before are learned.

    A model that has learned nothing, nor was told how to read, reads as the reader says.
    """
    if model.reading == Reading():
        reader.names_wanted = model.store.names_wanted
        _learn_batches(model, reader, reader)
        return
    with model.reading_again(
        reader, label_needed=True, names_wanted=model.store.names_wanted
    ) as again:
        _learn_batches(model, again, reader)


def _learn_batches(model: StreamModel, reader: Reader, original: Reader) -> None:
    grows = model.task.classes_grow
    finish = (lambda prepared: prepared) if grows else model.with_targets
    for prepared in prepared_batches(reader, model.store, finish):
        if not len(prepared.batch.labels):
            continue
        with Deferral():
            if model.reading == Reading():
                model.begin(prepared.batch, original)
            if grows:
                numbers = ClassNumbers(model.classes)
                y = numbers.of_batch(prepared.batch)
                model.learn_with_new_classes(prepared._replace(y=y), numbers.names)
            else:
                with_targets = prepared if prepared.y is not None else model.with_targets(prepared)
                model.learn(with_targets)
        if model.watch is not None:
            model.watch.tell()


def _readable_together(lines: list[Line]) -> list[list[Line]]:
    """Lines of one format in one piece; rows of CSV have a header each, and are read one by one."""
    formats = {line.format for line in lines}
    if len(formats) > 1:
        raise InputError(f"{NAME}: the rows are of several formats ({', '.join(sorted(formats))}).")
    return [[line] for line in lines] if formats == {"csv"} else [lines] if lines else []
