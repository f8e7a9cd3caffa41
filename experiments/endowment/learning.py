"""One pass of one rule over one split of a data set, and what came of it."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from experiments.endowment.data import Dataset
from experiments.endowment.measures import (
    Answers,
    Replacement,
    draw_replacement,
    endowed_losses,
    example_losses,
    learn_and_note,
    right_answers,
)
from rarefy.arrays import Rows, as_rows
from rarefy.engine.learner import Learner
from rarefy.estimators.matrices import as_csr
from rarefy.parameters.build import make_loss, make_rule, make_weighting

SHARES = (0.05, 0.1, 0.3, 0.7, 0.9, 0.95)  # of test rows that are replaced, ρ
TEST_PART = 4  # one row in four is for testing, as with the thesis's news20


class Setting(NamedTuple):
    """What is learned with; γ = 0 is a rule without endowment."""

    rule: str = "ogd"
    loss: str = "logistic"
    importance: str = "plain"
    gamma: float = 0.0
    eta: float = 1.0
    l1: float = 0.0


class Outcome(NamedTuple):
    """What came of it; lists have a number for each share."""

    expected: list[float]
    given_up: list[float]  # the divestiture loss for γ = 1
    accuracy: float  # on the test rows
    confidence: float  # in the classes predicted there, 1/(1 + e^(-|score|)), on average
    training_flips: float  # of the training examples once right, the share that is wrong at the end
    test_flips: float  # share of test rows, right after half of the training and wrong at the end
    zeros: float  # share of the weights, features that did not occur in training left out


class Split(NamedTuple):
    """The rows of a data set in an order of its own, the last ones for testing."""

    training: Rows
    test: Rows
    replacements: list[Replacement]  # for each share
    n_features: int
    n_occurring: int


def split(dataset: Dataset, seed: int) -> Split:
    random = np.random.default_rng(seed)
    order = random.permutation(len(dataset.y))
    n_test = len(order) // TEST_PART
    training, test = (
        as_rows(as_csr(dataset.X[rows]), dataset.y[rows], np.ones(len(rows)))
        for rows in (order[n_test:], order[:n_test])
    )
    return Split(
        training,
        test,
        [draw_replacement(n_test, len(order) - n_test, share, random) for share in SHARES],
        n_features=dataset.X.shape[1],
        n_occurring=len(np.unique(training.indices)),
    )


def part(rows: Rows, first: int, last: int) -> Rows:
    """The rows from `first` to before `last`."""
    return rows._replace(
        indptr=rows.indptr[first : last + 1],
        y=rows.y[first:last],
        importance=rows.importance[first:last],
    )


def learner_for(setting: Setting, n_features: int) -> Learner:
    penalty = {"l1": setting.l1} if setting.l1 else {}
    rule, schedule = make_rule(setting.rule, eta0=setting.eta, **penalty)
    return Learner(
        rule,
        schedule,
        make_loss(setting.loss),
        n_features=n_features,
        fit_intercept=False,
        weighting=make_weighting(
            rule, setting.loss, importance=setting.importance, endowment=setting.gamma
        ),
    )


def outcome(split: Split, setting: Setting) -> Outcome:
    """Learn the training rows once; look at the test rows after half of them and at the end."""
    training, test = split.training, split.test
    learner, answers = learner_for(setting, split.n_features), Answers()
    n_training = len(training.y)
    middle = n_training // 2
    learn_and_note(learner, part(training, 0, middle), answers)
    right_after_half = right_answers(learner.scores(test), test.y)
    learn_and_note(learner, part(training, middle, n_training), answers, first=middle)

    test_scores, training_scores = learner.scores(test), learner.scores(training)
    test_losses = example_losses(learner.loss, test_scores, test.y)
    training_losses = example_losses(learner.loss, training_scores, training.y)
    once_right = answers.once_right(np.arange(n_training))
    losses = [
        endowed_losses(
            1.0,
            np.delete(test_losses, replaced.test_rows),
            training_losses[replaced.examples],
            once_right[replaced.examples],
        )
        for replaced in split.replacements
    ]
    right = right_answers(test_scores, test.y)
    right_in_training = right_answers(training_scores, training.y)
    return Outcome(
        [loss.expected for loss in losses],
        [loss.divestiture for loss in losses],
        accuracy=float(right.mean()),
        confidence=float(expit(np.abs(test_scores)).mean()),
        training_flips=1.0 - float(right_in_training[once_right].mean()),
        test_flips=float((right_after_half & ~right).mean()),
        zeros=1.0 - learner.n_nonzero() / split.n_occurring,
    )


class Curve(NamedTuple):
    """Losses after some numbers of rounds, γ = 1.

    They are what (T5.34) is on average over the choice of the replacing examples.
    """

    rounds: list[int]
    expected: list[float]
    given_up: list[float]


def curve(split: Split, setting: Setting, every: int, share: float) -> Curve:
    training, test = split.training, split.test
    learner, answers = learner_for(setting, split.n_features), Answers()
    rounds = list(range(every, len(training.y) + 1, every))
    expected, given_up = [], []
    for last in rounds:
        learn_and_note(learner, part(training, last - every, last), answers, first=last - every)
        seen = part(training, 0, last)
        of_seen = example_losses(learner.loss, learner.scores(seen), seen.y)
        of_test = example_losses(learner.loss, learner.scores(test), test.y)
        once_right = answers.once_right(np.arange(last))
        expected.append(float((1.0 - share) * of_test.mean() + share * of_seen.mean()))
        given_up.append(float(share * (of_seen * once_right).mean()))
    return Curve(rounds, expected, given_up)
