"""The refit of a stream model: its rows are read once more."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import Floats, Rows, as_rows, without
from rarefy.engine.pruning import only_candidates
from rarefy.engine.refit import refitted
from rarefy.errors import InputError
from rarefy.streams.metrics import Metrics
from rarefy.streams.run import Run


class Refit(NamedTuple):
    """How the weights that were kept are learned again when the run is over."""

    l2: float | None  # None: chosen on a held-out quarter of the examples
    n_features: int | None  # that are left at most
    target: int | None = None  # the same, chosen from the strongest only

    @property
    def limit(self) -> int | None:
        """How many features are left at most."""
        return min((n for n in (self.n_features, self.target) if n is not None), default=None)

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> "Refit | None":
        """What parameters ask for, by the names that users give them."""
        if not parameters.get("refit"):
            return None
        names = ("refit_l2", "refit_features", "target_features")
        return cls(*(parameters.get(name) for name in names))


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
            "a refit reads the data again, but standard input or a pipe can be read only once: "
            "use files or cache=... (--cache)."
        )


def refit_stream(run: Run, refit: Refit) -> dict[str, Any]:
    """Refit the weights of a run that is over; held-out rows are only predicted.

    The metrics are those of the rows that the weights were fitted to.
    """
    model = run.model
    learner = only_candidates(model.learner.settled(), refit.target, lambda: _squares(run))
    model.adopt(learner)
    X, y, importance, held = kept_rows(run)
    weighed = model.importance_now(y[~held], importance[~held])
    model.adopt(refitted(learner, X[~held], y[~held], weighed, refit.l2, refit.limit))
    scores = model.learner.scores(as_rows(X, y, importance))
    if run.held_out is not None:
        run.held_out.end_with(model, scores[held], y[held], importance[held])
    metrics = Metrics(model)
    metrics.add(scores[~held], y[~held], importance[~held])
    return metrics.summary()


def kept_rows(run: Run) -> KeptRows:
    """Read the rows of a run that is over once more."""
    from scipy import sparse

    learner = run.model.learner.settled()
    parts, held = [], []
    for part, is_held_out in _parts(run):
        parts.append(part)
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


def _squares(run: Run) -> Floats:
    """Sums over the rows that were learned of the squared values of each feature that was kept."""
    squares = np.zeros(run.model.learner.n_features)
    for rows, is_held_out in _parts(run):
        counts = np.where(is_held_out, 0.0, rows.importance)
        entries = np.repeat(counts, np.diff(rows.indptr))
        np.add.at(squares, rows.indices, entries * rows.values**2)
    return squares


def _parts(run: Run) -> Iterator[tuple[Rows, NDArray[np.bool_]]]:
    """All rows once more, with nothing but the features that were kept, and which are held out."""
    learner = run.model.learner.settled()
    slots, _ = learner.nonzero()
    keys, first = np.unique(run.model.kept().keys, return_index=True)
    features = slots[first] // learner.n_outputs
    for prepared, is_held_out in run.again():
        yield _only_kept(prepared.rows(), keys, features), is_held_out


def _only_kept(rows: Rows, keys: NDArray[np.uint64], features: NDArray[np.int64]) -> Rows:
    """Copies of the rows without other features than the keys, which are in order."""
    wanted = rows.indices.astype(np.uint64)
    at = np.searchsorted(keys, wanted)
    absent = at == len(keys)
    at[absent] = 0
    if len(keys):
        absent |= keys[at] != wanted
    found = without(rows._replace(indices=at), absent)
    return Rows(
        found.indptr,
        features[found.indices],
        np.array(found.values),
        np.array(found.y),
        np.array(found.importance),
    )
