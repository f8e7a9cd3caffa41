"""The order of rows, and how often fit goes over them."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from rarefy import ConfigError, SparseOnlineClassifier, SparseOnlineRegressor
from rarefy.estimators import passes

X, Y = load_iris(return_X_y=True)


def test_sorted_labels_do_no_harm():
    model = SparseOnlineClassifier().fit(X, Y)
    assert model.score(X, Y) > 0.93
    assert model.passes_ > 1
    again = SparseOnlineClassifier(passes=model.passes_).fit(X, Y)
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


def test_what_finds_its_parameters_learns_once():
    assert SparseOnlineClassifier(rule="auto").fit(X, Y).passes_ == 1


def test_warm_start_goes_on():
    model = SparseOnlineRegressor(passes=2, warm_start=True, shuffle=False).fit(X, X[:, 0])
    assert model.fit(X, X[:, 0]).t_ == 4 * len(X)
    cold = SparseOnlineRegressor(passes=2, shuffle=False).fit(X, X[:, 0])
    assert cold.fit(X, X[:, 0]).t_ == 2 * len(X)


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
