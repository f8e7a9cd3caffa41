"""Lost answers by the value of a column."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rarefy.arrays import Floats, Numbers
from rarefy.errors import InputError
from rarefy.model.answers import right_answers
from rarefy.readers import Reader
from rarefy.readers.feature_names import texts_by_key
from rarefy.readers.features.columns import Columns
from rarefy.training.plan import reader_of
from rarefy.updating.bound import upper_bound
from rarefy.updating.path import BothScores

MISSING = "(none)"  # what rows without a value are called
NO_VALUE = np.uint64(0)  # in place of the key of a value
NO_KEYS, NO_LINES = np.empty(0, np.uint64), np.empty(0, np.int64)
Chosen = Callable[[int, int], np.ndarray]  # of rows from the first one on, so many


class Slices(NamedTuple):
    """The values of a column, and the number of each row's value."""

    values: tuple[str, ...]
    of_rows: Numbers
    lines: Numbers  # where the rows stand

    def only(self, lines: Numbers, counts: np.ndarray) -> "Slices":
        """Those of rows that count; all of them must be the rows that were scored."""
        if not np.array_equal(lines, self.lines):
            raise InputError("the column of the slices cannot be read from the same rows.")
        return self._replace(of_rows=self.of_rows[counts], lines=lines[counts])


class SliceLoss(NamedTuple):
    """What the rows with one value lose.

    Attributes
    ----------
    value : str
        The value.
    n_rows, n_lost : int
        How many held-out rows have it, and how many of their answers are lost.
    lost_rate : float
        The share of lost answers, by weight.
    bound : float
        What that rate is below on new rows, with a confidence of 97.5 %.
    least_bound : float
        The least bound that so many rows can show.
    """

    value: str
    n_rows: int
    n_lost: int
    lost_rate: float
    bound: float
    least_bound: float

    def is_within(self, budget: float) -> bool:
        """Whether the budget is kept; with too few rows to show it, nothing may be lost."""
        return self.bound <= budget or (self.least_bound > budget and self.n_lost == 0)


def read_slices(reader: Reader, column: str, chosen: Chosen) -> Slices:
    """The values of a column in the chosen rows of a reader's files."""
    settings = reader.settings()
    read_as = Columns(**settings["columns"])
    columns = Columns(
        read_as.label if column != read_as.label else "",
        categorical=(column,),
        ignore=("*",),
        delimiter=read_as.delimiter,
        header=read_as.header,
        quotes=read_as.quotes,
        label_needed=False,
    )
    of_column = reader_of({**settings, "columns": columns._asdict(), "classes": (), "cross": ()})
    of_column.names_wanted = True
    names: dict[int, str] = {}
    keys, lines, n_rows = [NO_KEYS], [NO_LINES], 0
    for batch in of_column:
        rows = np.flatnonzero(chosen(n_rows, len(batch.lines)))
        n_rows += len(batch.lines)
        has_value = np.diff(batch.indptr)[rows] > 0
        own = np.full(len(rows), NO_VALUE)
        own[has_value] = batch.keys[batch.indptr[rows[has_value]]]
        unknown = set(own[has_value].tolist()) - names.keys()
        names |= texts_by_key(batch.names, unknown)
        keys.append(own)
        lines.append(batch.lines[rows])
    values, of_rows = np.unique(np.concatenate(keys), return_inverse=True)
    shown = (names.get(key, MISSING).removeprefix(f"{column}=") for key in values.tolist())
    return Slices(tuple(shown), of_rows, np.concatenate(lines))


def slice_losses(
    rows: BothScores, slices: Slices, scores: Floats, threshold: float
) -> list[SliceLoss]:
    """What each slice loses by a model with these scores, the worst first."""
    lost = rows.old_right & ~right_answers(scores, rows.y, threshold)
    found = []
    for number, value in enumerate(slices.values):
        own = slices.of_rows == number
        weights, own_lost = rows.importance[own], lost[own]
        if len(weights):
            rate = float(weights[own_lost].sum() / weights.sum())
            bounds = (upper_bound(each, weights) for each in (own_lost, own_lost & False))
            found.append(SliceLoss(value, len(weights), int(own_lost.sum()), rate, *bounds))
    return sorted(found, key=lambda each: (-each.lost_rate, -each.bound, each.value))
