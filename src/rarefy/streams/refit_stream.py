"""The refit of a model that has learned from a stream: its rows are read once more."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import Floats, Rows, as_rows, without
from rarefy.engine.refit import refitted
from rarefy.errors import InputError
from rarefy.streams.run import Run


class Refit(NamedTuple):
    """How the weights that were kept are learned again when the run is over."""

    l2: float | None  # None: chosen by holding out a quarter of the examples
    n_features: int | None  # that are left at most


class KeptRows(NamedTuple):
    """All rows of a run, with nothing but the features that were kept."""

    X: Any  # CSR; a column is a feature of the learner
    y: Floats
    importance: Floats
    is_held_out: NDArray[np.bool_]


def check_readable_again(run: Run) -> None:
    """Refuse a run whose rows are gone when it is over, before it begins."""
    if not run.can_be_read_again:
        raise InputError(
            "a refit reads the data once more, and standard input or a pipe can be read only once: "
            "name files, or keep the rows with cache=... (--cache)."
        )


def refit_stream(run: Run, refit: Refit) -> None:
    """Refit the weights of a run that is over; held-out rows are only predicted."""
    model = run.model
    X, y, importance, held = kept_rows(run)
    learner = model.learner.settled()
    weighed = model.importance_now(y[~held], importance[~held])
    model.adopt(refitted(learner, X[~held], y[~held], weighed, *refit))
    if run.held_out is not None:
        scores = model.learner.scores(as_rows(X[held], y[held], importance[held]))
        run.held_out.end_with(model, scores, y[held], importance[held])


def kept_rows(run: Run) -> KeptRows:
    """Read the rows of a run that is over once more."""
    from scipy import sparse

    learner = run.model.learner.settled()
    slots, _ = learner.nonzero()
    keys, first = np.unique(run.model.kept().keys, return_index=True)
    features = slots[first] // learner.n_outputs
    parts, held = [], []
    for prepared, is_held_out in run.again():
        parts.append(_only_kept(prepared.rows(), keys, features))
        held.append(is_held_out)
    if not parts:
        raise InputError(f"{' '.join(run.reader.files)}: the rows that were learned are gone.")
    lengths = np.concatenate([np.diff(part.indptr) for part in parts])
    indices, values, y, importance = (
        np.concatenate(arrays) for arrays in list(zip(*parts, strict=True))[1:]
    )
    X = sparse.csr_array(
        (values, indices, np.append(0, np.cumsum(lengths))), shape=(len(y), learner.n_features)
    )
    return KeptRows(X, y, importance, np.concatenate(held))


def _only_kept(rows: Rows, keys: NDArray[np.uint64], features: NDArray[np.int64]) -> Rows:
    """Copies of the rows without other features than the keys, which are in order."""
    places = rows.indices.astype(np.uint64)
    at = np.searchsorted(keys, places)
    absent = at == len(keys)
    at[absent] = 0
    if len(keys):
        absent |= keys[at] != places
    found = without(rows._replace(indices=at), absent)
    return Rows(
        found.indptr,
        features[found.indices],
        np.array(found.values),
        np.array(found.y),
        np.array(found.importance),
    )
