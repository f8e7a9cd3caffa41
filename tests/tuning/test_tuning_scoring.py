"""What parameters are found by: loss, right answers, or both."""

from __future__ import annotations

import numpy as np
import pytest

import rarefy
from rarefy import ConfigError
from rarefy.arrays import as_rows
from rarefy.lanes.block import NO_FOLD, Block, Lane
from rarefy.model.losses import Logistic
from rarefy.model.schedules import Constant
from rarefy.rules.ogd import Ogd
from rarefy.tuning.record import COST_OF_ERRORS, SCALES, Record
from tests import data
from tests.in_order import classifier_in_order


def recorded(scoring: str | None) -> tuple[np.ndarray, np.ndarray]:
    """The costs of one interval by scale and model, and what they are made of."""
    lanes = [Lane(Ogd(), Constant(eta0), Logistic()) for eta0 in (0.01, 1.0)]
    problem = data.problem("binary", n=80)
    block = Block(lanes, n_features=25, n_outputs=1, fit_intercept=True, scales=SCALES)
    record = Record(block, None, scoring=scoring)
    rows = as_rows(problem.csr, problem.y, np.ones(80))
    block.learn(rows, np.full(80, NO_FOLD), np.arange(80), judged=True)
    _, examples, right = block.progress()
    expected = {"loss": block.losses(), "accuracy": COST_OF_ERRORS * (examples - right)}
    record.end_interval()
    wanted = sum(expected.values()) if scoring is None else expected[scoring]
    return record.means(), np.broadcast_to(wanted, (3, 2)).min(axis=0) / examples


@pytest.mark.parametrize("scoring", [None, "loss", "accuracy"])
def test_costs(scoring):
    found, expected = recorded(scoring)
    assert found == pytest.approx(expected)


def test_it_is_saved(tmp_path):
    problem = data.problem("binary", n=600)
    model = classifier_in_order(l1="auto", scoring="loss")
    whole = classifier_in_order(l1="auto", scoring="loss")
    whole.partial_fit(problem.csr, problem.y, np.unique(problem.y))
    model.partial_fit(problem.csr[:200], problem.y[:200], np.unique(problem.y))
    model.save(tmp_path / "some.model")
    again = rarefy.load(tmp_path / "some.model")
    assert again.scoring == "loss"
    again.partial_fit(problem.csr[200:], problem.y[200:])
    assert again.coef_.tobytes() == whole.coef_.tobytes()


def test_what_is_refused(tmp_path):
    X, y = np.eye(6), [0, 1] * 3
    with pytest.raises(ConfigError, match='is for tuning, and no parameter is "auto"'):
        classifier_in_order(scoring="loss").fit(X, y)
    with pytest.raises(ConfigError, match="scoring='auc': one of loss, accuracy"):
        classifier_in_order(l1="auto", scoring="auc").fit(X, y)
    (tmp_path / "a.svm").write_text("1.5 1:1\n2.5 2:1\n")
    with pytest.raises(ConfigError, match="which predicts numbers"):
        rarefy.train(tmp_path / "a.svm", loss="squared", rule="auto", scoring="accuracy")
