"""The classifier."""

from collections.abc import Hashable
from typing import Any, Self, Unpack

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rarefy.checks import choose
from rarefy.engine.task import GROW, Task, may_grow
from rarefy.errors import ConfigError, InputError
from rarefy.estimators.checked_input import checked_labels, class_numbers
from rarefy.estimators.growing_classes import GrowingClasses, classes_in_files
from rarefy.estimators.matrices import check_importance, sorted_labels
from rarefy.estimators.signatures import takes
from rarefy.estimators.single_labels import SingleLabels
from rarefy.estimators.sparse_online import SparseOnline, has_partial_fit
from rarefy.model.answers import LOSSES_WITH_PROBABILITIES, predicted_classes, probabilities
from rarefy.model.losses import MARGIN_LOSSES
from rarefy.model.multiclass import check_multiclass
from rarefy.parameters.build import make_loss
from rarefy.parameters.table import CLASSIFIER, DEFAULT_RULE, ClassifierParameters
from rarefy.readers import Reader
from rarefy.readers.features.labels import checked_classes
from rarefy.streams.classes import doubt_measured
from rarefy.streams.stream_model import StreamModel


def check_probabilities(loss: Any) -> bool:
    """True; a loss without probabilities is an error that `available_if` understands."""
    if loss in LOSSES_WITH_PROBABILITIES:
        return True
    raise AttributeError(f"predict_proba needs loss='logistic' or 'modified_huber', not {loss!r}.")


def _has_probabilities(estimator: "SparseOnlineClassifier") -> bool:
    return check_probabilities(estimator._loss_in_use)


