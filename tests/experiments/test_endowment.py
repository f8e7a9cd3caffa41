"""What is measured of an endowment agrees with the thesis's sums, written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rarefy
from experiments.endowment.measures import (
    Answers,
    draw_replacement,
    endowed_losses,
    example_losses,
    learn_and_note,
    regret,
    right_answers,
)
from rarefy import ConfigError, InputError
from rarefy.arrays import as_rows
from rarefy.engine.learner import Learner
from rarefy.estimators.matrices import as_csr
from rarefy.model.multiclass import Softmax
from rarefy.parameters.build import make_loss, make_rule, make_weighting
from tests import data, naive
from tests.in_order import classifier_in_order, regressor_in_order

GAMMA = 0.7


def learner_for(problem, loss="logistic", n_outputs=1, **weighting) -> Learner:
    rule, schedule = make_rule("ogd")
    return Learner(
        rule,
        schedule,
        Softmax() if n_outputs > 1 else make_loss(loss),
        n_features=problem.dense.shape[1],
        n_outputs=n_outputs,
        weighting=make_weighting(rule, loss, **weighting),
    )


def rows_of(problem, weights=None):
    weights = np.ones(len(problem.y)) if weights is None else weights
    return as_rows(as_csr(problem.csr), problem.y.astype(float), weights)


# --- the record of right answers ----------------------------------------------------------------


@given(
    calls=st.lists(st.tuples(st.integers(0, 60), st.lists(st.booleans(), max_size=30)), max_size=8)
)
def test_the_record_is_that_of_a_set(calls):
    answers, expected = Answers(), set()
    for first, right in calls:
        answers.note(first, np.array(right, dtype=bool))
        expected |= {first + k for k, was_right in enumerate(right) if was_right}
    found = answers.once_right(np.arange(100))
    assert set(np.flatnonzero(found).tolist()) == expected


def test_a_bit_for_each_example():
    answers = Answers()
    answers.note(0, np.ones(8_000, dtype=bool))
    assert answers.bits.bytes.nbytes == 1_000


@pytest.mark.parametrize("kind", ["binary", "multiclass"])
def test_right_when_it_came(kind):
    """As told by a learner that learns row by row, and by the reference's prediction."""
    problem = data.problem(kind, n=80, d=10, classes=3)
    n_outputs = 1 if kind == "binary" else 3
    weights = data.importances(len(problem.y))
    answers, whole = Answers(), learner_for(problem, n_outputs=n_outputs)
    scores = learn_and_note(whole, rows_of(problem, weights), answers)
    one_by_one, found = learner_for(problem, n_outputs=n_outputs), []
    for i, weight in enumerate(weights):
        row = data.Problem(problem.csr[i : i + 1], problem.dense[i : i + 1], problem.y[i : i + 1])
        before = one_by_one.scores(rows_of(row))[0]
        found.append(weight > 0.0 and naive.is_right(before, problem.y[i], kind != "binary"))
        if weight > 0.0:
            np.testing.assert_array_equal(scores[i], before)
        one_by_one.learn(rows_of(row, weights[i : i + 1]))
    assert 0 < sum(found) < len(found)
    assert np.isnan(scores[weights == 0.0]).all()
    np.testing.assert_array_equal(answers.once_right(np.arange(len(found))), found)


def test_a_second_pass_only_adds():
    problem = data.problem("binary", n=60)
    answers, learner = Answers(), learner_for(problem)
    numbers = np.arange(60)
    learn_and_note(learner, rows_of(problem), answers)
    first = answers.once_right(numbers)
    scores = learn_and_note(learner, rows_of(problem), answers)
    second = right_answers(scores, problem.y)
    assert (first & ~second).any()
    np.testing.assert_array_equal(answers.once_right(numbers), first | second)


def test_a_score_of_zero_is_positive():
    right = right_answers(np.array([[0.0], [0.0], [-0.1], [np.nan]]), np.array([1.0, -1, -1, -1]))
    assert right.tolist() == [True, False, True, False]
    ties = right_answers(np.array([[1.0, 2.0, 2.0]] * 3), np.array([0.0, 1.0, 2.0]))
    assert ties.tolist() == [False, True, False]


# --- expected, divestiture and cumulative loss ----------------------------------------------------


