"""`rarefy.update`: from a model in use to the next one, within a budget for lost answers."""

from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from rarefy.checks import check_number, check_whole
from rarefy.errors import ConfigError, InputError
from rarefy.estimators.anchor_models import anchored
from rarefy.estimators.classifier import SparseOnlineClassifier
from rarefy.estimators.matrices import check_importance
from rarefy.estimators.persistence import estimator_with
from rarefy.estimators.training_warnings import WarningReporter
from rarefy.model.answers import right_answers
from rarefy.parameters.entry import MOST_PASSES
from rarefy.splits import held_out
from rarefy.system.atomic_write import Output
from rarefy.system.output_checks import check_outputs
from rarefy.updating.blending import Blend
from rarefy.updating.choice import Limits, Updated, chosen_update
from rarefy.updating.path import BothScores
from rarefy.updating.safe_update import DEFAULT_HOLDOUT, DEFAULT_PASSES, SafeUpdate


def update(
    old: Any,
    *data: Any,
    max_negative: float,
    holdout: Any = DEFAULT_HOLDOUT,
    by: str = "accuracy",
    min_gain: float = 0.0,
    anchor: float | None = None,
    replay: Any = (),
    passes: int | None = None,
    output: str | Path | None = None,
    **parameters: Any,
) -> Updated:
    """Train a model further, and keep the rate of answers that it loses within a budget.

    A lost answer is one that the old model has right and the new one has wrong. Of the models whose
    weights are between those of the old one and those of the one that has learned on, the best is
    taken whose rate of lost answers is within the budget, as held-out rows show with a confidence
    of 97.5 %.

    Parameters
    ----------
    old : str, Path or SparseOnlineClassifier
        A model file, with `data` in files, or a classifier fitted on a matrix, with X and y. It
        must be able to learn on, and stays as it is.
    *data : str or Path; or X and y
        Rows to learn from.
    max_negative : float
        The largest rate of lost answers, as a share of all rows: 0.005 is 0.5 %.
    holdout : float, str, Path, or (X, y), default=0.2
        The share of the rows that is not learned, but used to judge the models; or a file, or a
        matrix with labels, in addition to the data.
    by : {"accuracy", "loss", "auc"}, default="accuracy"
        What the best model is best in.
    min_gain : float, default=0.0
        By how much it has to be better than the old one.
    anchor : float, optional
        Learn the difference to the old model, with this l1, as `anchored` does: fewer weights
        change. The old model may then be slim or refitted.
    replay : str, Path, a sequence of these, or (X, y) or (X, y, sample_weight), optional
        Rows that the old model has learned, to be learned once more before the data in every
        pass: of the ways to lose fewer answers, the one that costs the least accuracy.
    passes : int, optional
        How often rows are learned. The default is 4; or 1, if they come from a pipe, or the model
        is still being tuned.
    output : str or Path, optional
        Model file to write, if there is a new model; for files.
    **parameters
        For files, `slice_by` (a column for each of whose values the budget is to be kept),
        `protect` (a file with rows of which no answer may be lost), and those of `rarefy.train`
        that go with `resume` (`shuffle`, `label`, ...); for matrices, `sample_weight`.

    Returns
    -------
    Updated
        The new model in `model`; None if there is none that is better and within the budget.

    Raises
    ------
    ConfigError
        If a parameter is unknown or invalid.
    InputError
        If the model is no classifier or cannot learn on, or data cannot be read.

    See Also
    --------
    flips : Counts lost answers between any two models.
    releases : Replays a chain of updates.
    anchored : Learns the difference to a model.

    Examples
    --------
    >>> import rarefy
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(6000, 20))
    >>> y = X @ random.normal(size=20) + 2.0 * random.normal(size=6000) > 0.0
    >>> old = rarefy.SparseOnlineClassifier().fit(X[:200], y[:200])
    >>> updated = rarefy.update(old, X[200:], y[200:], max_negative=0.03)
    >>> updated.chosen.bound <= 0.03, updated.chosen.accuracy > updated.old.accuracy
    (True, True)
    """
    limits = Limits(max_negative, by, min_gain)
    if isinstance(old, str | Path):
        for each in data:
            if not isinstance(each, str | Path):
                raise InputError(
                    f"{old} is a file, so its data must be files, not a {type(each).__name__}. For "
                    f"matrices, give the model that `rarefy.load` reads."
                )
        given = {"holdout": holdout, "anchor": anchor, "replay": replay, "passes": passes}
        place = None if output is None else Output(str(output))
        return _from_files(str(old), data, limits, place, given | parameters)
    if output is not None:
        raise ConfigError("output is for files; save the model of the result.")
    if not isinstance(old, SparseOnlineClassifier):
        raise InputError(
            f"the old model, a {type(old).__name__}, cannot be updated: a SparseOnlineClassifier "
            f"or a model file is expected."
        )
    passes = DEFAULT_PASSES if passes is None else passes
    importance = parameters.pop("sample_weight", None)
    if parameters:
        raise ConfigError(f"{min(parameters)} is not a parameter of updates by X and y.")
    return _from_matrices(old, data, limits, holdout, anchor, replay, passes, importance)


