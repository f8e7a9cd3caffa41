"""The voted perceptron, against Freund and Schapire's algorithm, which keeps all weights."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils.estimator_checks import parametrize_with_checks

from rarefy import VotedPerceptron
from rarefy.engine import voting
from rarefy.errors import ConfigError, InputError
from tests import data
from tests.in_order import classifier_in_order


def with_ones(X: np.ndarray, fit_intercept: bool) -> np.ndarray:
    return np.hstack([X, np.ones((len(X), 1))]) if fit_intercept else X


def vote_of_two(X, y, passes, new):
    """Figure 1 of 1999: a list of weights with the number of rounds that each was right."""
    weights, survived = [np.zeros(X.shape[1])], [0]
    for _ in range(passes):
        for x, label in zip(X, y, strict=True):
            if label * (weights[-1] @ x) > 0.0:
                survived[-1] += 1
            else:
                weights.append(weights[-1] + label * x)
                survived.append(1)
    assert sum(survived) == passes * len(y)
    votes = [c * np.sign(new @ v) for c, v in zip(survived, weights, strict=True)]
    return np.sum(votes, axis=0) / (passes * len(y)), weights


def votes_of_several(X, y, passes, new, n_classes):
    """Weights for each class; a mistake is that of the right one and the best of the others."""
    weights, survived = [np.zeros((n_classes, X.shape[1]))], [0]
    for _ in range(passes):
        for x, right in zip(X, y, strict=True):
            scores = weights[-1] @ x
            others = np.where(np.arange(n_classes) == right, -np.inf, scores)
            if scores[right] > others.max():
                survived[-1] += 1
                continue
            changed = weights[-1].copy()
            changed[right] += x
            changed[others.argmax()] -= x
            weights.append(changed)
            survived.append(1)
    votes = np.zeros((len(new), n_classes))
    for count, w in zip(survived, weights, strict=True):
        scores = new @ w.T
        is_alone = (scores == scores.max(axis=1, keepdims=True)).sum(axis=1) == 1
        votes[np.flatnonzero(is_alone), scores.argmax(axis=1)[is_alone]] += count
    return votes / (passes * len(y)), weights


def in_order(passes: int = 3, **more) -> VotedPerceptron:
    return VotedPerceptron(passes, shuffle=False, **more)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kind", ["dense", "words"])
def test_two_classes_vote_as_in_the_paper(fit_intercept, kind):
    problem = data.problem("binary", n=200)
    X = problem.dense if kind == "dense" else np.sign(problem.dense)  # with scores of zero
    X, y, new = X[:150], problem.y[:150], X[150:]
    model = in_order(fit_intercept=fit_intercept).fit(sparse.csr_array(X), y)
    wide, wide_new = with_ones(X, fit_intercept), with_ones(new, fit_intercept)
    votes, weights = vote_of_two(wide, y, 3, wide_new)
    assert model.n_mistakes_ == len(weights) - 1 > 20
    assert model.t_ == 450
    np.testing.assert_allclose(model.decision_function(new), votes, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(model.predict(new), np.where(votes > 0.0, 1.0, -1.0))
    assert (np.abs(votes) < 1.0).any(), "not all weights may agree"


def test_several_classes_vote_for_the_highest_score():
    problem = data.problem("multiclass", n=200)
    X, y, new = problem.dense[:150], problem.y[:150], problem.dense[150:]
    n_classes = len(np.unique(y))
    model = in_order().fit(X, y)
    votes, weights = votes_of_several(
        with_ones(X, True), y.astype(int), 3, with_ones(new, True), n_classes
    )
    assert n_classes > 2
    assert model.n_mistakes_ == len(weights) - 1 > 20
    np.testing.assert_allclose(model.decision_function(new), votes, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(model.predict(new), votes.argmax(axis=1))


@pytest.mark.parametrize("kind", ["binary", pytest.param("multiclass", marks=pytest.mark.slow)])
def test_the_last_weights_are_those_of_the_perceptron(kind):
    problem = data.problem(kind, n=150)
    model = in_order().fit(problem.csr, problem.y)
    last = classifier_in_order("perceptron", passes=3, multiclass="crammer_singer")
    last.fit(problem.csr, problem.y)
    weights = model.mistakes_.weights[1:] if kind == "binary" else model.mistakes_.weights
    np.testing.assert_allclose(weights[:, :-1], last.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(weights[:, -1], last.intercept_, rtol=1e-9, atol=1e-12)


def test_any_split_gives_the_same_bits():
    problem = data.problem("multiclass", n=90)
    whole = in_order(1).fit(problem.csr, problem.y)
    parts = in_order(1)
    for begin, end in ((0, 1), (1, 2), (2, 50), (50, 90)):
        parts.partial_fit(problem.csr[begin:end], problem.y[begin:end], np.unique(problem.y))
    assert whole.n_mistakes_ == parts.n_mistakes_
    for name in ("row", "right", "wrong", "round", "weights"):
        np.testing.assert_array_equal(
            getattr(whole.mistakes_, name), getattr(parts.mistakes_, name)
        )
    X = problem.csr
    np.testing.assert_array_equal(whole.decision_function(X), parts.decision_function(X))


def test_fit_keeps_a_row_once_however_often_it_was_mistaken():
    problem = data.problem("binary", n=60)
    model = VotedPerceptron(20).fit(problem.csr, problem.y)
    assert model.n_mistakes_ > 60 >= model.mistakes_.rows.shape[0]


def test_shuffling_is_by_the_seed():
    problem = data.problem("binary", n=100)
    one, same, other = (
        VotedPerceptron(2, random_state=seed).fit(problem.csr, problem.y) for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(one.mistakes_.weights, same.mistakes_.weights)
    assert (one.mistakes_.weights != other.mistakes_.weights).any()


def test_rows_are_predicted_in_portions(monkeypatch):
    problem = data.problem("binary", n=100)
    model = in_order().fit(problem.csr, problem.y)
    at_once = model.decision_function(problem.csr)
    monkeypatch.setattr(voting, "MOST_PRODUCTS", 3 * model.mistakes_.rows.shape[0])
    np.testing.assert_array_equal(model.decision_function(problem.csr), at_once)


def test_parameters_may_be_set_after_learning():
    """Whether there is an intercept is a matter of what was learned."""
    problem = data.problem("binary", n=60)
    model = in_order().fit(problem.csr, problem.y)
    before = model.decision_function(problem.csr)
    model.set_params(fit_intercept=False)
    np.testing.assert_array_equal(model.decision_function(problem.csr), before)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"passes": 0}, "passes=0"),
        ({"shuffle": "yes"}, "shuffle='yes'"),
        ({"fit_intercept": 2}, "fit_intercept=2"),
        ({"random_state": "me"}, "random_state='me'"),
    ],
)
def test_parameters_that_are_refused(given, said):
    with pytest.raises(ConfigError, match=said):
        VotedPerceptron(**given).fit(np.eye(2), [0, 1])


def test_what_fails_changes_nothing():
    problem = data.problem("binary", n=60)
    model = in_order().fit(problem.csr, problem.y)
    before = model.decision_function(problem.csr)
    for X, y, said in (
        (np.eye(3), [1, 1, 1], "y contains 1 class"),
        (np.eye(3), [0, 1], "inconsistent numbers of samples"),
        (np.array([[np.nan]]), [0], "NaN"),
    ):
        with pytest.raises(InputError, match=said):
            model.fit(X, y)
    with pytest.raises(InputError, match="y contains the label 7"):
        model.partial_fit(problem.csr[:2], [1, 7])
    with pytest.raises(InputError, match="not the same as on the last call"):
        model.partial_fit(problem.csr[:2], [1, 1], classes=[1, 2])
    np.testing.assert_array_equal(model.decision_function(problem.csr), before)
    with pytest.raises(InputError, match="classes=None"):
        VotedPerceptron().partial_fit(np.eye(2), [0, 1])


@parametrize_with_checks([VotedPerceptron()])
def test_scikit_learn_check(estimator, check):
    check(estimator)
