"""The order of rows, and how often fit goes over them."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

import rarefy
from rarefy import ConfigError, InputError, SparseOnlineClassifier, SparseOnlineRegressor
from rarefy.estimators import passes

X, Y = load_iris(return_X_y=True)


def test_sorted_labels_do_no_harm():
    model = SparseOnlineClassifier().fit(X, Y)
    assert model.score(X, Y) > 0.93
    assert model.passes_ > 1
    again = SparseOnlineClassifier(passes=model.passes_, l1=model.found_["l1"]).fit(X, Y)
    assert again.coef_.tobytes() == model.coef_.tobytes()


def test_noise_is_learned_in_few_passes():
    rng = np.random.default_rng(0)
    rows = (rng.random((4000, 400)) < 0.05).astype(float)
    model = SparseOnlineClassifier().fit(rows, rng.random(4000) < 0.5)
    assert model.passes_ <= 4


def test_few_and_many_rows_have_a_number_of_their_own(monkeypatch):
    few = slice(None, None, 8)
    assert SparseOnlineClassifier().fit(X[few], Y[few]).passes_ == passes.PASSES_OF_FEW_ROWS
    monkeypatch.setattr(passes, "MANY_UPDATES", 10)
    assert SparseOnlineClassifier().fit(X, Y).passes_ == passes.PASSES_OF_MANY_ROWS


def bits(model):
    return model.coef_.tobytes() + model.intercept_.tobytes()


def many_classes(n: int, seed: int = 0):
    """Short rows of several classes, which few passes do not learn."""
    rng = np.random.default_rng(seed)
    y = rng.integers(12, size=n)
    words = 20 * y[:, np.newaxis] + rng.integers(20, size=(n, 4))
    rows = np.zeros((n, 240))
    rows[np.arange(n)[:, np.newaxis], words] = 1.0
    rows[np.arange(n), rng.integers(240, size=n)] = 1.0
    return rows, y


def log_loss_of(model, rows, y):
    return -np.log(model.predict_proba(rows)[np.arange(len(y)), y]).mean()


@pytest.mark.parametrize("given", [{}, {"l1": 1.0}])
def test_held_out_rows_calibrate_where_time_ends_the_passes(monkeypatch, given):
    rows, y = many_classes(600)
    noisy = np.where(np.random.default_rng(2).random(600) < 0.3, 0, y)
    in_time = SparseOnlineClassifier(eta0=0.2, **given).fit(rows, noisy)
    assert in_time.passes_ > 2
    assert in_time.learner_.calibration is None
    monkeypatch.setattr(passes, "MOST_UPDATES", 2 * np.count_nonzero(rows) * 12)
    model = SparseOnlineClassifier(eta0=0.2, **given).fit(rows, y)
    assert model.passes_ == 2
    assert model.learner_.scaling > 1.0
    plain = SparseOnlineClassifier(eta0=0.2, calibrate=False, **given).fit(rows, y)
    assert bits(plain) == bits(model)
    others = many_classes(600, seed=1)
    assert log_loss_of(model, *others) < 0.9 * log_loss_of(plain, *others)


def test_some_of_many_rows_calibrate_and_are_learned_last(monkeypatch):
    rows, y = many_classes(600)
    monkeypatch.setattr(passes, "MANY_UPDATES", 10)
    model, plain = (SparseOnlineClassifier(calibrate=on).fit(rows, y) for on in (True, False))
    assert model.t_ == 3 * 540 + 60
    assert bits(plain) == bits(model)
    others = many_classes(600, seed=1)
    assert log_loss_of(model, *others) < 0.9 * log_loss_of(plain, *others)
    rows, y = many_classes(3000)
    model = SparseOnlineClassifier().fit(rows, y)
    assert model.t_ == 3 * (3000 - passes.MOST_HELD_OUT) + passes.MOST_HELD_OUT


@pytest.mark.parametrize(
    "given", [{"shuffle": False}, {"loss": "hinge"}, {"passes": 3}, {"average": True}]
)
def test_else_many_rows_are_learned_alike(monkeypatch, given):
    rows, y = many_classes(600)
    monkeypatch.setattr(passes, "MANY_UPDATES", 10)
    model = SparseOnlineClassifier(**given).fit(rows, y)
    assert bits(model) == bits(SparseOnlineClassifier(**{**given, "passes": 3}).fit(rows, y))
    assert model.learner_.calibration is None


def test_a_refit_is_not_calibrated(monkeypatch):
    rows, y = many_classes(600)
    monkeypatch.setattr(passes, "MOST_UPDATES", 2 * np.count_nonzero(rows) * 12)
    assert SparseOnlineClassifier(refit=True).fit(rows, y).learner_.scaling is None


def test_steps_are_longer_where_few_passes_do_not_learn(monkeypatch, tmp_path):
    rows, y = many_classes(600)
    assert "eta0" not in SparseOnlineClassifier().fit(rows, y).found_  # there is time
    monkeypatch.setattr(passes, "MOST_UPDATES", 4 * np.count_nonzero(rows) * 12)
    model = SparseOnlineClassifier().fit(rows, y)
    assert model.found_["eta0"] in (0.4, 0.8)
    given = SparseOnlineClassifier(
        eta0=model.found_["eta0"], l1=model.found_["l1"], passes=model.passes_
    ).fit(rows, y)
    assert bits(given) == bits(model)
    model.save(tmp_path / "model")
    loaded = rarefy.load(tmp_path / "model")
    assert loaded.eta0 == model.found_["eta0"]
    more = many_classes(100, seed=2)
    for one in (model, loaded, given):
        one.partial_fit(*more)
    assert bits(model) == bits(loaded) == bits(given)
    short = SparseOnlineClassifier(eta0=0.2).fit(rows, y)
    others = many_classes(600, seed=1)
    assert log_loss_of(model, *others) < log_loss_of(short, *others)


def test_steps_of_noise_and_of_two_classes_stay(monkeypatch):
    rows, y = many_classes(600)
    monkeypatch.setattr(passes, "MOST_UPDATES", 4 * np.count_nonzero(rows) * 12)
    noise = np.random.default_rng(3).integers(12, size=600)
    assert "eta0" not in SparseOnlineClassifier().fit(rows, noise).found_
    monkeypatch.setattr(passes, "MOST_UPDATES", 4 * np.count_nonzero(rows))
    assert "eta0" not in SparseOnlineClassifier().fit(rows, y < 6).found_


def test_what_finds_its_parameters_learns_once():
    assert SparseOnlineClassifier(rule="auto").fit(X, Y).passes_ == 1


def test_warm_start_goes_on():
    model = SparseOnlineRegressor(passes=2, warm_start=True, shuffle=False).fit(X, X[:, 0])
    assert model.fit(X, X[:, 0]).t_ == 4 * len(X)
    cold = SparseOnlineRegressor(passes=2, shuffle=False).fit(X, X[:, 0])
    assert cold.fit(X, X[:, 0]).t_ == 2 * len(X)


def test_warm_start_keeps_classes_and_columns():
    names = np.array(["a", "b", "c"])[Y]
    model = SparseOnlineClassifier(passes=1, warm_start=True).fit(X, names)
    before = model.coef_
    for rows, labels, message in (
        (X, names == "a", "in row 0; the classes of the model are"),
        (X, np.where(Y == 1, "d", names), "the label 'd' in row 50; the classes of the model"),
        (X[:, :3], names, "X has 3 features, but SparseOnlineClassifier is expecting 4"),
    ):
        with pytest.raises(InputError, match=message):
            model.fit(rows, labels)
    assert np.array_equal(model.coef_, before)
    assert model.n_features_in_ == 4
    some = Y > 0  # not all classes need be there
    model.fit(X[some], names[some])
    assert model.classes_.tolist() == ["a", "b", "c"]
    regressor = SparseOnlineRegressor(passes=1, warm_start=True).fit(X, X[:, 0])
    with pytest.raises(InputError, match="X has 3 features"):
        regressor.fit(X[:, :3], X[:, 0])


def test_new_classes_come_by_partial_fit_alone():
    model = SparseOnlineClassifier(passes=1, warm_start=True)
    model.partial_fit(X[Y < 2], Y[Y < 2], classes="grow")
    with pytest.raises(InputError, match="the label 2 in row 100; the classes of the model are"):
        model.fit(X, Y)
    assert model.partial_fit(X, Y).fit(X, Y).classes_.tolist() == [0, 1, 2]


@pytest.mark.parametrize("verbose", [True, 1, 2])
def test_a_line_for_each_pass(capsys, verbose):
    SparseOnlineClassifier(passes=3, verbose=verbose).fit(X, Y)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["pass 1", "pass 2", "pass 3"]


@pytest.mark.filterwarnings("ignore:the labels come in long runs")
def test_a_few_lines_of_many_passes(capsys):
    model = SparseOnlineClassifier(passes=7, verbose=True, shuffle=False).fit(X, Y)
    numbers, losses = zip(*map(passes_and_loss, capsys.readouterr().out.splitlines()), strict=True)
    assert numbers == ("pass 1", "pass 2", "pass 3", "pass 4", "pass 6", "pass 7")
    before = SparseOnlineClassifier(passes=6, shuffle=False).fit(X, Y)
    total = model.progressive_loss_ * model.t_ - before.progressive_loss_ * before.t_
    assert losses[-1] == pytest.approx(total / len(X), rel=1e-4)


def test_passes_that_are_tried_show_their_held_out_loss(capsys):
    model = SparseOnlineClassifier(verbose=True).fit(X, Y)
    lines = [passes_and_loss(line) for line in capsys.readouterr().out.splitlines()]
    tried = {name: loss for name, loss in lines if name.startswith("passes=")}
    assert list(tried)[:5] == [f"passes={n}" for n in (1, 2, 3, 4, 6)]
    assert list(tried.values())[-1] < tried["passes=1"]
    assert lines[-1][0] == f"pass {model.passes_}"


def passes_and_loss(line: str) -> tuple[str, float]:
    name, rest = line.split(":")
    return name, float(rest.split("loss ")[1].split(",")[0])


def test_no_lines(capsys):
    SparseOnlineClassifier(passes=3, verbose=0).fit(X, Y)
    assert capsys.readouterr().out == ""
    with pytest.raises(ConfigError, match="verbose=-1"):
        SparseOnlineClassifier(verbose=-1).fit(X, Y)


@pytest.mark.parametrize("given", [0, -1, 1.5, "many", None])
def test_other_numbers_of_passes_are_refused(given):
    with pytest.raises(ConfigError, match="passes"):
        SparseOnlineClassifier(passes=given).fit(X, Y)