def _from_files(
    old: str, data: Any, limits: Limits, output: Output | None, asked: dict[str, Any]
) -> Updated:
    path = None if output is None else output.path
    work = SafeUpdate(old, data, limits, path, **asked)
    check_outputs([path, work.plan.settings["cache"]], work.inputs)
    task = work.plan.run.model.task
    found = work.carry_out(WarningReporter())
    if found.model is None:
        return found
    if output is not None:
        work.save(found, output)
    how = task, work.plan.parameters
    return replace(found, model=estimator_with(found.model, *how, is_slim=found.is_slim))


def _from_matrices(
    old: SparseOnlineClassifier,
    data: Any,
    limits: Limits,
    holdout: Any,
    anchor: float | None,
    replay: Any,
    passes: int,
    sample_weight: Any,
) -> Updated:
    limits.check()
    check_whole("passes", passes, 1, MOST_PASSES)
    _check_old(old, anchor)
    limits.check_classes(len(old.classes_))
    if len(data) != 2:
        raise InputError("X and y are expected after the old model.")
    X, y = data
    n_rows = _n_rows(old, "X and y", X, y)
    importance = check_importance(sample_weight, n_rows)
    if isinstance(holdout, tuple):
        if len(holdout) != 2:
            raise ConfigError("holdout: (X, y) is expected.")
        X_held, y_held = holdout
        held_importance = np.ones(_n_rows(old, "holdout", X_held, y_held))
    else:
        if not isinstance(holdout, float) or not 0.0 < holdout < 1.0:
            raise ConfigError(
                f"holdout={holdout!r}: a share between 0 and 1, or (X, y), is expected."
            )
        held = held_out(0, n_rows, holdout)
        (X_held, X), (y_held, y) = (
            [_safe_indexing(of, np.flatnonzero(rows)) for rows in (held, ~held)] for of in (X, y)
        )
        held_importance, importance = importance[held], importance[~held]
    if not isinstance(replay, tuple) or len(replay) not in (0, 2, 3):
        raise ConfigError("replay: (X, y) or (X, y, sample_weight) is expected.")
    if replay:
        _n_rows(old, "replay", *replay[:2])
    new = deepcopy(old) if anchor is None else anchored(old, l1=anchor)
    for number in range(1, passes + 1):
        new.learner_.begin_pass(number)
        if replay:
            new.partial_fit(*replay[:2], sample_weight=(*replay, None)[2])
        new.partial_fit(X, y, sample_weight=importance)
    counts = held_importance > 0.0
    scores, new_scores = old._scores(X_held)[counts], new._scores(X_held)[counts]
    targets = new._known_targets(X_held, np.asarray(y_held))[counts]
    right = right_answers(scores, targets, old._threshold_in_use)
    before = old._as_stream()
    blend = Blend(before.kept(), before.learner.settled().intercept(), new._as_stream())
    rows = BothScores(right, scores, new_scores, targets, held_importance[counts])
    found = chosen_update(blend, rows, limits)
    if found.model is None:
        return found
    new.learner_, new.is_slim_ = found.model.learner, found.is_slim
    return replace(found, model=new)


def _check_old(old: SparseOnlineClassifier, anchor: float | None) -> None:
    check_is_fitted(old)
    if old.stream_ is not None:
        raise InputError("the old model was trained on a stream: save it, and give its file.")
    if anchor is not None:
        check_number("anchor", anchor)
    elif old.is_slim_ or not hasattr(old, "partial_fit"):
        raise InputError(
            "the old model is slim or refitted: it can predict, but not be trained further. With "
            "an anchor, what is learned is a difference to it."
        )


def _n_rows(old: SparseOnlineClassifier, what: str, X: Any, y: Any) -> int:
    """How many rows there are, with labels that the old model knows, even if classes may grow."""
    n_rows: int = X.shape[0] if hasattr(X, "shape") else len(X)
    if len(y) != n_rows:
        raise InputError(f"{what}: {n_rows:,} rows, but {len(y):,} labels.")
    if old._learned_by.task.classes_grow:
        unknown = np.setdiff1d(y, old.classes_).tolist()
        if unknown:
            raise InputError(
                f"{what}: the label {unknown[0]!r} is new, and an update compares answers of "
                f"models over the same classes."
            )
    return n_rows
