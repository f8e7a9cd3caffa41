"""The voted perceptron, which is not one set of weights, and so an estimator of its own."""

from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rarefy.arrays import Floats
from rarefy.checks import check_flag, check_whole
from rarefy.engine.voting import Mistakes
from rarefy.errors import InputError
from rarefy.estimators.checked_input import (
    check_seed,
    checked_labels,
    checked_matrix,
    class_numbers,
)
from rarefy.estimators.matrices import sorted_labels
from rarefy.estimators.method_docs import describe_methods
from rarefy.parameters.entry import MOST_PASSES


@describe_methods
class VotedPerceptron(ClassifierMixin, BaseEstimator):
    """Voted perceptron: the weights after every mistake predict, each by as many votes as rounds.

    A mistake adds its row to the weights of the right class, and takes it from those of the class
    with the highest score among the others. Weights then last until the next mistake, and have a
    vote for each round that they lasted. Two classes: Freund and Schapire (1999).

    What is kept are the rows that were mistaken, each once, and three numbers and a round for each
    mistake. `fit` keeps no more rows than it is given, but with `partial_fit` memory grows with the
    number of mistakes, without bound; and a prediction is a product with all rows that are kept.
    So this is for matrices alone: streams, stores, model files, sweeps and services need one
    weight for each feature and class. The mean of the same weights is such a model:
    `SparseOnlineClassifier(rule="perceptron", average=True)`.

    Parameters
    ----------
    passes : int, default=10
        Number of passes of `fit` over the data.
    shuffle : bool, default=True
        Whether `fit` shuffles the rows in each pass.
    fit_intercept : bool, default=True
        Whether there is an intercept: a feature that is 1 in every row.
    random_state : int, RandomState instance or None, default=0
        Seed for shuffling.

    Attributes
    ----------
    classes_ : array of the class labels
    n_features_in_ : the number of columns
    n_mistakes_ : the number of mistakes, and so of weights that vote
    t_ : the number of examples learned, over all passes and calls

    See Also
    --------
    SparseOnlineClassifier : With `rule="perceptron"`, the last weights, or their mean.

    Examples
    --------
    >>> import numpy as np
    >>> from rarefy import VotedPerceptron
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> y = X[:, 0] + X[:, 1] > 0.0
    >>> model = VotedPerceptron(passes=3).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    """

    classes_: NDArray[Any]
    n_features_in_: int
    mistakes_: Mistakes

    def __init__(
        self,
        passes: int = 10,
        *,
        shuffle: bool = True,
        fit_intercept: bool = True,
        random_state: Any = 0,
    ) -> None:
        self.passes = passes
        self.shuffle = shuffle
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Train a new model on X, with `passes` passes.

        Parameters
        ----------
        X : array, sparse matrix or data frame
            The rows.
        y : array-like
            Their labels.

        Raises
        ------
        ConfigError
            If a parameter is invalid.
        InputError
            If rows or labels are invalid.

        Examples
        --------
        >>> from rarefy import VotedPerceptron
        >>> model = VotedPerceptron().fit([[1.0, 0.0], [0.0, 1.0]], ["ham", "spam"])
        >>> model.n_mistakes_
        2
        """
        self._check_parameters()
        new = copy(self)
        rows = checked_matrix(new, X, reset=True)
        labels = checked_labels(rows, y)
        new.classes_ = _at_least_two("y", sorted_labels("y", labels))
        random, n_rows = check_random_state(self.random_state), rows.shape[0]
        orders = (
            random.permutation(n_rows) if self.shuffle else np.arange(n_rows)
            for _ in range(self.passes)
        )
        none = Mistakes.none(len(new.classes_), rows.shape[1], self.fit_intercept)
        new.mistakes_ = none.learned(rows, class_numbers(new.classes_, labels), orders)
        self.__dict__ = new.__dict__  # nothing has failed
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Train further on X, in one pass; any split of rows into calls gives the same model.

        Parameters
        ----------
        X, y
            As in `fit`.
        classes : list, optional
            All classes, needed in the first call.

        Raises
        ------
        ConfigError
            If a parameter is invalid.
        InputError
            If rows, labels or classes are invalid. Nothing is learned.

        Examples
        --------
        >>> from rarefy import VotedPerceptron
        >>> model = VotedPerceptron()
        >>> model = model.partial_fit([[1.0, 0.0]], ["ham"], classes=["ham", "spam"])
        >>> model.partial_fit([[0.0, 1.0]], ["spam"]).predict([[2.0, 0.0]]).tolist()
        ['ham']
        """
        self._check_parameters()
        new, is_first = copy(self), not self.__sklearn_is_fitted__()
        new.classes_ = self._known_classes(classes)
        rows = checked_matrix(new, X, reset=is_first)
        numbers = class_numbers(new.classes_, checked_labels(rows, y))
        if is_first:
            new.mistakes_ = Mistakes.none(len(new.classes_), rows.shape[1], self.fit_intercept)
        new.mistakes_ = new.mistakes_.learned(rows, numbers, [np.arange(rows.shape[0])])
        self.__dict__ = new.__dict__
        return self

    def decision_function(self, X: Any) -> Floats:
        """The shares of the votes; with two classes, that of classes_[1] less that of classes_[0].

        Parameters
        ----------
        X
            As in `fit`.

        Returns
        -------
        array of shape (n_rows,) or (n_rows, n_classes)
            From -1 to 1, or from 0 to 1. Weights by which the highest score is a tie do not vote.

        Examples
        --------
        >>> from rarefy import VotedPerceptron
        >>> model = VotedPerceptron(passes=4, shuffle=False)
        >>> model = model.fit([[1.0, 0.0], [0.0, 1.0]], ["ham", "spam"])
        >>> model.decision_function([[0.0, 2.0]]).tolist()
        [0.75]
        """
        votes = self._votes(X)
        return votes[:, 1] - votes[:, 0] if len(self.classes_) == 2 else votes

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the most votes, for each row; the first of them on a tie.

        Parameters
        ----------
        X
            As in `fit`.

        See Also
        --------
        decision_function : The votes.

        Examples
        --------
        >>> from rarefy import VotedPerceptron
        >>> model = VotedPerceptron().fit([[1.0, 0.0], [0.0, 1.0]], ["ham", "spam"])
        >>> model.predict([[0.0, 2.0], [3.0, 0.0]]).tolist()
        ['spam', 'ham']
        """
        votes = self._votes(X)
        return self.classes_[votes.argmax(axis=1)]  # type: ignore[no-any-return]

    @property
    def n_mistakes_(self) -> int:
        check_is_fitted(self)
        return len(self.mistakes_.row)

    @property
    def t_(self) -> int:
        check_is_fitted(self)
        return self.mistakes_.n_rounds

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "mistakes_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _votes(self, X: Any) -> Floats:
        check_is_fitted(self)
        return self.mistakes_.votes(checked_matrix(self, X, reset=False))

    def _check_parameters(self) -> None:
        check_whole("passes", self.passes, 1, MOST_PASSES)
        check_flag("shuffle", self.shuffle)
        check_flag("fit_intercept", self.fit_intercept)
        check_seed(self.random_state)

    def _known_classes(self, classes: Any) -> NDArray[Any]:
        """Those of the first call, which must have them, and of every later one."""
        is_first = not self.__sklearn_is_fitted__()
        if classes is None:
            if is_first:
                raise InputError("classes=None: the first call of partial_fit needs all classes.")
            return self.classes_
        found = _at_least_two("classes", sorted_labels("classes", classes))
        if not is_first and not np.array_equal(found, self.classes_):
            raise InputError(
                f"classes={classes!r} is not the same as on the last call to partial_fit: "
                f"{self.classes_!r}."
            )
        return found


def _at_least_two(name: str, classes: NDArray[Any]) -> NDArray[Any]:
    if len(classes) < 2:
        raise InputError(
            f"{name} contains {len(classes)} class; a classifier needs at least two classes."
        )
    return classes
