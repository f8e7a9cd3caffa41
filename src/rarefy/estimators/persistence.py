"""Saving and loading estimators, in the model files of the command line."""

import inspect
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rarefy.engine.task import Task
from rarefy.errors import InputError
from rarefy.files.label_types import label_names, label_type, labels_named
from rarefy.files.model import Model, check_classes_to_save, model_of
from rarefy.files.model_file import load_model, save_model
from rarefy.parameters.describe import is_unknown, name_of_unknown
from rarefy.readers.features.labels import checked_class_names
from rarefy.stores import make_store
from rarefy.streams.stream_model import StreamModel

if TYPE_CHECKING:
    from rarefy.estimators.sparse_online import SparseOnline


class LearnedBy(NamedTuple):
    """What a model was learned by, and so what it predicts with and is saved with."""

    task: Task
    parameters: dict[str, Any]
    run: dict[str, Any] | None = None  # of a file, if nothing was learned since that was read
    slim: Model | None = None  # the file itself, which says more than is needed to predict


class Saving:
    """Part of the base of both estimators."""

    is_slim_: bool = False  # refitted, or read from a file, without what learning needs

    def save(self: Any, path: str | Path, *, slim: bool = False) -> None:
        """Save the model to a file, for `rarefy.load` and all commands.

        A slim file is smaller; it can predict, but not be trained further. Refitted models are
        slim.
        """
        check_is_fitted(self)
        if self.is_slim_ and not (slim or self._learned_by.parameters.get("refit")):
            raise InputError("the model cannot be trained further; save it with slim=True.")
        save_model(path, model_of_estimator(self, slim=slim))

    @property
    def _threshold_in_use(self: Any) -> float:
        """What the parameter says by now; a regressor has none."""
        return float(getattr(self, "decision_threshold", 0.0))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Load an estimator from a model file."""
        estimator = load(path)
        if not isinstance(estimator, cls):
            raise InputError(f"{path} holds a {type(estimator).__name__}, not a {cls.__name__}.")
        return estimator

    def _as_stream(self: Any) -> StreamModel:
        """The model as streams have it; columns of matrices are as if a reader had given them."""
        estimator: SparseOnline = self
        if estimator.stream_ is not None:
            model = copy(estimator.stream_)
        else:
            classes = label_names(getattr(self, "classes_", np.empty(0)))
            task = estimator._learned_by.task
            model = StreamModel(task, make_store("array"), checked_class_names(classes))
            model.adopt(estimator.learner_)
        model.decision_threshold = self._threshold_in_use
        model.class_totals = estimator._class_totals
        return model


def load(path: str | Path) -> Any:
    """Read the classifier or regressor in a model file, from `save` or from `rarefy train`.

    Parameters
    ----------
    path : str or path
        The file. Nothing in it is executed: it holds JSON and arrays, and no pickle.

    Returns
    -------
    SparseOnlineClassifier or SparseOnlineRegressor
        It predicts readers and, unless its features are in a table, matrices. It can be trained
        further if it is not slim.

    Raises
    ------
    InputError
        If the file cannot be read, is not a model file, or is damaged.

    See Also
    --------
    SparseOnlineClassifier.save : Writes a model file.
    train : Trains, and can write model files on the way.

    Examples
    --------
    >>> import numpy as np, rarefy, tempfile
    >>> from pathlib import Path
    >>> file = Path(tempfile.mkdtemp()) / "signs.model"
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> model = rarefy.SparseOnlineClassifier().fit(X, X[:, 0] > 0.0)
    >>> model.save(file)
    >>> bool((rarefy.load(file).predict(X) == model.predict(X)).all())
    True
    """
    try:
        return estimator_of(load_model(path))
    except (ValueError, OverflowError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} is damaged: its labels are invalid.") from error


def model_of_estimator(estimator: Any, *, slim: bool = False) -> Model:
    """What a file says of an estimator that has learned."""
    check_is_fitted(estimator)
    _, parameters, run, read = estimator._learned_by
    if read is not None:
        return read._replace(decision_threshold=estimator._threshold_in_use)  # type: ignore[no-any-return]
    check_classes_to_save(estimator._learned_by.task, getattr(estimator, "classes_", ()))
    model = estimator._as_stream()
    about = None
    if estimator.stream_ is None:
        names = getattr(estimator, "feature_names_in_", None)
        about = {
            "labels": label_type("y", estimator.classes_) if model.classes else None,
            "columns": None if names is None else list(map(str, names)),
            "n_features": int(estimator.n_features_in_),
        }
    return model_of(model, parameters, run=run, matrix=about, slim=slim or estimator.is_slim_)


def estimator_of(saved: Model) -> Any:
    """The estimator that a file says."""
    asked = {
        "calibrate": False,
        **saved.asked,
        "decision_threshold": saved.decision_threshold,
    }
    if is_unknown(asked.get("rule")):
        asked["rule"] = name_of_unknown(asked["rule"])
    estimator = estimator_for(saved.task, asked)
    _fill(estimator, saved)
    return estimator


def estimator_for(task: Task, parameters: dict[str, Any]) -> Any:
    """An estimator that has not learned, with those of the parameters that it has."""
    from rarefy.estimators import SparseOnlineClassifier, SparseOnlineRegressor

    cls: Any = SparseOnlineRegressor if task.is_regression else SparseOnlineClassifier
    known = inspect.signature(cls).parameters
    return cls(**{name: parameters[name] for name in known if name in parameters})


def estimator_with(
    model: StreamModel, task: Task, parameters: dict[str, Any], *, is_slim: bool
) -> Any:
    """An estimator that has the model which has learned this task."""
    estimator = estimator_for(task, parameters)
    estimator._take_over_stream(model, task, is_slim=is_slim)
    return estimator


def _fill(estimator: Any, saved: Model) -> None:
    """Make an estimator what it was when it was saved."""
    model = saved.scorer() if saved.state is None else saved.learner()
    if saved.search is None:
        model = model.settled()
    if saved.matrix is not None:
        model.learner.grow(saved.matrix["n_features"])
    estimator.is_slim_ = saved.state is None
    estimator._learned_by = _learned_by(saved, model.task)
    estimator._class_totals = model.class_totals
    if saved.matrix is None:
        estimator._take_over(model)
        return
    estimator.learner_ = model.learner
    estimator.n_features_in_ = model.learner.n_features
    if model.classes:
        estimator.classes_ = labels_named(model.classes, saved.matrix["labels"])
    if saved.matrix["columns"] is not None:
        estimator.feature_names_in_ = np.array(saved.matrix["columns"], dtype=object)


def _learned_by(saved: Model, task: Task) -> LearnedBy:
    """What a model that is saved again was learned by; a limit that is met by now ends a run."""
    if saved.state is None:
        return LearnedBy(saved.task, saved.asked, slim=saved)
    return LearnedBy(task, saved.asked, saved.run if saved.limit is None else None)
