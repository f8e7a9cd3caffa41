"""Estimators in model files: those that the command line writes and reads, too."""

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rarefy.errors import InputError
from rarefy.losses import REGRESSION_LOSSES
from rarefy.model_file import LABEL_TYPES, Model, load_model, model_of, save_model
from rarefy.readers.labels import checked_names
from rarefy.stores import make_store
from rarefy.stream import StreamModel

if TYPE_CHECKING:
    from rarefy.estimators.base import SparseOnline

LABEL_KINDS = dict(zip("iufbUO", LABEL_TYPES, strict=True))  # by NumPy's letters


class Saving:
    """Part of the base of both estimators."""

    is_slim_: bool = False  # refitted, or read from a file, without what learning needs

    def save(self: Any, path: str | Path, *, slim: bool = False) -> None:
        """Write a model file, which `rarefy.load` and all commands read.

        A slim one is smaller; it can predict, but not go on learning. Refitted models are slim.
        """
        check_is_fitted(self)
        parameters = dict(self._learned_by.parameters)
        if self.is_slim_ and not (slim or parameters["refit"]):
            raise InputError("the model cannot go on learning any more; save it with slim=True.")
        model = self.stream_ or self._as_stream()
        if not isinstance(parameters["random_state"], int):
            parameters["random_state"] = None
        about = None
        if self.stream_ is None:
            names = getattr(self, "feature_names_in_", None)
            about = {
                "labels": _label_kind(getattr(self, "classes_", None)),
                "columns": None if names is None else list(map(str, names)),
                "n_features": int(self.n_features_in_),
            }
        save_model(path, model_of(model, parameters, matrix=about, slim=slim or self.is_slim_))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The estimator in a model file, whoever wrote it."""
        estimator = load(path)
        if not isinstance(estimator, cls):
            raise InputError(f"{path} holds a {type(estimator).__name__}, not a {cls.__name__}.")
        return estimator

    def _as_stream(self: Any) -> StreamModel:
        """What was learned from matrices, as if their columns had come from a reader."""
        estimator: SparseOnline = self
        learner, task = estimator.learner_, estimator._learned_by.task
        classes = tuple(str(label) for label in getattr(self, "classes_", np.empty(0)).tolist())
        model = StreamModel(task, make_store("array"), checked_names(classes))
        model.adopt(learner)
        return model


def load(path: str | Path) -> Any:
    """The classifier or regressor in a model file, from `save` or from `rarefy train`.

    It predicts what readers give, and, unless its features are in a table, matrices; it can go on
    learning if the model is not slim.
    """
    from rarefy.estimators import SparseOnlineClassifier, SparseOnlineRegressor

    saved = load_model(path)
    is_regressor = saved.loss in REGRESSION_LOSSES
    cls: Any = SparseOnlineRegressor if is_regressor else SparseOnlineClassifier
    known = inspect.signature(cls).parameters
    estimator = cls(**{name: saved.asked[name] for name in known if name in saved.asked})
    try:
        _fill(estimator, saved)
    except (ValueError, OverflowError) as error:
        raise InputError(f"{path} is damaged: its labels make no sense.") from error
    return estimator


def _fill(estimator: Any, saved: Model) -> None:
    """Make an estimator what it was when it was saved."""
    model = saved.scorer() if saved.state is None else saved.learner()
    if saved.search is None:
        model = model.settled()
    if saved.matrix is not None:
        model.learner.grow(saved.matrix["n_features"])
    estimator.is_slim_ = saved.state is None
    estimator._learned(saved.task if estimator.is_slim_ else model.task)
    estimator.learner_ = model.learner
    estimator.n_features_in_ = model.learner.n_features
    if saved.matrix is None:
        estimator.stream_ = model
        estimator._adopt(model)
        return
    if model.classes:
        kind = saved.matrix["labels"]
        labels = [name == "True" for name in model.classes] if kind == "bool" else model.classes
        estimator.classes_ = np.array(labels, dtype=kind)
    if saved.matrix["columns"] is not None:
        estimator.feature_names_in_ = np.array(saved.matrix["columns"], dtype=object)


def _label_kind(classes: NDArray[Any] | None) -> str | None:
    if classes is None:
        return None
    kind = classes.dtype.kind
    if kind not in LABEL_KINDS or (kind == "O" and not all(isinstance(c, str) for c in classes)):
        raise InputError("labels that are neither numbers nor texts cannot be saved.")
    return LABEL_KINDS[kind]
