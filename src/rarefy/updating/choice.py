"""Choosing a model on the path from old to new."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rarefy.arrays import Floats
from rarefy.checks import check_number, choose, is_number
from rarefy.errors import ConfigError, InputError
from rarefy.model.answers import right_answers
from rarefy.model.calibration import Calibration
from rarefy.streams.stream_model import StreamModel
from rarefy.updating.blending import Blend
from rarefy.updating.bound import rows_needed
from rarefy.updating.path import MEASURES, BothScores, Point, best, gain, points_of, within
from rarefy.updating.slices import SliceLoss, Slices, slice_losses


class Limits(NamedTuple):
    """What an update has to keep to, and is chosen by."""

    max_negative: float
    by: str = "accuracy"
    min_gain: float = 0.0

    def check(self) -> "Limits":
        if not (is_number(self.max_negative) and 0.0 < self.max_negative < 1.0):
            raise ConfigError(
                f"max_negative={self.max_negative!r}: a share above 0 and below 1 is expected."
            )
        check_number("min_gain", self.min_gain)
        choose("by", self.by, MEASURES)
        return self

    def check_classes(self, n_classes: int) -> None:
        """Refuse what cannot be measured with so many classes."""
        if self.by == "auc" and n_classes > 2:
            raise ConfigError(
                f"by='auc' (--by): AUC is for two classes, and the model has {n_classes}; take "
                f"accuracy or loss."
            )


@dataclass(frozen=True)
class Updated:
    """What came of an update, as of `rarefy.update`.

    Attributes
    ----------
    model : SparseOnlineClassifier or None
        The new model; None if the old one stays.
    is_slim : bool
        Whether it can predict, but not be trained further.
    reason : str
        Why the old model stays.
    alpha : float or None
        The share of the old weights in those of the new model.
    n_examples : int
        How many held-out rows the models were judged by.
    chosen, old, plain : Point
        The new model, the old one, and the one that has learned on without a budget: `accuracy`,
        `loss`, `auc`, `n_lost`, `n_won`, `lost_rate`, `won_rate`, and `bound`, which the rate of
        lost answers on new rows is below with a confidence of 97.5 %.
    points : list of Point
        All models that were judged, from the old one on.
    slices : list of SliceLoss
        With `slice_by`, what the rows of each value lose, the worst first: `value`, `n_rows`,
        `n_lost`, `lost_rate`, `bound`.
    """

    model: Any  # as a stream has it, before it is that of an estimator
    is_slim: bool
    reason: str
    n_examples: int
    chosen: Point | None
    points: list[Point]
    slices: list[SliceLoss]

    @property
    def alpha(self) -> float | None:
        return None if self.chosen is None else self.chosen.alpha

    @property
    def old(self) -> Point:
        return self.points[0]

    @property
    def plain(self) -> Point:
        return self.points[-1]


def chosen_update(
    blend: Blend,
    rows: BothScores,
    limits: Limits,
    slices: Slices | None = None,
    golden: BothScores | None = None,
) -> Updated:
    """The best model within the limits, judged by rows that no model has learned.

    The budget holds for each of the slices, too, and no golden row may be lost at all.
    """
    if len(rows.y) == 0:
        raise InputError(
            "there are no held-out rows to judge the model by: give more rows, or others to judge "
            "by (--holdout)."
        )
    threshold = blend.new.decision_threshold

    def losses(alpha: float) -> list[SliceLoss]:
        return [] if slices is None else slice_losses(rows, slices, rows.at(alpha), threshold)

    def keeps(alpha: float) -> bool:
        is_kept = all(loss.is_within(limits.max_negative) for loss in losses(alpha))
        if golden is None:
            return is_kept
        return is_kept and bool(right_answers(golden.at(alpha), golden.y, threshold).all())

    points = within(points_of(blend.new, rows), limits.max_negative, keeps)
    chosen, reason = _choice(points, limits)
    shown = losses(0.0 if chosen is None else chosen.alpha)
    model, is_slim = None, False
    if chosen is not None:
        model = blend.model(chosen.alpha)
        is_slim = model is None
        model = model or blend.scorer(chosen.alpha)
        _calibrate(model, blend.new, rows.at(chosen.alpha), rows)
    return Updated(model, is_slim, reason, len(rows.y), chosen, points, shown)


def _choice(points: list[Point], limits: Limits) -> tuple[Point | None, str]:
    """The point to go to; or none, and why."""
    old, by = points[0], limits.by
    if getattr(old, by) is None:
        raise InputError(f"by={by!r} (--by): it takes held-out rows of both classes.")
    chosen = best(points, by)
    if chosen is None:
        budget = f"{100.0 * limits.max_negative:.4g} %"
        if old.n_lost:
            return None, (
                f"features of the old model were dropped while learning on, to stay within its "
                f"capacity, and {budget} cannot be kept without them"
            )
        return None, (
            f"there are too few held-out rows to show that {budget} is kept: it "
            f"takes {rows_needed(limits.max_negative):,} at least"
        )
    won = gain(chosen, old, by)
    if won <= 0.0:
        return None, f"no model within the budget has a better {by} than the old one"
    if won < limits.min_gain:
        return None, (
            f"the best {by} within the budget is better by {won:.5g}, and {limits.min_gain:g} is "
            f"asked for"
        )
    return chosen, ""


def _calibrate(model: StreamModel, new: StreamModel, scores: Floats, rows: BothScores) -> None:
    """Scale probabilities by what came of the held-out rows, if they are calibrated at all.

    Learning rows several times has ended what there was before: scores of those are not honest.
    """
    if model.task.calibrate:
        before = new.learner.settled().calibration or Calibration()
        scores = np.ascontiguousarray(scores)
        model.learner.settled().calibration = before.anew().after(scores, rows.y, rows.importance)
