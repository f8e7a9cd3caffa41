"""Whether fit penalises weights, if nobody says so, where rows are more than columns."""

import numpy as np
import pytest

import rarefy
from rarefy import ConfigError, SparseOnlineClassifier, SparseOnlineRegressor
from rarefy.estimators import from_matrices, passes
from rarefy.training.early_stopping import GAIN

N_ROWS, N_COLUMNS = 600, 20
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N_ROWS, N_COLUMNS))
ALL_MATTER = X @ RNG.choice([-1.0, 1.0], size=N_COLUMNS)
Y = ALL_MATTER + RNG.normal(size=N_ROWS) > 0.0
ONE_MATTERS = 2.0 * X[:, 0] + RNG.logistic(size=N_ROWS) > 0.0


def bits(model):
    return model.coef_.tobytes() + model.intercept_.tobytes()


def test_it_is_dropped_where_all_columns_matter():
    model = SparseOnlineClassifier().fit(X, Y)
    assert model.found_ == {"l1": 0.0}
    assert model.n_nonzero_ == N_COLUMNS
    assert bits(SparseOnlineClassifier(l1=0.0, passes=model.passes_).fit(X, Y)) == bits(model)


def test_it_is_kept_where_one_matters():
    model = SparseOnlineClassifier().fit(X, ONE_MATTERS)
    assert model.found_ == {"l1": 1.0}
    assert model.n_nonzero_ < N_COLUMNS / 2
    assert bits(SparseOnlineClassifier(l1=1.0).fit(X, ONE_MATTERS)) == bits(model)


