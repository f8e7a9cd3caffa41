"""The criteria by which models with other hyperparameters are compared."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from rarefy.arrays import Floats
from rarefy.checks import use_instead
from rarefy.errors import ConfigError
from rarefy.model.answers import predicted_classes, true_classes
from rarefy.model.confusion import confusion_matrix, precision_and_recall
from rarefy.model.ranking import Ranking

Judge = Callable[[Floats, Floats, Floats], float]  # of scores, targets and importance
OWN = "score"  # what a function of the user gives; more of it is better


class Scoring(NamedTuple):
    """A measure by name, or a function of the user."""

    name: str
    function: Callable[..., Any] | None = None

    @property
    def needs_scores(self) -> bool:
        """Whether the scores of all rows that it judges have to be there at a time."""
        return self.name not in TALLIED

    def judge(self, classes: Any) -> Judge | None:
        """What makes a number of scores; `classes` are the labels, in order, or none."""
        if self.function is not None:
            return OwnJudge(self.function, classes).judge
        measure = MEASURES[self.name]
        if measure.needs_two_classes and len(classes) != 2:
            raise ConfigError(
                f"scoring={self.name!r} (--by) is for two classes, and there are {len(classes)}; "
                f"for several, choose by accuracy, loss or f1."
            )
        return measure.judge


def judgement(judge: Judge, scores: Floats, y: Floats, importance: Floats) -> float:
    """What a judge says of rows; those of importance zero do not count."""
    counts = importance > 0.0
    return judge(scores[counts], y[counts], importance[counts])


class OwnJudge(NamedTuple):
    """Calls a function of the user with labels as the user has them."""

    function: Callable[..., Any]
    classes: Any

    def judge(self, scores: Floats, y: Floats, importance: Floats) -> float:
        truth = y if len(self.classes) == 0 else self.classes[true_classes(scores, y)]
        given = scores[:, 0] if scores.shape[1] == 1 else scores
        weights = {} if (importance == 1.0).all() else {"sample_weight": importance}
        return float(self.function(truth, given, **weights))


def make_scoring(asked: Any, *, is_regression: bool) -> Scoring:
    """What a user wants to choose by; None stands for accuracy, or R² in regression."""
    names = OF_NUMBERS if is_regression else OF_CLASSES
    if asked is None:
        return Scoring(names[0])
    return Scoring(OWN, asked) if callable(check_scoring(asked, names)) else Scoring(asked)


def check_scoring(asked: Any, names: Sequence[str]) -> Any:
    """What a user asks for, if it is one of the names or a function that can be called."""
    if callable(asked):
        _check_takes_labels_and_scores(asked)
    elif not isinstance(asked, str) or asked not in names:
        use = use_instead(asked, names)
        raise ConfigError(
            f"scoring={asked!r} (--by){use}: one of {', '.join(names)}, or a function of labels "
            f"and scores, is expected."
        )
    return asked


def _check_takes_labels_and_scores(function: Callable[..., Any]) -> None:
    """Before models are trained for it; what takes an estimator is scikit-learn's scorers."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of a function that does not say
        return
    try:
        signature.bind("labels", "scores")
    except TypeError as error:
        name = getattr(function, "__name__", type(function).__name__)
        raise ConfigError(
            f"scoring={name}{signature}: a function of labels and scores is expected, such as "
            f"sklearn.metrics.roc_auc_score; scorers, which take an estimator, cannot be used."
        ) from error


def _f1(scores: Floats, y: Floats, importance: Floats) -> float:
    """0 where it is undefined, as where the second class neither occurs nor is predicted."""
    n_classes = max(scores.shape[1], 2)
    answers = true_classes(scores, y), predicted_classes(scores)
    confusion = confusion_matrix(*answers, importance, n_classes)
    return float(np.nan_to_num(precision_and_recall(confusion)["f1"]))


def _ranking(scores: Floats, y: Floats, importance: Floats) -> Ranking:
    return Ranking(scores[:, 0], y > 0.0, importance)


class Measure(NamedTuple):
    """What models may be chosen by."""

    of_classes: bool = False
    of_numbers: bool = False
    higher_is_better: bool = True
    judge: Judge | None = None  # of all scores; None if it is tallied, row by row
    needs_two_classes: bool = False


MEASURES = {
    "accuracy": Measure(of_classes=True),
    "r2": Measure(of_numbers=True),
    "rmse": Measure(of_numbers=True, higher_is_better=False),
    "loss": Measure(of_classes=True, of_numbers=True, higher_is_better=False),
    "f1": Measure(of_classes=True, judge=_f1),
    "auc": Measure(
        of_classes=True,
        judge=lambda *rows: _ranking(*rows).auc(),
        needs_two_classes=True,
    ),
    "average_precision": Measure(
        of_classes=True,
        judge=lambda *rows: _ranking(*rows).average_precision(),
        needs_two_classes=True,
    ),
}
OF_CLASSES = [name for name, measure in MEASURES.items() if measure.of_classes]
OF_NUMBERS = [name for name, measure in MEASURES.items() if measure.of_numbers]
TALLIED = [name for name, measure in MEASURES.items() if measure.judge is None]


def is_measure(name: str) -> bool:
    """Whether points of a grid can be compared by it."""
    return name in MEASURES or name == OWN


def higher_is_better(name: str) -> bool:
    return name == OWN or MEASURES[name].higher_is_better
