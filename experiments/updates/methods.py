"""Methods of an update along their knobs, with rows to choose the knob by, and others to judge."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import rarefy
from experiments.updates.data import Texts
from experiments.updates.releases import NEW, OLD, Rows, learned, parts, scores
from rarefy.model.answers import right_answers

SHARES = tuple(step / 20 for step in range(20))  # of the old weights
THRESHOLDS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.5, 2.0)
KNOBS: dict[str, tuple[float, ...]] = {  # towards the old model
    "between": SHARES,
    "2 passes, between": SHARES,
    "4 passes, between": SHARES,
    "8 passes, between": SHARES,
    "anchor": (0.5, 0.7, 1.0, 1.5, 2.0, 3.0),
    "anchor, between": SHARES,
    "distillation": (0.2, 0.4, 0.6, 0.8),
    "endowment": (0.0, 1.0, 3.0),
    "endowment, between": SHARES,
    "hysteresis": THRESHOLDS,
    "between, hysteresis": THRESHOLDS,
}
ANCHOR, ENDOWMENT, SHARE = 1.0, 3.0, 0.4  # of the methods that are combined with another knob
LEAST_PROBABILITY = 0.01  # of a class that is learned as a part of a soft target


class Outcome(NamedTuple):
    """Accuracy and lost answers on the rows to choose by, and on those to judge; weights."""

    accuracy: float
    lost: float
    judged_accuracy: float
    judged_lost: float
    n_weights: int
    n_changed: int  # compared with the old model


class Side(NamedTuple):
    """A model, what it says of the test, and where it is right."""

    model: Any
    scores: Any
    right: Any

    def between(self, other: Any, share: float) -> Any:
        return (1.0 - share) * other.scores + share * self.scores


class Test(NamedTuple):
    """Rows that no model has learned; those to judge by are never those to choose by."""

    texts: Texts
    rows: Rows
    is_judge: Any

    def side(self, model: Any) -> Side:
        of_model = scores(model, self.texts, self.rows)
        return Side(model, of_model, self.right(model, of_model))

    def right(self, model: Any, of_model: Any) -> Any:
        y = model._known_targets(self.texts.X[self.rows], self.texts.y[self.rows])
        return right_answers(of_model, y)

    def outcome(self, old: Side, right: Any, n_weights: int, n_changed: int) -> Outcome:
        lost = old.right & ~right
        rates = (
            float(each[chosen].mean())
            for chosen in (~self.is_judge, self.is_judge)
            for each in (right, lost)
        )
        return Outcome(*rates, n_weights, n_changed)


def compared(texts: Texts, seed: int) -> dict[str, list[Outcome]]:
    """What becomes of the test by the old model, and by each method for every value of its knob."""
    first, second, rest = parts(texts, seed, OLD, NEW)
    judges = np.random.default_rng(0).random(len(texts.y)) < 0.5  # the same rows in every order
    test = Test(texts, rest, judges[rest])
    old = test.side(learned(texts, first))
    new = test.side(_learned_on(texts, first, second))
    anchored = test.side(_anchored(texts, old.model, second, ANCHOR))
    careful = [test.side(learned(texts, first, endowment=ENDOWMENT))]
    careful.append(test.side(_learned_on(texts, first, second, endowment=ENDOWMENT)))
    return {
        "old": [_of(test, old, old)],
        "between": [*_between(test, old, new)],
        **{
            f"{passes} passes, between": [
                *_between(test, old, test.side(_learned_on(texts, first, second, passes)))
            ]
            for passes in (2, 4, 8)
        },
        "anchor": [
            _of(test, old, test.side(_anchored(texts, old.model, second, l1)))
            for l1 in KNOBS["anchor"]
        ],
        "anchor, between": [*_between(test, old, anchored)],
        "distillation": [
            _of(test, old, test.side(_distilled(texts, first, second, share)))
            for share in KNOBS["distillation"]
        ],
        "endowment": [*_endowed(test, first, second)],
        "endowment, between": [*_between(test, *careful)],
        "hysteresis": [*_hysteresis(test, old, new, new.scores)],
        "between, hysteresis": [*_hysteresis(test, old, new, old.between(new, SHARE))],
    }


def _learned_on(texts: Texts, first: Rows, second: Rows, passes: int = 1, **parameters: Any) -> Any:
    model = learned(texts, first, **parameters)
    for number in range(1, passes + 1):
        model.learner_.begin_pass(number)
        model.partial_fit(texts.X[second], texts.y[second])
    return model


def _anchored(texts: Texts, old: Any, rows: Rows, l1: float) -> Any:
    return rarefy.anchored(old, l1=l1).partial_fit(texts.X[rows], texts.y[rows])


def _distilled(texts: Texts, first: Rows, second: Rows, share: float) -> Any:
    """Learned on from λ p_old + (1 - λ) y: each row once for every class, weighted by its share."""
    model = learned(texts, first)
    targets = share * model.predict_proba(texts.X[second])
    targets[targets < LEAST_PROBABILITY * share] = 0.0
    targets[np.arange(len(second)), texts.y[second]] += 1.0 - share
    targets /= targets.sum(axis=1, keepdims=True)
    rows = rarefy.soft_targets(texts.X[second], targets)
    return model.partial_fit(rows.X, rows.y, sample_weight=rows.sample_weight)


def _of(test: Test, old: Side, new: Side) -> Outcome:
    changed = (new.model.sparse_coef_ != old.model.sparse_coef_).nnz
    return test.outcome(old, new.right, new.model.n_nonzero_, int(changed))


def _between(test: Test, old: Side, new: Side) -> Iterator[Outcome]:
    weights = [abs(side.model.sparse_coef_) for side in (old, new)]
    n_both = int((weights[0] + weights[1]).nnz)
    n_changed = int((new.model.sparse_coef_ != old.model.sparse_coef_).nnz)
    for share in SHARES:
        right = test.right(new.model, old.between(new, share))
        yield test.outcome(old, right, n_both if share else int(weights[1].nnz), n_changed)


def _endowed(test: Test, first: Rows, second: Rows) -> Iterator[Outcome]:
    for gamma in KNOBS["endowment"]:
        old = test.side(learned(test.texts, first, endowment=gamma))
        yield _of(test, old, test.side(_learned_on(test.texts, first, second, endowment=gamma)))


def _hysteresis(test: Test, old: Side, new: Side, of_new: Any) -> Iterator[Outcome]:
    """The old answer stays where the new one is not sure; both models are needed to predict."""
    ranked = np.sort(of_new, axis=1)
    margins = np.abs(of_new[:, 0]) if of_new.shape[1] == 1 else ranked[:, -1] - ranked[:, -2]
    right = test.right(new.model, of_new)
    n_both = old.model.n_nonzero_ + new.model.n_nonzero_
    n_changed = int((new.model.sparse_coef_ != old.model.sparse_coef_).nnz)
    for threshold in THRESHOLDS:
        answers = np.where(margins < threshold, old.right, right)
        yield test.outcome(old, answers, n_both, n_changed)
