"""The result of a sweep: a table of all points, and ways to choose one."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rarefy.arrays import Floats
from rarefy.errors import ConfigError, DivergenceError
from rarefy.model.scoring import higher_is_better, is_measure
from rarefy.sweeping.grid import Point


class Extent(NamedTuple):
    """How large the data are: `n_rows` and `n_features`."""

    n_rows: int
    n_features: int


@dataclass(frozen=True)
class Choice:
    """A point of the grid.

    Attributes
    ----------
    parameters : dict
        The parameters.
    measures : dict
        What was measured, averaged over the folds: `accuracy`, `loss`, `weights`, `features`,
        `standard_error`, and others, by task.
    """

    parameters: Point
    measures: dict[str, float]


class Sweep:
    """The points of a grid, and how they fared; what `rarefy.sweep` returns.

    Attributes
    ----------
    points : list of dict
        The parameters of each point of the grid.
    by_fold : dict of array
        For every measure an array, (point, fold); a point whose weights diverged has NaN.
    table : dict of list
        A column for every parameter, for the mean of every measure over the folds, and for the
        standard error of the score.
    score : str
        The measure to choose by: "accuracy", "r2" in regression, or what `scoring` says; "score"
        where that is a function.
    end_of_grid : str
        What there is to say if the best l1 is the smallest or largest that was tried, or leaves no
        weights; else empty.
    varying : list of str
        The parameters that are not the same in all points.
    extent : Extent
        How many rows and features the data have.
    """

    def __init__(
        self,
        make_estimator: Callable[[Point], Any],
        points: list[Point],
        by_fold: dict[str, Floats],
        extent: Extent,
        score: str | None = None,
    ) -> None:
        self.points = points
        self.extent = extent
        self.by_fold = by_fold
        self.score = score or ("accuracy" if "accuracy" in by_fold else "r2")
        self._make_estimator = make_estimator
        self._means = {name: values.mean(axis=1) for name, values in by_fold.items()}
        self._means["standard_error"] = _standard_error(by_fold[self.score])

    @property
    def table(self) -> dict[str, list[Any]]:
        """The columns by name; None where a parameter does not apply to the rule.

        The parameter `loss` is called loss_function there; loss is what was measured.
        """
        points = [names_in_table(point) for point in self.points]
        names = dict.fromkeys(name for point in points for name in point)
        columns = {name: [point.get(name) for point in points] for name in names}
        return columns | {name: values.tolist() for name, values in self._means.items()}

    @property
    def varying(self) -> list[str]:
        """The parameters that are not the same in all points."""
        names = dict.fromkeys(name for point in self.points for name in point)
        return [name for name in names if len({str(p.get(name)) for p in self.points}) > 1]

    def to_pandas(self) -> Any:
        """The table as a data frame."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ConfigError("to_pandas needs pandas: pip install pandas.") from error
        return pd.DataFrame(self.table)

    def to_arrow(self) -> Any:
        """The table as an Arrow table; rules that are objects are named."""
        try:
            import pyarrow as pa
        except ImportError as error:
            raise ConfigError("to_arrow needs PyArrow: pip install rarefy[arrow].") from error
        columns = self.table
        columns["rule"] = [rule if isinstance(rule, str) else str(rule) for rule in columns["rule"]]
        return pa.table(columns)

    def best(self, *, by: str | None = None, within_features: float = math.inf) -> Choice:
        """Choose the point with the best score.

        Parameters
        ----------
        by : str, optional
            Another measure than the score, such as "loss".
        within_features : number, optional
            Consider only points that keep at most so many features.

        Returns
        -------
        Choice
            Its `parameters` and `measures`.

        Raises
        ------
        ConfigError
            If no point keeps so few features, or there is no such measure.
        """
        by = self.score if by is None else by
        if not is_measure(by) or by not in self.by_fold:
            known = ", ".join(filter(is_measure, self.by_fold))
            raise ConfigError(f"by={by!r}: one of {known} is expected.")
        allowed = self._allowed(within_features)
        if len(allowed) == 0:
            raise ConfigError(
                f"within_features={within_features}: no point of the grid keeps so few features; "
                f"the minimum is {np.nanmin(self._means['features']):g}. Try a larger l1."
            )
        return self._choice(allowed[np.argmax(_sign(by) * self._means[by][allowed])])

    def one_standard_error(self, *, within_features: float = math.inf) -> Choice:
        """Choose the smallest model whose score is within one standard error of the best.

        Parameters
        ----------
        within_features : number, optional
            As in `best`.

        Returns
        -------
        Choice
            As from `best`.

        Raises
        ------
        ConfigError
            If the sweep had no folds, and so there are no standard errors.
        """
        best = self.best(within_features=within_features).measures
        if math.isnan(best["standard_error"]):
            raise ConfigError("one_standard_error needs folds: give sweep a number of folds.")
        allowed = self._allowed(within_features)
        goodness = _sign(self.score) * self._means[self.score]
        least = _sign(self.score) * best[self.score] - best["standard_error"]
        close = allowed[goodness[allowed] >= least]
        order = np.lexsort((-goodness[close], self._means["weights"][close]))
        return self._choice(close[order[0]])

    def frontier(self, rule: Any = None) -> list[Choice]:
        """List the points that no other beats in both score and number of weights.

        Parameters
        ----------
        rule : str, optional
            Only those of this rule.

        Returns
        -------
        list of Choice
            Fewest weights first.
        """
        valid = self._valid()
        if rule is not None:
            valid = np.array([i for i in valid if self.points[i]["rule"] == rule], dtype=int)
        score = _sign(self.score) * self._means[self.score][valid]
        weights = self._means["weights"][valid]
        chosen, highest = [], -math.inf
        for i in np.lexsort((-score, weights)):
            if score[i] > highest:
                highest = score[i]
                chosen.append(self._choice(valid[i]))
        return chosen

    @property
    def higher_is_better(self) -> bool:
        """Whether more of the score is better."""
        return higher_is_better(self.score)

    @property
    def end_of_grid(self) -> str:
        """What to say if the best l1 is an end of the grid, or leaves no weights; else empty."""
        end = self.end_of_l1()
        if end is None:
            return self._about_empty_models()
        which, other = ("smallest", "smaller") if end[1] < 0 else ("largest", "larger")
        return (
            f"The best l1, {end[0]['l1']:.4g}, is the {which} that was tried: {other} ones may be "
            f"better."
        )

    def _about_empty_models(self) -> str:
        """What to say if the best point has no weights, whatever the end of the grid."""
        if np.isnan(self._means[self.score]).all():
            return ""
        best = self.best()
        if not best.parameters.get("l1") or best.measures["weights"] > 0.0:
            return ""
        return (
            f"The best models, of l1 = {best.parameters['l1']:.4g}, have no weights: smaller "
            f"values may be better."
        )

    def end_of_l1(self) -> tuple[Point, int] | None:
        """The best point, and -1 or 1, if its l1 is the smallest or largest tried there.

        That is, of three values or more with the same other parameters, and only if it is better
        than the next one.
        """
        if np.isnan(self._means[self.score]).all():
            return None
        best = self.best().parameters
        if "l1" not in best:
            return None
        others = {name: value for name, value in best.items() if name != "l1"}
        goodness = _sign(self.score) * self._means[self.score]
        by_l1 = {
            point["l1"]: goodness[i]
            for i, point in enumerate(self.points)
            if {name: value for name, value in point.items() if name != "l1"} == others
        }
        values = sorted(by_l1)
        for end, beside, side in ((0, 1, -1), (-1, -2, 1)):
            if len(values) > 2 and best["l1"] == values[end]:
                is_better = not by_l1[values[beside]] >= by_l1[values[end]]
                return (best, side) if is_better else None
        return None

    def estimator(self, choice: Choice | None = None) -> Any:
        """Make an estimator, not fitted, with the parameters of a choice.

        Parameters
        ----------
        choice : Choice, optional
            By default the best.

        Returns
        -------
        SparseOnlineClassifier or SparseOnlineRegressor
            It has learned nothing yet.
        """
        return self._make_estimator((choice or self.best()).parameters)

    def refit(self, X: Any, y: Any, choice: Choice | None = None, sample_weight: Any = None) -> Any:
        """Fit an estimator with the parameters of a choice to all rows.

        Parameters
        ----------
        X, y : matrix and labels
            The rows.
        choice : Choice, optional
            By default the best.
        sample_weight : array-like, optional
            How much each row counts.

        Returns
        -------
        SparseOnlineClassifier or SparseOnlineRegressor
            The fitted model.
        """
        return self.estimator(choice).fit(X, y, sample_weight=sample_weight)

    def plot(self, axes: Any = None) -> Any:
        """Draw score against weights kept, with the frontier of every rule; needs Matplotlib."""
        from rarefy.sweeping.plots import draw

        return draw(self, axes)

    def _valid(self) -> Any:
        """The points that did not diverge."""
        valid = np.flatnonzero(~np.isnan(self._means[self.score]))
        if len(valid) == 0:
            raise DivergenceError(
                "The weights of all points diverged: the step size is too large for these "
                "features. Try a smaller eta0, or scale the features."
            )
        return valid

    def _allowed(self, within_features: float) -> Any:
        """The points that did not diverge and keep so many features at most."""
        valid = self._valid()
        return valid[self._means["features"][valid] <= within_features]

    def _choice(self, point: int) -> Choice:
        measures = {name: float(values[point]) for name, values in self._means.items()}
        return Choice(self.points[point], measures)

    def __repr__(self) -> str:
        n_points, n_folds = self.by_fold["loss"].shape
        return f"<Sweep of {n_points} points, {n_folds} fold{'s' if n_folds > 1 else ''}>"


def names_in_table(point: Point) -> Point:
    """The point with the names that its parameters have in the table."""
    return {"loss_function" if name == "loss" else name: value for name, value in point.items()}


def _sign(measure: str) -> float:
    return 1.0 if higher_is_better(measure) else -1.0


def _standard_error(by_fold: Floats) -> Floats:
    """Of the mean over the folds; NaN if there is but one."""
    n_folds = by_fold.shape[1]
    if n_folds == 1:
        return np.full(len(by_fold), np.nan)
    return np.asarray(by_fold.std(axis=1, ddof=1) / math.sqrt(n_folds))
