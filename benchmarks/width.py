"""Time per non-zero against the number of features, beside a bare gather-and-scatter loop.

The bare loop reads one number per feature, sums, and adds a number to each: the least that any
learner does with the same indices. It is measured at the row width of each rule's state.
"""

from typing import Any

import numba
import numpy as np

from benchmarks.data import zipf_rows
from benchmarks.tables import markdown_table
from benchmarks.timing import best_of
from rarefy.arrays import Rows, as_rows
from rarefy.engine.learner import Learner
from rarefy.engine.state import new_state
from rarefy.estimators.matrices import as_csr
from rarefy.jit.intrinsics import row_width
from rarefy.model.losses import Logistic
from rarefy.parameters.build import make_rule
from rarefy.rules import RULES

WIDTHS = (10_000, 100_000, 1_000_000, 10_000_000)
NAMES = ("ogd", "rda", "fobos", "fr-comid", "frda", "ftprl", "ftpfrl", "ftrl")


@numba.njit(nogil=True)
def gather_and_scatter(indptr: Any, indices: Any, values: Any, state: Any) -> None:
    for row in range(len(indptr) - 1):
        total = 0.0
        for j in range(indptr[row], indptr[row + 1]):
            total += values[j] * state[indices[j], 0]
        for j in range(indptr[row], indptr[row + 1]):
            state[indices[j], 0] += total * 1e-9


def learn(name: str, rows: Rows, width: int) -> None:
    Learner(*make_rule(name), Logistic(), n_features=width).learn(rows)


def bare(rows: Rows, n_fields: int, width: int) -> None:
    gather_and_scatter(*rows[:3], new_state(n_fields, width))


def compare(name: str, rows: Rows, width: int) -> str:
    """Nanoseconds per non-zero of the rule, of the bare loop, and their ratio."""
    n_fields = len(RULES[name].state_fields)
    learn(name, rows, width)  # compiles
    ours, limit = best_of(learn, name, rows, width), best_of(bare, rows, n_fields, width)
    per_nonzero = 1e9 / len(rows.values)
    return f"{ours * per_nonzero:.1f} / {limit * per_nonzero:.1f} = {ours / limit:.1f}"


def measure() -> str:
    columns = []
    for width in WIDTHS:
        dataset = zipf_rows(100_000, width)
        rows = as_rows(as_csr(dataset.X), dataset.y, np.ones(len(dataset.y)))
        columns.append([compare(name, rows, width) for name in NAMES])
    n_bytes = [row_width(len(RULES[name].state_fields)) * 8 for name in NAMES]
    text = (
        "Nanoseconds per non-zero: the rule / the bare loop = ratio. Logistic loss, 100,000 rows, "
    )
    text += "64 draws a row, fresh state on both sides. The engine asks for coordinates ahead of "
    text += (
        "time, which the bare loop does not; so at large widths a rule can be the faster one.\n\n"
    )
    header = ["rule", "bytes a feature", *(f"{width:,}" for width in WIDTHS)]
    return text + markdown_table(header, list(zip(NAMES, n_bytes, *columns, strict=True)))