@takes(CLASSIFIER)
class SparseOnlineClassifier(
    ClassifierMixin,
    GrowingClasses,  # classes that may come at any time
    SingleLabels,  # labels of single rows, on their fast path
    SparseOnline,
):
    """Sparse linear classifier, trained online: one example at a time, in one or more passes.

    Parameters
    ----------
    rule : str or rule, default="scale-free"
        Update rule: {rules}, "auto", or your own rule (see `rarefy.rule`). Parameters that are
        "auto" are tuned in a single pass over the data. sag and svrg, for `fit` alone, minimise the
        mean loss and the penalties to the end.
    loss : {"logistic", "hinge", "squared_hinge", "modified_huber", "perceptron"}
        Loss function.
    {parameters}

    Attributes
    ----------
    classes_ : array of the class labels
    coef_ : array of shape (1 or n_classes, n_features), built on access
    sparse_coef_ : the same as a CSR matrix
    intercept_, n_nonzero_, sparsity_, t_, progressive_loss_
    found_ : the values of parameters that are "auto", and the l1 and eta0 that `fit` chose

    See Also
    --------
    SparseOnlineClassifierCV : Chooses parameters by cross-validation.
    SparseOnlineRegressor : For numbers instead of classes.
    rarefy.train : Trains on files of any size.

    Examples
    --------
    >>> import numpy as np
    >>> from rarefy import SparseOnlineClassifier
    >>> X = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    >>> y = np.array(["spam", "ham", "spam", "ham"])
    >>> model = SparseOnlineClassifier(rule="frda", l1=0.01, passes=5).fit(X, y)
    >>> model.predict(X).tolist()
    ['spam', 'ham', 'spam', 'ham']
    """

    classes_: NDArray[Any]

    def __init__(
        self,
        rule: Any = DEFAULT_RULE,
        loss: str = "logistic",
        **parameters: Unpack[ClassifierParameters],
    ) -> None:
        self._store(rule=rule, loss=loss, **parameters)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train a new model on X, with `passes` passes."""
        with self._draft() as draft:
            task = draft._task(is_refitted=draft._is_refitted)
            X, y, importance = draft._prepare(X, y, sample_weight)
            draft._check_threshold()
            draft._learn_passes(task, X, y, importance)
        return self

    @available_if(has_partial_fit)
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Train further on X, in one pass.

        The first call needs `classes`: the list of all classes, or "grow", if new ones may come at
        any time (docs/how-to/one-at-a-time.md). Any split of the data into calls
        gives the same weights, bit for bit.

        X is a matrix; or, to go on with a model of rows that have names, a reader, a list of dicts,
        a data frame, or an iterator of these, which may have the labels themselves.
        """
        return self._partial_fit(X, y, classes, sample_weight)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores: one per row for two classes (positive means classes_[1]), else one per class."""
        scores = self._scores(X)
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The label with the highest score, for each row.

        With two classes, the second is predicted if its score is above `decision_threshold`.
        """
        return self._answers(self._scores(X))

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the classes, from the logistic or modified Huber loss.

        With `calibrate`, and after one pass, they are scaled by what came of earlier scores. Of two
        classes, `predict` goes by the score and not by the probability, so that a row with a
        probability somewhat above 0.5 can be of the other class.
        """
        if isinstance(X, Reader):
            return self._probabilities(self._scores(X))
        check_is_fitted(self)
        with self._lock:  # scores, and what scales them, are of one moment
            return self._probabilities(self._scores(X))

    @available_if(_has_probabilities)
    def predict_proba_one(
        self, x: Any, *, id: Hashable = None, format: str | None = None
    ) -> dict[Any, float]:
        """The probability of each class for one row; x and id as in `predict_one`."""
        check_is_fitted(self)
        with self._lock:
            if id is None:
                scores = self._scores_of_row(x, format)
            else:
                scores = self._remembered_scores(x, id, format)
            found = self._probabilities(scores)
        return dict(zip(self.classes_.tolist(), found[0].tolist(), strict=True))

    @available_if(_has_probabilities)
    def predict_proba_many(self, rows: Any, *, format: str | None = None) -> NDArray[np.float64]:
        """The probabilities of the classes for several rows, which are what `learn_many` takes."""
        check_is_fitted(self)
        with self._lock:
            return self._probabilities(self._scores_of_rows(rows, format))

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))  # type: ignore[no-any-return]

    @property
    def coef_(self) -> NDArray[np.float64]:
        """All weights, a dense array of shape (1 or n_classes, n_features)."""
        return self.sparse_coef_.toarray()  # type: ignore[no-any-return]

    def _answers(self, scores: NDArray[np.float64]) -> NDArray[Any]:
        """The labels that scores predict."""
        self._check_threshold()
        n_classes = len(self.classes_)
        if n_classes < 2:  # as yet
            return np.full(len(scores), self.classes_[0] if n_classes else None)
        if scores.shape[1] > n_classes:  # one has come in another thread
            scores = scores[:, :n_classes]
        return self.classes_[predicted_classes(scores, self.decision_threshold)]

    def _probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        if len(self.classes_) < 2:  # as yet
            return np.ones((len(scores), len(self.classes_)))
        learner = self.learner_.settled()
        found = probabilities(self._loss_in_use, learner.loss, scores, learner.scaling)
        return np.hstack([1.0 - found, found]) if found.shape[1] == 1 else found

    def _make_loss(self) -> Any:
        choose("loss", self.loss, MARGIN_LOSSES)
        check_multiclass(self.multiclass, self.loss)
        return make_loss(self.loss)

    def _adopt(self, model: StreamModel) -> None:
        self.classes_ = classes_in_files(model.classes)

    def _class_names(self, classes: Any) -> tuple[str, ...]:
        """The names of classes that a user lists, as in files: true and false for truths."""
        if may_grow(classes):
            return ()
        if classes is None:
            raise InputError(f"classes=None: a list of all classes is expected, or {GROW!r}.")
        labels = sorted_labels("classes", classes).tolist()
        return checked_classes([str(c).lower() if isinstance(c, bool) else c for c in labels])

    def _keep_labels(self, classes: Any) -> None:
        """Predict the labels that the user has listed, and not their names in files."""
        self.classes_ = sorted_labels("classes", () if may_grow(classes) else classes)

    def _start_by_default(self, classes: Any) -> None:
        if classes is None:
            raise InputError(
                "the classes are not known: begin with start(classes=[...]), or give classes=[...] "
                "to partial_fit."
            )
        self.start(classes=classes)

    def _targets_of(self, rows: Any, y: Any) -> NDArray[np.float64]:
        labels = checked_labels(rows, y)
        if labels.dtype.kind == "b" and self.classes_.dtype.kind == "U":
            labels = np.where(labels, "true", "false")  # as files have them
        return self._encode(labels)

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
        """Rows, targets and importance as the engine takes them.

        The classes are those of y, or, if `fit` goes on, those that the model has.
        """
        X = self._check_rows(X, reset=not self._goes_on)
        y = self._checked_y(X, y)
        if not self._goes_on:
            self.classes_ = sorted_labels("y", y)
            doubt_measured(self.classes_, len(y))
        return X, self._encode(y), check_importance(sample_weight, len(y))

    def _targets_to_learn(self, y: NDArray[Any], task: Task, classes: Any) -> NDArray[np.float64]:
        """The targets of rows to go on with, whose classes are those of the model, or become so."""
        self._check_classes(classes)
        targets = self._grown_targets(y) if task.classes_grow else self._encode(y)
        self._check_threshold()
        return targets

    def _checked_y(self, X: Any, y: Any) -> NDArray[Any]:
        return checked_labels(X, y)

    def _known_targets(self, X: Any, y: Any) -> NDArray[np.float64]:
        """The targets of rows to be judged by; all labels are classes of the model."""
        return self._encode(self._checked_y(X, y))

    @property
    def _loss_in_use(self) -> str:
        """That which was learned by, or, as long as nothing was learned, the parameter."""
        return self._learned_by.task.loss_name if self.__sklearn_is_fitted__() else self.loss

    def _check_threshold(self) -> None:
        """Refuse a threshold that makes no sense, with these classes or at all."""
        CLASSIFIER["decision_threshold"].check("decision_threshold", self.decision_threshold)
        if self.decision_threshold and not self._has_one_score:
            raise ConfigError(
                f"decision_threshold={self.decision_threshold!r} is for two classes; with "
                f"{len(self.classes_)}, the class with the highest score is predicted."
            )

    @property
    def _has_one_score(self) -> bool:
        if self.__sklearn_is_fitted__() and self._learned_by.task.classes_grow:
            return False
        return len(self.classes_) == 2

    @property
    def _known_classes(self) -> NDArray[Any]:
        if len(self.classes_) < 2:
            raise InputError(
                f"y contains {len(self.classes_)} class; a classifier needs at least two classes."
            )
        return self.classes_

    def _check_classes(self, classes: Any) -> None:
        if not self.__sklearn_is_fitted__():
            if classes is None:
                raise InputError(
                    f"classes=None: the first call of partial_fit needs the list of all classes, "
                    f"or {GROW!r}."
                )
            if may_grow(classes):
                self.classes_ = sorted_labels("classes", ())
                return
            found = sorted_labels("classes", classes)
            if not len(found):
                raise InputError("classes is empty; a list of all classes is expected.")
            self.classes_ = found
        elif may_grow(classes):
            if not self._learned_by.task.classes_grow:
                raise InputError(
                    f"classes={GROW!r} is for the first call: the classes were given there, as "
                    f"{self.classes_.tolist()}."
                )
        elif classes is not None and not np.array_equal(
            np.sort(self.classes_), sorted_labels("classes", classes)
        ):
            raise InputError(
                f"classes={classes!r} is not the same as on the last call to partial_fit: "
                f"{self.classes_!r}."
            )

    def _encode(self, y: NDArray[Any]) -> NDArray[np.float64]:
        """-1 and +1 for two classes, else the number of the class."""
        numbers_of_labels = class_numbers(self.classes_, y)
        if self._has_one_score:
            return np.where(numbers_of_labels == 1, 1.0, -1.0)
        return numbers_of_labels.astype(np.float64)
