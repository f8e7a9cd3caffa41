"""`rarefy.soft_targets`: probabilities as labels, by weighted rows."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from rarefy.arrays import Floats
from rarefy.errors import InputError
from rarefy.estimators.matrices import check_importance


class SoftTargets(NamedTuple):
    """Rows for `fit` and `partial_fit`.

    Attributes
    ----------
    X : matrix
        Each row once for every class.
    y : array
        The classes.
    sample_weight : array
        The probabilities.
    """

    X: Any
    y: NDArray[Any]
    sample_weight: Floats


def soft_targets(
    X: Any, probabilities: Any, *, classes: Any = None, sample_weight: Any = None
) -> SoftTargets:
    """Rows to learn from probabilities instead of labels, as for distillation.

    A row is given once for each class that has a probability above zero, and counts by it: the loss
    of these rows is what is to be expected of the row, Σ p_c loss(c). The most probable class comes
    last. Learning online takes them one after the other, each as an example by itself.

    Parameters
    ----------
    X : matrix or data frame
        The rows.
    probabilities : array-like of shape (n,) or (n, number of classes)
        Of the second of two classes, or of each class.
    classes : array-like, optional
        The labels of the classes; by default 0, 1, ...
    sample_weight : array-like, optional
        Weights of the rows, by which the probabilities are multiplied.

    Returns
    -------
    SoftTargets
        `X`, `y` and `sample_weight`, for `fit` and `partial_fit`.

    Raises
    ------
    InputError
        If probabilities are not between 0 and 1, do not sum to 1, or are not those of the rows.

    See Also
    --------
    anchored : Learns the difference to a model.
    update : Keeps lost answers within a budget.

    Examples
    --------
    >>> import numpy as np, rarefy
    >>> rows = rarefy.soft_targets(np.array([[2.0], [3.0]]), [0.75, 1.0])
    >>> rows.X.ravel().tolist(), rows.y.tolist(), rows.sample_weight.tolist()
    ([2.0, 2.0, 3.0], [0, 1, 1], [0.25, 0.75, 1.0])
    """
    shares = _checked(probabilities)
    n_rows, n_classes = shares.shape
    if (X.shape[0] if hasattr(X, "shape") else len(X)) != n_rows:
        raise InputError(f"X and probabilities have different lengths: {n_rows:,} probabilities.")
    labels = np.arange(n_classes) if classes is None else np.asarray(classes)
    if len(labels) != n_classes or len(np.unique(labels)) != n_classes:
        raise InputError(f"classes={classes!r}: {n_classes} different labels are expected.")
    rows, numbers = np.nonzero(shares)
    order = np.lexsort((shares[rows, numbers], rows))
    rows, numbers = rows[order], numbers[order]
    weights = shares[rows, numbers] * check_importance(sample_weight, n_rows)[rows]
    return SoftTargets(_safe_indexing(X, rows), labels[numbers], weights)


def _checked(probabilities: Any) -> Floats:
    """By row and class."""
    try:
        shares = np.asarray(probabilities, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"probabilities must be numbers: {error}") from error
    if shares.ndim == 1:
        shares = np.column_stack([1.0 - shares, shares])
    if shares.ndim != 2 or shares.shape[1] < 2:
        raise InputError(
            "probabilities: one for each row, or one for each row and class, is expected."
        )
    wrong = ~((shares >= 0.0) & (shares <= 1.0)).all(axis=1) | ~np.isclose(shares.sum(axis=1), 1.0)
    if wrong.any():
        row = int(wrong.argmax())
        raise InputError(
            f"probabilities of row {row}: numbers between 0 and 1 that sum to 1 are expected, not "
            f"{', '.join(f'{share:g}' for share in shares[row])}."
        )
    return shares
