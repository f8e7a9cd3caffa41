"""Whether files have rows, and rows that a model can read, told by the first of them."""

from collections.abc import Iterable

import numpy as np

from rarefy.errors import InputError
from rarefy.readers import Reader
from rarefy.streams.stream_model import StreamModel

ENOUGH = 20  # rows without a known feature that are no accident


def check_first_rows(old: StreamModel, path: str, readers: Iterable[Reader], purpose: str) -> None:
    """Refuse files that have no rows at all, or rows with nothing that the old model knows.

    A model has no weights for the features of rows that are read in another way: of other columns,
    say. If its features are hashed, that cannot be seen.
    """
    files: list[str] = []
    has_rows = False
    for reader in readers:
        files += reader.files
        n_rows, n_known = _known_rows(old, reader)
        has_rows = has_rows or n_rows > 0
        if n_rows >= ENOUGH and not n_known and old.learner.settled().n_nonzero():
            raise InputError(
                f"{reader.files[0]}: {path} has no weight for any feature of the first {n_rows:,} "
                f"rows. Either they come from elsewhere, or they are read in another way (other "
                f"columns, names or format): give rows like those that it has learned."
            )
    if not has_rows:
        raise InputError(f"{', '.join(files)}: there are no rows to {purpose}.")


def _known_rows(old: StreamModel, reader: Reader) -> tuple[int, int]:
    """How many rows the first batch has, and how many of these a feature with a weight."""
    with old.reading_again(reader, label_needed=True) as again:
        for batch in again:  # here, so that nothing is read ahead
            n_rows = len(batch.labels)
            if n_rows:
                scores = old.scores_of(old.store.prepare(batch))
                is_known = scores != old.learner.settled().intercept()
                return n_rows, int(np.count_nonzero(is_known.any(axis=1)))
    return 0, 0
