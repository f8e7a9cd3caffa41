"""What a learner predicts just before it learns, for those who want to know."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from rarefy.arrays import Floats
from rarefy.model.calibration import Calibration

if TYPE_CHECKING:
    from rarefy.engine.learner import Learner


class Seen(NamedTuple):
    """Rows, their scores just before they were learned, and the calibration before the first."""

    scores: Floats  # (row, output)
    y: Floats
    importance: Floats
    calibration: Calibration | None


@contextmanager
def watched(learner: "Learner", seen: list[Seen]) -> Iterator[None]:
    """Inside, all rows that the learner learns are added to `seen`."""
    learner.seen = seen
    try:
        yield
    finally:
        learner.seen = None
