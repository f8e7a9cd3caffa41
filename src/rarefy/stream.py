"""Learning from, and predicting, the batches of a reader."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rarefy.engine import LARGEST_VALUE, Rows
from rarefy.errors import InputError
from rarefy.learner import Learner
from rarefy.losses import MARGIN_LOSSES
from rarefy.readers import Reader
from rarefy.readers.ahead import READY_ITEMS, ahead
from rarefy.readers.batch import Batch
from rarefy.slots import HashedSlots

Floats = NDArray[np.float64]
# One batch is being made, some wait, one is being learned.
ROOMS = READY_ITEMS + 2


def targets(loss: str, labels: Floats) -> tuple[Floats, str]:
    """What the loss learns for each label (NaN where it cannot), and which labels it can take."""
    if loss in MARGIN_LOSSES:
        y = np.where(labels == 1.0, 1.0, np.where((labels == -1.0) | (labels == 0.0), -1.0, np.nan))
        return y, "-1 or 0, and 1"
    return np.where(np.abs(labels) <= LARGEST_VALUE, labels, np.nan), "a number"


def training_rows(batch: Batch, slots: HashedSlots, loss: str) -> Rows:
    """Rows to learn; a label that the loss cannot take is an error that names its place."""
    y, accepted = targets(loss, batch.labels)
    if np.isnan(y).any():
        row = int(np.isnan(y).argmax())
        raise InputError(
            f"{batch.place(row)}: the label is {batch.labels[row]:g}; "
            f"loss={loss!r} takes {accepted}."
        )
    return slots.rows(checked(batch), y)


def checked(batch: Batch) -> Batch:
    """The batch, if the engine can take all of its values; an error with the place otherwise."""
    for name, numbers in (("value", batch.values), ("importance", batch.importance)):
        if len(numbers) and not np.abs(numbers).max() <= LARGEST_VALUE:
            first = int((np.abs(numbers) > LARGEST_VALUE).argmax())
            row = first
            if name == "value":
                row = int(np.searchsorted(batch.indptr, first, side="right")) - 1
            raise InputError(
                f"{batch.place(row)}: the {name} {numbers[first]:g} is too large; "
                f"numbers up to {LARGEST_VALUE:g} are expected."
            )
    return batch


def learn_stream(
    learner: Learner, reader: Reader, slots: HashedSlots, loss: str, *, passes: int = 1
) -> None:
    """Learn all that the reader gives, `passes` times."""
    for _ in range(passes):
        for batch in ahead(reader.batches(ROOMS)):
            learner.learn(training_rows(batch, slots, loss), restorable=False)


def score_stream(learner: Learner, reader: Reader, slots: HashedSlots) -> Iterator[Floats]:
    """The score of every row, a batch at a time; labels do not matter."""
    for batch in ahead(reader.batches(ROOMS)):
        yield learner.scores(slots.rows(checked(batch), batch.labels)).ravel()
