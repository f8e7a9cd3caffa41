"""Validation of arrays and matrices, and their conversion for the engine."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rarefy.arrays import LARGEST_VALUE, csr_parts
from rarefy.checks import is_text
from rarefy.engine.workers import workers
from rarefy.errors import InputError
from rarefy.files.label_types import label_type
from rarefy.jit import compiled
from rarefy.readers.features.labels import check_ending
from rarefy.readers.in_memory import is_pandas

# Kinds of NumPy's types, by their letters.
NO_NUMBERS = {"M": "Moments", "m": "Durations", "c": "Complex data"}


class Findings(NamedTuple):
    """How many entries of a CSR matrix are not as the engine needs them."""

    bad_values: int  # NaN, infinite, or too large
    zeros: int
    out_of_order: int
    out_of_range: int  # as far as can be told from the ends of rows that are in order


class Content(NamedTuple):
    """What tells rows from other rows, in whatever order they are."""

    n_rows: int
    n_entries: int
    sums: tuple[int, ...]  # of columns, and of the bits of values and targets


FEWEST_ROWS = 100  # whose content is not that of others by chance
MOST_NUMBERS = 1 << 16  # that content is told by, beside how many there are


def content_of(X: sparse.csr_array, y: NDArray[np.float64]) -> Content | None:
    """The content of rows; None where there are few."""
    n_rows = X.shape[0]
    if n_rows < FEWEST_ROWS:
        return None
    of_entries = (X.indices, X.data.view(np.uint64), y.view(np.uint64))
    numbers = (part[:MOST_NUMBERS] for part in of_entries)
    return Content(n_rows, X.nnz, tuple(int(part.sum()) for part in numbers))


@compiled
def _scan(indptr: Any, indices: Any, values: Any, n_columns: int) -> Findings:
    """Counted in plain sweeps without early exits: they run at the speed of memory.

    Over slices, whose indices cannot be negative: else the compiler makes no vector code.
    """
    bad_values, zeros, falls, falls_between_rows, out_of_range = 0, 0, 0, 0, 0
    first, last = indptr[0], indptr[-1]
    numbers, columns = values[first:last], indices[first:last]
    for j in range(len(numbers)):
        bad_values += not abs(numbers[j]) <= LARGEST_VALUE
        zeros += numbers[j] == 0.0
    for j in range(1, len(columns)):
        falls += columns[j] <= columns[j - 1]
    for row in range(len(indptr) - 1):
        begin, end = indptr[row], indptr[row + 1]
        if begin < end:
            out_of_range += (indices[begin] < 0) | (indices[end - 1] >= n_columns)
            if begin > first:
                falls_between_rows += indices[begin] <= indices[begin - 1]
    return Findings(bad_values, zeros, falls - falls_between_rows, out_of_range)


def _findings(csr: sparse.csr_array, n_threads: int) -> Findings:
    """What a look at all entries finds, by so many threads."""
    indptr, indices, values = csr_parts(csr)
    n_rows = len(indptr) - 1

    def scan(part: int) -> Findings:
        begin, end = (n_rows * n // n_threads for n in (part, part + 1))
        return _scan(indptr[begin : end + 1], indices, values, csr.shape[1])

    with workers(n_threads, csr.nnz) as run:
        found = run(scan, range(n_threads))
    return Findings(*map(sum, zip(*found, strict=True)))


def check_structure(X: Any) -> None:
    """Refuse a compressed matrix whose pointers lead astray, before any code follows them."""
    if not sparse.issparse(X) or X.format not in ("csr", "csc"):
        return
    n_lines = X.shape[0] if X.format == "csr" else X.shape[1]
    indptr, n_entries = X.indptr, min(len(X.indices), len(X.data))
    if len(indptr) != n_lines + 1 or indptr[0] != 0 or (np.diff(indptr) < 0).any():
        raise InputError(f"X.indptr must rise from 0 in {n_lines} steps; it is {indptr}.")
    if indptr[-1] > n_entries:
        raise InputError(f"X.indptr ends at {indptr[-1]}, but X has {n_entries} entries.")
    if X.format == "csc":
        check_range(X)


def check_range(X: Any) -> None:
    """Refuse a compressed matrix with an index outside of its shape."""
    lines, across, n_across = "row", "column", X.shape[1]
    if X.format == "csc":
        lines, across, n_across = "column", "row", X.shape[0]
    indices = X.indices[: X.indptr[-1]]
    outside = np.flatnonzero((indices < 0) | (indices >= n_across))
    if len(outside):
        line = int(np.searchsorted(X.indptr, outside[0], side="right")) - 1
        raise InputError(
            f"X has {across} index {indices[outside[0]]} in {lines} {line}; "
            f"indices from 0 to {n_across - 1} are expected."
        )


def as_csr(X: Any, n_threads: int = 1) -> sparse.csr_array:
    """Dense or sparse input as CSR of finite values, rows ascending, duplicates added, no zeros."""
    if not sparse.issparse(X):
        X = np.asarray(X, dtype=np.float64)
    csr = sparse.csr_array(X)
    found = _findings(csr, n_threads)
    if found.out_of_range or found.out_of_order:
        check_range(csr)
    if found.bad_values:
        entry = int(np.argmin(np.abs(csr.data) <= LARGEST_VALUE))
        row = int(np.searchsorted(csr.indptr, entry, side="right")) - 1
        raise InputError(
            f"Input X contains {describe(csr.data[entry])} in row {row}, column "
            f"{csr.indices[entry]}; finite numbers up to {LARGEST_VALUE:g} are expected."
        )
    if found.zeros or found.out_of_order:
        if sparse.issparse(X) and np.may_share_memory(csr.data, X.data):
            csr = csr.copy()
        csr.has_canonical_format = csr.has_sorted_indices = False
        csr.sum_duplicates()
        csr.eliminate_zeros()
    return csr


def refuse_other_than_numbers(name: str, values: Any) -> None:
    """Refuse what NumPy makes numbers of without a word: moments, durations, complex numbers."""
    if sparse.issparse(values):
        return
    if is_pandas(values):
        kinds = {dtype.kind for dtype in values.dtypes}
    else:
        array = _as_it_is(values)
        kinds = {array.dtype.kind}
        if "O" in kinds:
            kinds = {one.dtype.kind for one in array.flat if isinstance(one, np.generic)}
    for kind, what in NO_NUMBERS.items():
        if kind in kinds:
            raise InputError(f"{what} not supported in {name}; real numbers are expected.")


def _as_it_is(values: Any) -> NDArray[Any]:
    """The array without a change of type; one of objects if they have no type in common."""
    try:
        return np.asarray(values)
    except TypeError:
        return np.asarray(values, dtype=object)
    except ValueError:  # rows of several lengths, which are refused later on
        return np.empty(0)


def as_numbers(name: str, values: Any) -> NDArray[np.float64]:
    """The values as floats, if all of them are numbers."""
    refuse_other_than_numbers(name, values)
    if _as_it_is(values).dtype.kind == "U":
        values = np.asarray(values, dtype=object)  # whose errors show the text alone
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} must be numeric: {error}") from error


def check_targets(name: str, values: Any) -> NDArray[np.float64]:
    """A finite float per row, or an error that says which one is not."""
    found = as_numbers(name, values)
    bad = ~(np.abs(found) <= LARGEST_VALUE)
    if bad.any():
        row = int(bad.argmax())
        raise InputError(
            f"Input {name} contains {describe(found[row])} in row {row}; "
            f"finite numbers up to {LARGEST_VALUE:g} are expected."
        )
    return found


def check_importance(sample_weight: Any, n_rows: int) -> NDArray[np.float64]:
    """One finite weight >= 0 per row."""
    if sample_weight is None:
        return np.ones(n_rows)
    weights = as_numbers("sample_weight", sample_weight)
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.shape != (n_rows,):
        raise InputError(
            f"sample_weight has shape {weights.shape}; one weight for each of the {n_rows} rows of "
            f"X is expected. Sample weights must be 1D array or scalar."
        )
    weights = check_targets("sample_weight", weights)
    if (weights < 0.0).any():
        row = int((weights < 0.0).argmax())
        raise InputError(
            f"sample_weight contains {weights[row]:g} in row {row}; weights >= 0 are expected."
        )
    return weights


def sorted_labels(name: str, labels: Any) -> NDArray[Any]:
    """The distinct labels in order, if they are labels at all."""
    if isinstance(labels, list | tuple):
        check_ending(name, labels)
    labels = np.asarray(labels)
    if labels.ndim != 1:
        raise InputError(f"{name} has {labels.ndim} dimensions; a list of labels is expected.")
    if labels.dtype.kind == "f":
        refuse_missing_labels(name, labels[np.isnan(labels)].tolist())
    elif labels.dtype.kind == "O":
        refuse_missing_labels(name, labels)
    try:
        found = np.unique(labels)
    except TypeError as error:
        raise InputError(f"{name} mixes labels that cannot be sorted: {error}") from error
    for label in found.tolist() if found.dtype.kind in "UO" else ():
        if isinstance(label, str) and not is_text(label):
            raise InputError(f"{name} contains {label!a}, which no file can hold as text.")
    label_type(name, found)
    return found


def refuse_missing_labels(name: str, labels: Iterable[Any]) -> None:
    for label in labels:
        if label is None or (isinstance(label, float) and np.isnan(label)):
            raise InputError(f"{name} contains {label}, which is not a label.")


def describe(value: float) -> str:
    """A number as messages show it; NaN and infinity by the names that scikit-learn uses."""
    if np.isnan(value):
        return "NaN"
    return "infinity" if np.isinf(value) else f"{value:g}"