@pytest.mark.parametrize("share", [0.05, 0.1, 0.3])
def test_losses_of_a_test_set_with_training_examples(share):
    """(T5.34) in a loop: S rows, of which some are replaced; P the replaced ones once right."""
    training, test = data.problem("binary", n=200), data.problem("binary", n=120, seed=1)
    learner, answers = learner_for(training), Answers()
    learn_and_note(learner, rows_of(training), answers)
    replaced = draw_replacement(120, 200, share, np.random.default_rng(0))
    losses = [
        example_losses(learner.loss, learner.scores(rows_of(problem)), problem.y)
        for problem in (test, training)
    ]
    stayed = np.delete(losses[0], replaced.test_rows)
    found = endowed_losses(
        GAMMA, stayed, losses[1][replaced.examples], answers.once_right(replaced.examples)
    )

    replacing = dict(zip(replaced.test_rows.tolist(), replaced.examples.tolist(), strict=True))
    w, intercept = learner.weights().toarray().ravel(), learner.intercept()[0]
    expected = divestiture = 0.0
    n_once_right = 0
    for s in range(120):
        problem, row = (training, replacing[s]) if s in replacing else (test, s)
        loss = naive.logistic(problem.dense[row] @ w + intercept, problem.y[row])
        expected += loss / 120
        if s in replacing and answers.once_right(np.array([row]))[0]:
            divestiture += GAMMA / 120 * loss
            n_once_right += 1
    assert 0 < n_once_right < len(replacing) == round(share * 120)
    assert found.expected == pytest.approx(expected, rel=1e-9)
    assert found.divestiture == pytest.approx(divestiture, rel=1e-9)
    assert found.cumulative == pytest.approx(expected + divestiture, rel=1e-9)


def test_example_losses_of_several_classes():
    scores, y = np.array([[0.1, 2.0, -1.0], [0.0, 0.0, 0.0]]), np.array([1.0, 2.0])
    expected = [naive.softmax(None, scores[0], 1)[0], naive.softmax(None, scores[1], 2)[0]]
    np.testing.assert_allclose(example_losses(Softmax(), scores, y), expected)


@given(n_test=st.integers(0, 50), n_examples=st.integers(0, 50), share=st.floats(0.0, 1.0))
def test_a_replacement_takes_nothing_twice(n_test, n_examples, share):
    n = round(share * n_test)
    if n > n_examples:
        with pytest.raises(InputError, match="training examples"):
            draw_replacement(n_test, n_examples, share, np.random.default_rng(0))
        return
    test_rows, examples = draw_replacement(n_test, n_examples, share, np.random.default_rng(0))
    assert len(set(test_rows.tolist())) == len(set(examples.tolist())) == n
    assert set(test_rows.tolist()) <= set(range(n_test))
    assert set(examples.tolist()) <= set(range(n_examples))


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_outside_of_0_and_1_is_refused(share):
    with pytest.raises(InputError, match="from 0 to 1"):
        draw_replacement(10, 10, share, np.random.default_rng(0))


# --- regret -----------------------------------------------------------------------------------


def test_regret_of_two_passes():
    """(T5.3) with F_t from (T5.1-5.2), as a loop over rounds and over the weights in W."""
    problem = data.problem("binary", n=50, d=3)
    learner, answers = learner_for(problem), Answers()
    losses, before = [], []
    for _ in range(2):
        before.append(answers.once_right(np.arange(50)))
        scores = learn_and_note(learner, rows_of(problem), answers)
        losses.append(example_losses(learner.loss, scores, problem.y))
    rivals = np.random.default_rng(2).normal(size=(40, 3))
    rival_losses = [
        example_losses(learner.loss, problem.dense @ u[:, np.newaxis], problem.y) for u in rivals
    ]
    found = regret(GAMMA, np.concatenate(losses), np.tile(rival_losses, 2), np.concatenate(before))

    total, of_rivals, right_so_far = 0.0, np.zeros(len(rivals)), set()
    again = learner_for(problem)
    for t in range(100):
        i = t % 50
        row = data.Problem(problem.csr[i : i + 1], problem.dense[i : i + 1], problem.y[i : i + 1])
        p, y = float(again.scores(rows_of(row))[0, 0]), problem.y[i]
        factor = 1 + GAMMA if i in right_so_far else 1
        total += factor * naive.logistic(p, y)
        of_rivals += [factor * naive.logistic(problem.dense[i] @ u, y) for u in rivals]
        if naive.is_right(np.array([p]), y, several=False):
            right_so_far.add(i)
        again.learn(rows_of(row))
    assert found == pytest.approx(total - of_rivals.min(), rel=1e-9)


# --- the endowment itself -------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(
    scale=st.floats(0.0, 6.0).map(lambda exponent: 10.0**exponent),
    weight=st.floats(-6.0, 6.0).map(lambda exponent: 10.0**exponent),
    gamma=st.floats(0.0, 6.0).map(lambda exponent: 10.0**exponent),
    loss=st.sampled_from(["hinge", "squared_hinge", "logistic"]),
)
def test_an_aware_step_never_goes_past_the_label(scale, weight, gamma, loss):
    """However large features, weight and endowment; a plain step goes far beyond."""
    X = np.array([[0.3, -1.0, 0.7]]) * scale
    model = classifier_in_order(
        "ogd", loss, importance="aware", endowment=gamma, fit_intercept=False
    )
    for _ in range(3):
        model.partial_fit(X, [1], classes=[0, 1], sample_weight=[weight])
        margin = float(model.decision_function(X)[0])
        assert 0.0 < margin <= (1.0 + 1e-9 if loss != "logistic" else 60.0)