def losses_of_halves(y, l1, passes):
    """What each row adds to the loss of a model that has learned the other half."""
    order = np.random.RandomState(0).permutation(N_ROWS)
    halves = np.sort(order[: N_ROWS // 2]), np.sort(order[N_ROWS // 2 :])
    losses = np.empty(N_ROWS)
    for learned, others in (halves, halves[::-1]):
        half = SparseOnlineClassifier(l1=l1, passes=passes, calibrate=False)
        scores = half.fit(X[learned], y[learned]).decision_function(X[others])
        losses[others] = np.logaddexp(0.0, np.where(y[others], -scores, scores))
    return losses


@pytest.mark.parametrize("n_that_matter", [1, 8, 12, 14, 16, 18, 20])
def test_it_is_dropped_if_halves_are_better_predicted_by_half_a_standard_error(n_that_matter):
    noise = np.random.default_rng(1).logistic(size=N_ROWS)
    y = X[:, :n_that_matter].sum(axis=1) + noise > 0.0
    with_penalty = SparseOnlineClassifier(l1=1.0).fit(X, y).passes_
    best, least = with_penalty, losses_of_halves(y, 0.0, with_penalty)
    for number in (4 * with_penalty, 16 * with_penalty):
        losses = losses_of_halves(y, 0.0, number)
        if losses.sum() < least.sum():
            is_gain = losses.sum() < (1.0 - GAIN) * least.sum()
            best, least = number, losses
            if is_gain:
                continue
        break
    gains = losses_of_halves(y, 1.0, with_penalty) - least
    is_better = np.mean(gains) > 0.5 * np.std(gains) / np.sqrt(N_ROWS)
    model = SparseOnlineClassifier().fit(X, y)
    assert model.found_ == {"l1": 0.0 if is_better else 1.0}
    assert model.passes_ == (best if is_better else with_penalty)


def correlated(n_rows, seed=0):
    """Columns that differ little, and a target that is made of their differences."""
    rng = np.random.default_rng(seed)
    first = rng.normal(size=n_rows)
    columns = np.column_stack([first, first + 0.2 * rng.normal(size=n_rows)])
    return columns, 10.0 * (columns[:, 1] - columns[:, 0]) + 0.1 * rng.normal(size=n_rows)


def test_without_it_there_are_more_passes_where_they_pay():
    columns, targets = correlated(300)
    model = SparseOnlineRegressor().fit(columns, targets)
    few = SparseOnlineRegressor(l1=1.0).fit(columns, targets)
    assert model.found_ == {"l1": 0.0}
    assert 4 * few.passes_ <= model.passes_ <= passes.MOST_PASSES_WITHOUT_PENALTY
    assert model.score(*correlated(300, seed=1)) > 0.95
    assert model.score(*correlated(300, seed=1)) > few.score(*correlated(300, seed=1)) + 0.1


def test_passes_without_it_take_no_longer_than_they_may(monkeypatch):
    monkeypatch.setattr(passes, "MOST_UPDATES", 20 * 600)
    columns, targets = correlated(300)
    assert SparseOnlineRegressor().fit(columns, targets).passes_ <= 20


def test_regression_has_the_choice_as_well():
    noise = 10.0 * np.random.default_rng(0).normal(size=N_ROWS)
    assert SparseOnlineRegressor().fit(X, ALL_MATTER + noise).found_ == {"l1": 0.0}
    assert SparseOnlineRegressor().fit(X, 4.0 * X[:, 0] + noise).found_ == {"l1": 1.0}


def test_an_l1_that_is_given_stays():
    model = SparseOnlineClassifier(l1=1.0).fit(X, Y)
    assert model.found_ == {}
    assert bits(model) != bits(SparseOnlineClassifier().fit(X, Y))


@pytest.mark.parametrize(
    "given",
    [
        {"passes": 2},
        {"refit": True},
        {"target_features": 5},
        {"l1_of": {3: 0.5}},
        {"average": True},
        {"rule": "scale-free-ftrl"},
        {"rule": "ftrl"},
    ],
)
def test_there_is_no_choice_beside_what_settles_it(given):
    assert SparseOnlineClassifier(**given).fit(X, Y).found_.get("l1") is None


def test_there_is_no_choice_for_few_rows_many_columns_or_many_updates(monkeypatch):
    assert SparseOnlineClassifier().fit(X[:25], Y[:25]).found_ == {}
    wide = np.hstack([X[:100]] * 5)
    assert wide.shape == (100, 100)
    assert SparseOnlineClassifier().fit(wide, Y[:100]).found_ == {}
    assert SparseOnlineClassifier().fit(wide[:, :99], Y[:100]).found_.keys() == {"l1"}
    with monkeypatch.context() as narrow:
        narrow.setattr(from_matrices, "MOST_COLUMNS", 98)
        assert SparseOnlineClassifier().fit(wide[:, :99], Y[:100]).found_ == {}
    monkeypatch.setattr(passes, "MANY_UPDATES", 10)
    assert SparseOnlineClassifier().fit(X, Y).found_ == {}


def test_partial_fit_has_the_penalty():
    first, second = (SparseOnlineClassifier(l1=l1) for l1 in (None, 1.0))
    for model in (first, second):
        model.partial_fit(X, Y, classes=[False, True])
    assert bits(first) == bits(second)
    assert first.found_ == {}


def test_what_was_found_is_gone_on_with(tmp_path):
    model = SparseOnlineClassifier().fit(X, Y)
    given = SparseOnlineClassifier(l1=0.0, passes=model.passes_).fit(X, Y)
    model.save(tmp_path / "model")
    loaded = rarefy.load(tmp_path / "model")
    assert loaded.l1 == 0.0
    for one in (model, given, loaded):
        one.partial_fit(X, Y)
    assert bits(model) == bits(given) == bits(loaded)
    assert model.found_ == {"l1": 0.0}
    model.set_params(warm_start=True).fit(X, Y)
    given.set_params(warm_start=True, passes=1).fit(X, Y)
    assert bits(model) == bits(given)
    with pytest.raises(ConfigError, match=r"l1=1\.0.*began with.*l1=0\.0"):
        model.set_params(l1=1.0).partial_fit(X, Y)
    with pytest.raises(ConfigError, match="cannot be changed once training has begun"):
        model.set_params(l1=None, rule="perceptron").partial_fit(X, Y)


def test_both_show_their_held_out_loss(capsys):
    SparseOnlineClassifier(verbose=True).fit(X, Y)
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("l1=")]
    losses = [float(line.split("loss ")[1].split(",")[0]) for line in lines]
    assert [line.split(",")[0] for line in lines[:2]] == ["l1=1", "l1=0"]
    assert all(line.startswith("l1=0, passes=") for line in lines[1:])
    assert all(line.endswith(f", {N_ROWS} rows") for line in lines)
    assert losses[0] > min(losses[1:])
