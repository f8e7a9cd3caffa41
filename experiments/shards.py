"""What shards cost in accuracy, for docs/results/shards.md.

`python -m experiments.shards [rule [data sets]]`; without data sets, all of them.

One pass, 5 folds, the rows in three random orders. Differences to the model without shards are in
standard errors of the accuracy (in regression, of the mean squared error). Data sets with a star
had no part in the choice of the constants of shards. Those that are made have enough rows for 128
shards; a fifth of them are predicted.
"""

import math
import sys
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.data import zipf_rows
from benchmarks.tables import markdown_table
from experiments.panel.data import N_FOLDS, R2, SOURCES, folds_of, in_use
from rarefy import SparseOnlineClassifier, SparseOnlineRegressor
from rarefy.engine import sharding

CHOSEN_ON = ("books", "magic04", "kr-vs-kp", "spambase", "dvd", "imdb", "sms", "mushroom")
CONFIRMED_ON = ("a9a", "criteo", "reuters", "reuters, crude")  # others have too few rows for shards
SHARDS = (2, 16)
WITH_ROWS = ("imdb", "a9a", "criteo")  # enough for some rounds in shards as they are
MADE = {"made, 1,000 features": 1_000, "made, 100,000 features": 100_000}
MADE_ROWS, MADE_SHARDS = 200_000, (2, 16, 128)
ORDERS = (0, 1, 2)
FEW_ROWS = 64  # of a shard in a round; with more, most of these data sets are learned in order


class Data(NamedTuple):
    X: Any
    y: NDArray[Any]
    folds: NDArray[np.int64]
    is_regression: bool


class Outcome(NamedTuple):
    """Mean and spread of what was right, or of squared errors; loss; and the weights kept."""

    mean: float
    spread: float
    loss: float
    weights: float


def read(name: str) -> Data:
    """All rows of a source, but a sample of large tasks of many classes."""
    source = SOURCES[name]
    X, y = source.read()
    sample = np.random.default_rng(0).permutation(len(y))
    if len(np.unique(y)) > 20 and source.measure != R2:
        sample = sample[: source.most_rows]
    is_regression = source.measure == R2
    y = y[sample] if is_regression else np.unique(y[sample], return_inverse=True)[1]
    X = in_use(sparse.csr_array(X)[sample]) if sparse.issparse(X) else X[sample]
    return Data(X, y, folds_of(y, source.measure), is_regression)


def made(n_features: int) -> Data:
    """Zipf's frequencies, and a label that a tenth of the features explain, with noise."""
    _, X, y = zipf_rows(MADE_ROWS, n_features, 32)
    y = np.where(np.random.default_rng(1).random(len(y)) < 0.1, -y, y)
    return Data(X, y, np.arange(len(y)) % N_FOLDS, is_regression=False)


def outcome(data: Data, n_shards: int, order: int, n_folds: int, rule: str) -> Outcome:
    rows = np.random.default_rng(100 + order).permutation(len(data.y))
    right: list[NDArray[Any]] = []
    losses: list[NDArray[Any]] = []
    weights = 0
    for fold in range(n_folds):
        learned, held = rows[data.folds[rows] != fold], np.flatnonzero(data.folds == fold)
        kind = SparseOnlineRegressor if data.is_regression else SparseOnlineClassifier
        model = kind(rule=rule, shards=n_shards, passes=1, shuffle=False)
        model.fit(data.X[learned], data.y[learned])
        predicted, y = model.predict(data.X[held]), data.y[held]
        if data.is_regression:
            right.append(-((predicted - y) ** 2))
        else:
            right.append((predicted == y).astype(float))
            p = model.predict_proba(data.X[held])
            losses.append(
                -np.log(np.maximum(p[range(len(y)), model.classes_.searchsorted(y)], 1e-15))
            )
        weights += model.n_nonzero_
    told = np.concatenate(right)
    loss = float(np.concatenate(losses).mean()) if losses else math.nan
    return Outcome(told.mean(), told.std() / math.sqrt(len(told)), loss, weights)


def compared(name: str, data: Data, shards: tuple[int, ...], n_folds: int, rule: str) -> list[str]:
    """A line of the table."""
    alone = [outcome(data, 1, order, n_folds, rule) for order in ORDERS]
    mean, spread, loss, weights = np.mean(alone, axis=0)
    cells = [name, f"{mean:.1%}" if mean > 0 else f"error {-mean:.0f}"]
    cells.append(f"{np.std([one.mean for one in alone], ddof=1) / spread:.2f}")
    kept, log_loss = [], []
    for n_shards in shards:
        found = np.mean([outcome(data, n_shards, order, n_folds, rule) for order in ORDERS], axis=0)
        cells.append(f"{(found[0] - mean) / spread:+.2f}".replace("-", "−"))
        kept.append(f"{found[3] / weights:.3f}")
        log_loss.append(f"{found[2] - loss:+.4f}".replace("-", "−"))
    cells += [", ".join(kept), ", ".join(log_loss)]
    print(" | ".join(cells), flush=True)
    return cells


def header(shards: tuple[int, ...]) -> list[str]:
    columns = ["", "accuracy without shards", "by order", *(f"{k} shards" for k in shards)]
    return [*columns, "weights kept", "log-loss"]


def main() -> None:
    rule, names = (*sys.argv[1:2], "scale-free")[0], sys.argv[2:]
    lines = []
    usual, sharding.FEWEST_OF_A_SHARD = sharding.FEWEST_OF_A_SHARD, FEW_ROWS
    for name in names or (*CHOSEN_ON, *CONFIRMED_ON):
        star = "" if name in CHOSEN_ON else "*"
        lines.append(compared(star + name, read(name), SHARDS, N_FOLDS, rule))
    print(markdown_table(header(SHARDS), lines))
    sharding.FEWEST_OF_A_SHARD = usual
    if not names:  # with the constants as they are
        lines = [compared(name, read(name), MADE_SHARDS, N_FOLDS, rule) for name in WITH_ROWS]
        lines += [compared(name, made(n), MADE_SHARDS, 1, rule) for name, n in MADE.items()]
        print(markdown_table(header(MADE_SHARDS), lines))


if __name__ == "__main__":
    main()
