"""The small UCI sets of the truncated-gradient paper, as numbers."""

import gzip
from functools import cache
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.data import REAL_DATA

FOLDER = "uci-small"


class Table(NamedTuple):
    """Where the label is, what precedes it, and what is learned from it."""

    file: str
    label: int  # column
    is_regression: bool = False
    identifiers: tuple[int, ...] = ()  # columns that say nothing
    separator: str = r"\s*,\s*"


TABLES = {
    "ad": Table("ad-truncated998", -1),
    "crx": Table("crx", -1),
    "housing": Table("housing", -1, is_regression=True, separator=r"\s+"),
    "krvskp": Table("kr-vs-kp", -1),
    "magic04": Table("magic04", -1),
    "mushroom": Table("mushroom", 0),
    "spambase": Table("spambase", -1),
    "wbc": Table("wbc", -1, identifiers=(0,)),
    "wdbc": Table("wdbc", 1, identifiers=(0,)),
    "wpbc": Table("wpbc", 1, identifiers=(0,)),
    "zoo": Table("zoo", -1, is_regression=True),
}


class Examples(NamedTuple):
    X: sparse.csr_array
    y: NDArray[np.float64]


def as_numbers(table: pd.DataFrame, *, standardised: bool = True) -> sparse.csr_array:
    """A column for each number, with mean 0 and deviation 1 if wanted; a 0/1 column for each word.

    Numbers that are 0 or 1 stay so. Missing ones are the median; a missing word is one of its own.
    """
    columns = []
    for name in table:
        numbers = pd.to_numeric(table[name], errors="coerce")
        if numbers.notna().mean() <= 0.5:
            columns.append(pd.get_dummies(table[name].fillna("?")))
            continue
        numbers = numbers.fillna(numbers.median())
        if standardised and not numbers.isin((0, 1)).all():
            numbers = (numbers - numbers.mean()) / numbers.std()
        columns.append(numbers.to_frame())
    X = np.hstack([column.to_numpy(dtype=float) for column in columns])
    return sparse.csr_array(X[:, X.std(axis=0) > 0.0])


def read(name: str) -> tuple[pd.DataFrame, pd.Series]:
    """The columns that say something, and the label."""
    source = TABLES[name]
    with gzip.open(REAL_DATA / FOLDER / f"{source.file}.data.gz", "rt") as lines:
        table = pd.read_csv(
            lines, header=None, sep=source.separator, na_values="?", engine="python"
        )
    y = table.pop(table.columns[source.label])
    return table.drop(columns=list(source.identifiers)), y


@cache
def load(name: str) -> Examples:
    table, y = read(name)
    X = as_numbers(table)
    if TABLES[name].is_regression:
        y = pd.to_numeric(y.astype(str).str.removeprefix("y"))
        return Examples(X, ((y - y.mean()) / y.std()).to_numpy())
    return Examples(X, np.unique(y, return_inverse=True)[1].astype(float))
