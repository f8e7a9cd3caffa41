"""rarefy's models as estimators of River: for its pipelines, metrics and drift detectors.

They learn what `SparseOnlineClassifier` and `SparseOnlineRegressor` learn from the same dicts.
`pip install rarefy[river]` installs River.
"""

from collections.abc import Hashable, Sequence
from typing import Any

from rarefy.estimators import classifier, regressor

try:
    from river import base
except ImportError as error:
    raise ImportError("rarefy.river needs River: pip install rarefy[river].") from error

__all__ = ["SparseOnlineClassifier", "SparseOnlineRegressor"]


class _OneByOne:
    """What both estimators do, by the model that they hold."""

    model: Any

    def learn_one(self, x: dict[Hashable, Any], y: Any, w: float = 1.0) -> None:
        """Learn an example.

        Parameters
        ----------
        x : dict
            Names of features, and their values: numbers or texts.
        y : label or float
            One of the classes, or the number to predict.
        w : float, default=1.0
            How much the example counts.

        Raises
        ------
        rarefy.InputError
            If the example is invalid. Nothing is learned.

        See Also
        --------
        predict_one : The prediction, as it would be now.

        Examples
        --------
        >>> from rarefy.river import SparseOnlineClassifier
        >>> model = SparseOnlineClassifier()
        >>> for n in range(20):
        ...     model.learn_one({"prizes": n % 2}, n % 2 == 1)
        >>> model.model.t_
        20
        """
        self.model.learn_one(x, y, w)

    def predict_one(self, x: dict[Hashable, Any]) -> Any:
        """Predict the most probable class, or a number.

        Parameters
        ----------
        x : dict
            As in `learn_one`.

        Returns
        -------
        label or float
            One of the classes (None, if none is known yet), or a number.

        Raises
        ------
        rarefy.InputError
            If the row is invalid.

        See Also
        --------
        learn_one : Learns an example.

        Examples
        --------
        >>> from rarefy.river import SparseOnlineRegressor
        >>> model = SparseOnlineRegressor()
        >>> for n in range(10_000):
        ...     model.learn_one({"rooms": n % 5}, 3.0 * (n % 5))
        >>> round(model.predict_one({"rooms": 4}))
        12
        """
        return self.model.predict_one(x)


class SparseOnlineClassifier(_OneByOne, base.Classifier):  # type: ignore[misc]
    """Sparse linear classifier.

    Parameters
    ----------
    classes : sequence or "grow", default=(False, True)
        All classes; or "grow", for two or more that come at any time.
    text : sequence of str, optional
        Names of features that are texts, to be split into words and word pairs. Other texts are
        categories.
    **parameters
        Those of `rarefy.SparseOnlineClassifier`.

    Attributes
    ----------
    model : rarefy.SparseOnlineClassifier
        The model itself, which can be saved.

    See Also
    --------
    rarefy.SparseOnlineClassifier : Has the same methods, without River.

    Examples
    --------
    >>> from rarefy.river import SparseOnlineClassifier
    >>> from river import datasets, evaluate, metrics
    >>> evaluate.progressive_val_score(
    ...     datasets.Phishing(), SparseOnlineClassifier(), metrics.Accuracy()
    ... ).get() > 0.8
    True
    """

    def __init__(
        self,
        classes: Sequence[Any] | str = (False, True),
        text: Sequence[str] | None = None,
        **parameters: Any,
    ) -> None:
        self.classes = classes
        self.text = text
        self.parameters = parameters
        model = classifier.SparseOnlineClassifier(**parameters)
        given = classes if isinstance(classes, str) else list(classes)
        self.model = model.start(classes=given, text=text or ())

    @property
    def _multiclass(self) -> bool:
        return isinstance(self.classes, str) or len(self.classes) > 2

    def predict_proba_one(self, x: dict[Hashable, Any]) -> dict[Any, float]:
        """Predict the probability of each class.

        Parameters
        ----------
        x : dict
            As in `learn_one`.

        Returns
        -------
        dict
            Probabilities by label.

        Raises
        ------
        rarefy.InputError
            If the row is invalid.

        See Also
        --------
        predict_one : The label.

        Examples
        --------
        >>> from rarefy.river import SparseOnlineClassifier
        >>> model = SparseOnlineClassifier()
        >>> for n in range(20):
        ...     model.learn_one({"prizes": n % 2}, n % 2 == 1)
        >>> model.predict_proba_one({"prizes": 1})[True] > 0.5
        True
        """
        return self.model.predict_proba_one(x)  # type: ignore[no-any-return]


class SparseOnlineRegressor(_OneByOne, base.Regressor):  # type: ignore[misc]
    """Sparse linear regressor.

    Parameters
    ----------
    text : sequence of str, optional
        Names of features that are texts, to be split into words and word pairs. Other texts are
        categories.
    **parameters
        Those of `rarefy.SparseOnlineRegressor`.

    Attributes
    ----------
    model : rarefy.SparseOnlineRegressor
        The model itself, which can be saved.

    See Also
    --------
    rarefy.SparseOnlineRegressor : Has the same methods, without River.

    Examples
    --------
    >>> from rarefy.river import SparseOnlineRegressor
    >>> model = SparseOnlineRegressor()
    >>> for n in range(100):
    ...     model.learn_one({"n": n % 10}, 3.0 * (n % 10))
    >>> round(model.predict_one({"n": 5}))
    15
    """

    def __init__(self, text: Sequence[str] | None = None, **parameters: Any) -> None:
        self.text = text
        self.parameters = parameters
        self.model = regressor.SparseOnlineRegressor(**parameters).start(text=text or ())