@pytest.mark.parametrize("by", ["prediction", "mistakes"])
def test_what_was_right_is_kept_more(by):
    """E-OGD in one dimension, step by step: T5.6 and TA.1 as they are printed."""
    X, y = np.array([[1.0], [1.0], [-0.5], [1.0], [2.0]]), np.array([1.0, -1.0, 1.0, -1.0, 1.0])
    w, mistakes = 0.0, 0
    for t, (x, label) in enumerate(zip(X[:, 0], y, strict=True), start=1):
        right = (1.0 if w * x >= 0.0 else -1.0) == label
        mistakes += not right
        if by == "prediction":
            eta = (1.5 if right else 1.0) / np.sqrt(t)
        else:
            eta = 1.0 / np.sqrt(t) / 1.5**mistakes
        w -= eta * naive.logistic_slope(w * x, label) * x
    model = classifier_in_order(
        "ogd", endowment=0.5, endowment_by=by, eta0=1.0, fit_intercept=False
    ).fit(X, y)
    assert 0 < mistakes < 5
    assert model.coef_[0, 0] == pytest.approx(w, rel=1e-12)


def test_thousands_of_mistakes_leave_numbers():
    X, y = np.ones((3_000, 1)), np.tile([-1.0, 1.0], 1_500)
    for rule in ("rda", "fobos", "ogd"):
        model = classifier_in_order(rule, endowment=9.0, endowment_by="mistakes").fit(X, y)
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.intercept_).all()


@pytest.mark.parametrize(
    "option",
    [{"endowment": 0.5}, {"endowment": 0.1, "endowment_by": "mistakes"}, {"importance": "aware"}],
    ids=str,
)
def test_streams_have_it_too(tmp_path, option):
    problem = data.problem("binary", n=100, d=20)
    (tmp_path / "data.svm").write_text(data.svmlight_text(problem))
    matrix = classifier_in_order("ogd", **option).fit(problem.csr, problem.y)
    stream = rarefy.train(tmp_path / "data.svm", rule="ogd", store="array", **option)
    without = classifier_in_order("ogd").fit(problem.csr, problem.y)
    assert not np.allclose(matrix.coef_, without.coef_)
    np.testing.assert_allclose(stream.coef_, matrix.coef_, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"endowment": -0.1}, "a number >= 0"),
        ({"endowment": "much"}, "a number >= 0"),
        ({"endowment_by": "chance"}, "prediction, mistakes"),
        ({"importance": "unaware"}, "plain, aware"),
        ({"importance": "aware", "rule": "ftrl"}, "own gradients.*Rules that support it: ogd"),
        (
            {"importance": "aware", "rule": "frda", "loss": "perceptron"},
            "Losses that support it: hinge",
        ),
        ({"endowment": 1, "endowment_by": "mistakes", "rule": "ftprl"}, "cannot depend on mistake"),
        ({"endowment": 1, "endowment_by": "mistakes", "rule": "ftrl"}, "cannot depend on mistakes"),
    ],
    ids=str,
)
def test_what_has_no_meaning_is_refused(parameters, message):
    problem = data.problem("binary", n=20)
    with pytest.raises(ConfigError, match=message):
        classifier_in_order(**parameters).fit(problem.csr, problem.y)


@pytest.mark.parametrize("multiclass", ["auto", "softmax", "crammer_singer"])
def test_aware_updates_of_scores_that_depend_on_each_other_are_refused(multiclass):
    problem = data.problem("multiclass", n=30)
    with pytest.raises(ConfigError, match="multiclass='ovr'"):
        classifier_in_order("frda", importance="aware", multiclass=multiclass).fit(
            problem.csr, problem.y
        )


def test_regression_has_no_right_answers():
    rule, _ = make_rule("ogd")
    with pytest.raises(ConfigError, match="for classification"):
        make_weighting(rule, "squared", endowment=0.5)
    with pytest.raises(ConfigError, match="own gradients"):
        regressor_in_order(importance="aware").fit([[1.0]], [1.0])


def test_the_endowment_cannot_change_on_the_way():
    problem = data.problem("binary", n=20)
    model = classifier_in_order("ogd").partial_fit(problem.csr, problem.y, classes=[-1.0, 1.0])
    with pytest.raises(ConfigError, match="training began with"):
        model.set_params(endowment=1.0).partial_fit(problem.csr, problem.y)
