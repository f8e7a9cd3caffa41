"""Methods of an update along their knobs, with rows to choose the knob by, and others to judge."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

import rarefy
from experiments.updates.data import Texts
from experiments.updates.releases import NEW, OLD, Rows, learned, learned_on, parts, scores
from rarefy.model.answers import right_answers

SHARES = tuple(step / 40 for step in range(40))  # of the old weights
THRESHOLDS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.3, 1.6, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0)
KNOBS: dict[str, tuple[float, ...]] = {  # towards the old model
    "between": SHARES,
    "4 passes, between": SHARES,
    "8 passes, between": SHARES,
    "2 passes, replay, between": SHARES,
    "4 passes, replay, between": SHARES,
    "8 passes, replay, between": SHARES,
    "4 passes, replay, 4 orders, between": SHARES,
    "4 passes, retrained, between": SHARES,
    "4 passes, retrained, averaged, between": SHARES,
    "anchor": (0.5, 0.7, 1.0, 1.5, 2.0, 3.0),
    "anchor, between": SHARES,
    "anchor, 4 passes, replay, between": SHARES,
    "distillation": (0.2, 0.4, 0.6, 0.8),
    "distillation, between": SHARES,
    "endowment": (0.0, 1.0, 3.0),
    "endowment, between": SHARES,
    "endowment, 4 passes, between": SHARES,
    "hysteresis": THRESHOLDS,
    "4 passes, replay, hysteresis": THRESHOLDS,
}
PASSES, N_ORDERS = 4, 4  # where a method does not say another number
ANCHOR, WEAK_ANCHOR, DISTILLED, ENDOWMENT = 1.0, 0.1, 0.4, 3.0  # where that is not the knob
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
    """The weights of a model, what it says of the test, and where it is right."""

    weights: Any
    scores: Any
    right: Any


class Laboratory:
    """An old model, new rows, and a test of rows that no model has learned.

    Rows to judge by are never those to choose by, in whatever order the rows come.
    """

    def __init__(self, texts: Texts, seed: int) -> None:
        self.texts = texts
        self.first, self.second, self.test = parts(texts, seed, OLD, NEW)
        self.every = np.concatenate([self.first, self.second])
        self.is_judge = (np.random.default_rng(0).random(len(texts.y)) < 0.5)[self.test]
        self.random = np.random.default_rng([seed, 2])
        self.y = learned(texts, self.first)._known_targets(texts.X[self.test], texts.y[self.test])
        self.old = self.side(learned(texts, self.first))

    def side(self, model: Any) -> Side:
        of_test = scores(model, self.texts, self.test)
        return Side(model.sparse_coef_, of_test, right_answers(of_test, self.y))

    def on(self, rows: Rows, passes: int = 1, start: Any = None, **parameters: Any) -> Any:
        """The old model, or another one, once it has learned these rows so many times."""
        model = learned(self.texts, self.first, **parameters) if start is None else start
        return learned_on(model, self.texts, rows, passes)

    def anew(self, rows: Rows, passes: int = 1, **parameters: Any) -> Any:
        """A model that has learned these rows in random orders only."""
        model = learned(self.texts, self.random.permutation(rows), **parameters)
        for number in range(2, passes + 1):
            learned_on(model, self.texts, self.random.permutation(rows), 1, number)
        return model

    def in_other_orders(self) -> Side:
        """The mean of models that have learned all rows in one order or another."""
        orders = (self.random.permutation(self.every) for _ in range(N_ORDERS))
        sides = [self.side(self.on(order, PASSES)) for order in orders]
        weights = sum(side.weights for side in sides) / N_ORDERS
        mean = sum(side.scores for side in sides) / N_ORDERS
        return Side(weights, mean, right_answers(mean, self.y))

    def distilled(self, share: float) -> Side:
        """Learned on from λ p_old + (1 - λ) y: each row once for every class, by its share."""
        texts, second = self.texts, self.second
        model = learned(texts, self.first)
        targets = share * model.predict_proba(texts.X[second])
        targets[targets < LEAST_PROBABILITY * share] = 0.0
        targets[np.arange(len(second)), texts.y[second]] += 1.0 - share
        targets /= targets.sum(axis=1, keepdims=True)
        rows = rarefy.soft_targets(texts.X[second], targets)
        return self.side(model.partial_fit(rows.X, rows.y, sample_weight=rows.sample_weight))

    def anchored(self, rows: Rows, passes: int, l1: float) -> Side:
        start = rarefy.anchored(learned(self.texts, self.first), l1=l1)
        return self.side(self.on(rows, passes, start))

    @cached_property
    def endowed(self) -> Side:
        return self.side(learned(self.texts, self.first, endowment=ENDOWMENT))

    def outcome(self, new: Side, old: Side | None = None) -> Outcome:
        """What comes of the test by a model in place of the old one."""
        old = old or self.old
        changed = (new.weights != old.weights).nnz
        return self._outcome(old, new.right, int(new.weights.nnz), int(changed))

    def _outcome(self, old: Side, right: Any, n_weights: int, n_changed: int) -> Outcome:
        rates = (
            float(each[chosen].mean())
            for chosen in (~self.is_judge, self.is_judge)
            for each in (right, old.right & ~right)
        )
        return Outcome(*rates, n_weights, n_changed)

    def between(self, new: Side, old: Side | None = None) -> list[Outcome]:
        old = old or self.old
        n_both, n_new = int((abs(old.weights) + abs(new.weights)).nnz), int(new.weights.nnz)
        n_changed = int((new.weights != old.weights).nnz)
        return [
            self._outcome(
                old,
                right_answers((1.0 - share) * new.scores + share * old.scores, self.y),
                n_both if share else n_new,
                n_changed,
            )
            for share in SHARES
        ]

    def hysteresis(self, new: Side) -> Iterator[Outcome]:
        """The old answer stays where the new one leads by less; both models have to predict."""
        old, of_new = self.old, new.scores
        if of_new.shape[1] == 1:
            leads = np.where((of_new > 0.0) == (old.scores > 0.0), 0.0, np.abs(of_new))[:, 0]
        else:
            of_old_answers = of_new[np.arange(len(of_new)), old.scores.argmax(axis=1)]
            leads = of_new.max(axis=1) - of_old_answers
        n_both = int(old.weights.nnz + new.weights.nnz)
        n_changed = int((new.weights != old.weights).nnz)
        for threshold in THRESHOLDS:
            right = np.where(leads < threshold, old.right, new.right)
            yield self._outcome(old, right, n_both, n_changed)


def compared(texts: Texts, seed: int) -> dict[str, list[Outcome]]:
    """What becomes of the test by each method for every value of its knob.

    Also by the old model; by one of the same rows in another order, and by one of as many others:
    what these two lose comes of learning alone, as no more is known than before.
    """
    lab = Laboratory(texts, seed)
    side, on, second, every = lab.side, lab.on, lab.second, lab.every
    new, replayed = side(on(second)), side(on(every, PASSES))
    careful = side(on(second, endowment=ENDOWMENT))
    more_careful = side(on(second, PASSES, endowment=ENDOWMENT))
    return {
        "old": [lab.outcome(lab.old)],
        "another order": [lab.outcome(side(lab.anew(lab.first)))],
        "other rows": [lab.outcome(side(learned(texts, second)))],
        "between": lab.between(new),
        "4 passes, between": lab.between(side(on(second, 4))),
        "8 passes, between": lab.between(side(on(second, 8))),
        "2 passes, replay, between": lab.between(side(on(every, 2))),
        "4 passes, replay, between": lab.between(replayed),
        "8 passes, replay, between": lab.between(side(on(every, 8))),
        "4 passes, replay, 4 orders, between": lab.between(lab.in_other_orders()),
        "4 passes, retrained, between": lab.between(side(lab.anew(every, PASSES))),
        "4 passes, retrained, averaged, between": lab.between(
            side(lab.anew(every, PASSES, average=True))
        ),
        "anchor": [lab.outcome(lab.anchored(second, 1, l1)) for l1 in KNOBS["anchor"]],
        "anchor, between": lab.between(lab.anchored(second, 1, ANCHOR)),
        "anchor, 4 passes, replay, between": lab.between(lab.anchored(every, PASSES, WEAK_ANCHOR)),
        "distillation": [lab.outcome(lab.distilled(share)) for share in KNOBS["distillation"]],
        "distillation, between": lab.between(lab.distilled(DISTILLED)),
        "endowment": [
            lab.outcome(
                side(on(second, endowment=gamma)), side(learned(texts, lab.first, endowment=gamma))
            )
            for gamma in KNOBS["endowment"]
        ],
        "endowment, between": lab.between(careful, lab.endowed),
        "endowment, 4 passes, between": lab.between(more_careful, lab.endowed),
        "hysteresis": [*lab.hysteresis(new)],
        "4 passes, replay, hysteresis": [*lab.hysteresis(replayed)],
    }
