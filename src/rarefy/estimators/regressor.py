"""The regressor."""

from typing import Any, Self, Unpack

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.metaestimators import available_if

from rarefy.arrays import LARGEST_VALUE
from rarefy.checks import choose
from rarefy.engine.task import Task
from rarefy.errors import InputError
from rarefy.estimators.checked_input import checked_y
from rarefy.estimators.matrices import check_importance, check_targets
from rarefy.estimators.signatures import takes
from rarefy.estimators.sparse_online import SparseOnline, has_partial_fit
from rarefy.model.losses import REGRESSION_LOSSES
from rarefy.parameters.build import make_loss
from rarefy.parameters.table import DEFAULT_RULE, REGRESSOR, RegressorParameters
from rarefy.readers.single.row_loop import LABELS_THEMSELVES, OwnTargets
from rarefy.streams.fast_path import TargetOf
from rarefy.streams.stream_model import StreamModel

PLAIN_NUMBERS = (float, int, np.float64)


@takes(REGRESSOR)
class SparseOnlineRegressor(RegressorMixin, SparseOnline):
    """Sparse linear regressor, trained online.

    Parameters
    ----------
    rule : str or rule, default="scale-free"
        Update rule, as in SparseOnlineClassifier. The default needs no scaling of features or
        targets; for rules with a common schedule, the squared loss diverges on unscaled columns.
    loss : {"squared", "huber", "epsilon_insensitive", "quantile"}
        Loss function; squared is (y - p)^2, without the factor 1/2.
    {parameters}

    Attributes
    ----------
    coef_ : array of shape (n_features,), built on access
    sparse_coef_ : the weights in CSR, (1, n_features), never dense
    intercept_, n_nonzero_, sparsity_, t_, progressive_loss_
    found_ : the values of parameters that are "auto", and the l1 that `fit` has chosen

    See Also
    --------
    SparseOnlineRegressorCV : Chooses parameters by cross-validation.
    SparseOnlineClassifier : For classes instead of numbers.
    rarefy.train : Trains on files of any size.

    Examples
    --------
    >>> import numpy as np
    >>> from rarefy import SparseOnlineRegressor
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> model = SparseOnlineRegressor().fit(X, 3.0 * X[:, 0] + 50.0)
    >>> model.score(X, 3.0 * X[:, 0] + 50.0) > 0.95
    True
    """

    def __init__(
        self,
        rule: Any = DEFAULT_RULE,
        loss: str = "squared",
        **parameters: Unpack[RegressorParameters],
    ) -> None:
        self._store(rule=rule, loss=loss, **parameters)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train a new model on X, with `passes` passes."""
        with self._draft() as draft:
            task = draft._task(is_refitted=draft._is_refitted)
            draft._learn_passes(task, *draft._prepare(X, y, sample_weight))
        return self

    @available_if(has_partial_fit)
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train further on X, in one pass.

        X is a matrix; or, to go on with a model of rows that have names, a reader, a list of dicts,
        a data frame, or an iterator of these, which may have the targets themselves.
        """
        return self._partial_fit(X, y, None, sample_weight)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The prediction for each row."""
        return self._answers(self._scores(X))

    @property
    def coef_(self) -> NDArray[np.float64]:
        """All weights, (n_features,)."""
        return self.sparse_coef_.toarray().ravel()  # type: ignore[no-any-return]

    def _answers(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return scores.ravel()

    def _answer(self, scores: NDArray[np.float64]) -> float:
        """What the score of a single row predicts."""
        return scores.item()

    def _answer_to(self, score: float) -> float:
        """What a score predicts: itself."""
        return score

    def _for_single_labels(self) -> tuple[TargetOf, TargetOf, None]:
        """What gives the target of a number, also of one in a line; there are no labels."""
        return self._target_at_once, self._target_at_once, None

    def _own_targets(self) -> OwnTargets:
        """What is learned for the numbers of lines."""
        return LABELS_THEMSELVES

    def _target_at_once(self, y: Any) -> float | None:
        """The target; None for all that is not just a number."""
        is_known = type(y) in PLAIN_NUMBERS and abs(y) <= LARGEST_VALUE
        return float(y) if is_known else None

    def _targets_at_once(self, y: Any) -> NDArray[np.float64] | None:
        """The targets; None if not all are just numbers."""
        found = np.array(y) if set(map(type, y)) == {float} else None
        is_known = found is not None and bool((np.abs(found) <= LARGEST_VALUE).all())
        return found if is_known else None

    def _target_of_one(self, y: Any) -> float | None:
        """The only target in an array; None for all that is not just that."""
        is_known = type(y) is np.ndarray and y.shape == (1,) and y.dtype.kind in "fiu"
        return self._target_at_once(float(y.item())) if is_known else None

    def _class_names(self, classes: Any) -> tuple[str, ...]:
        if classes is not None:
            raise InputError(f"classes={classes!r}: a regressor predicts numbers, not classes.")
        return ()

    def _keep_labels(self, classes: Any) -> None:
        """There are none."""

    def _start_by_default(self, classes: Any) -> None:
        self.start(classes=classes)

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
        """Rows, targets and importance as the engine takes them."""
        X = self._check_rows(X, reset=not self._goes_on)
        y = self._checked_y(X, y)
        return X, y, check_importance(sample_weight, len(y))

    @property
    def _known_classes(self) -> NDArray[Any]:
        return np.empty(0)

    def _make_loss(self) -> Any:
        choose("loss", self.loss, REGRESSION_LOSSES)
        return make_loss(self.loss, epsilon=self.epsilon, quantile=self.quantile)

    def _adopt(self, model: StreamModel) -> None:
        """Nothing but what all estimators take over from a stream."""

    def _targets_to_learn(self, y: NDArray[Any], task: Task, classes: Any) -> NDArray[np.float64]:
        """The targets of rows to go on with: themselves."""
        return y

    def _checked_y(self, X: Any, y: Any) -> NDArray[np.float64]:
        return check_targets("y", checked_y(X, y))

    _targets_of = _known_targets = _checked_y
