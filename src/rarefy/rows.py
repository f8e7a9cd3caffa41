"""From user's arrays to rows that the engine may trust: checked, sorted, without zeros."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rarefy.engine import LARGEST_VALUE, Rows
from rarefy.errors import InputError
from rarefy.jit import compiled

FINE, REORDER, BAD_VALUE = range(3)


@compiled
def _scan(indptr: Any, indices: Any, values: Any) -> tuple[int, int, int]:
    """What is the matter with the entries, and with which entry of which row."""
    verdict = FINE
    for row in range(len(indptr) - 1):
        previous = -1
        for j in range(indptr[row], indptr[row + 1]):
            column, value = indices[j], values[j]
            if not abs(value) <= LARGEST_VALUE:
                return BAD_VALUE, row, j
            if column <= previous or value == 0.0:
                verdict = REORDER
            previous = column
    return verdict, 0, 0


def check_structure(X: Any) -> None:
    """Refuse a compressed matrix whose pointers lead astray, before any code follows them."""
    if not sparse.issparse(X) or X.format not in ("csr", "csc"):
        return
    n_lines, n_across = X.shape if X.format == "csr" else X.shape[::-1]
    indptr, indices = X.indptr, X.indices
    n_entries = min(len(indices), len(X.data))
    if len(indptr) != n_lines + 1 or indptr[0] != 0 or (np.diff(indptr) < 0).any():
        raise InputError(f"X.indptr has to rise from 0 in {n_lines} steps; it is {indptr}.")
    if indptr[-1] > n_entries:
        raise InputError(f"X.indptr ends at {indptr[-1]}, but X has {n_entries} entries.")
    used = indices[: indptr[-1]]
    if len(used) and (used.min() < 0 or used.max() >= n_across):
        entry = int(np.argmax((used < 0) | (used >= n_across)))
        line = int(np.searchsorted(indptr, entry, side="right")) - 1
        across, along = ("column", "row") if X.format == "csr" else ("row", "column")
        raise InputError(
            f"X has {across} index {used[entry]} in {along} {line}; "
            f"indices from 0 to {n_across - 1} are expected."
        )


def as_csr(X: Any) -> sparse.csr_array:
    """Dense or sparse input as CSR of finite values, rows ascending, duplicates added, no zeros."""
    if not sparse.issparse(X):
        X = np.asarray(X, dtype=np.float64)
    csr = sparse.csr_array(X)
    verdict, row, entry = _scan(*csr_parts(csr))
    if verdict == BAD_VALUE:
        raise InputError(
            f"Input X contains {describe(csr.data[entry])} in row {row}, column "
            f"{csr.indices[entry]}; finite numbers up to {LARGEST_VALUE:g} are expected."
        )
    if verdict == REORDER:
        if sparse.issparse(X) and np.may_share_memory(csr.data, X.data):
            csr = csr.copy()
        csr.has_canonical_format = csr.has_sorted_indices = False
        csr.sum_duplicates()
        csr.eliminate_zeros()
    return csr


def csr_parts(csr: sparse.csr_array) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """indptr, indices, values with the types that the loops are compiled for.

    They are handed on as read-only views, so that memory-mapped input needs no second compilation.
    """
    indices = csr.indices if csr.indices.dtype == np.int32 else csr.indices.astype(np.int64)
    parts = (csr.indptr.astype(np.int64), indices, np.asarray(csr.data, dtype=np.float64))
    return tuple(_read_only(part) for part in parts)  # type: ignore[return-value]


def as_rows(csr: sparse.csr_array, y: NDArray[Any], importance: NDArray[Any]) -> Rows:
    return Rows(*csr_parts(csr), _read_only(y), _read_only(importance))


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def check_targets(name: str, values: NDArray[Any]) -> NDArray[np.float64]:
    """A finite float per row, or an error that says which one is not."""
    values = np.asarray(values, dtype=np.float64)
    bad = ~(np.abs(values) <= LARGEST_VALUE)
    if bad.any():
        row = int(bad.argmax())
        raise InputError(
            f"Input {name} contains {describe(values[row])} in row {row}; "
            f"finite numbers up to {LARGEST_VALUE:g} are expected."
        )
    return values


def check_importance(sample_weight: Any, n_rows: int) -> NDArray[np.float64]:
    """One finite weight >= 0 per row."""
    if sample_weight is None:
        return np.ones(n_rows)
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"sample_weight has to be numbers: {error}") from None
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


def describe(value: float) -> str:
    """A number as messages show it; NaN and infinity by the names that scikit-learn uses."""
    if np.isnan(value):
        return "NaN"
    return "infinity" if np.isinf(value) else f"{value:g}"
