"""Rules that are tuned but do not centre warn of offsets, and of nothing else."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from rarefy.arrays import as_rows
from rarefy.errors import RarefyWarning
from rarefy.model.losses import Logistic, Squared
from rarefy.tuning.offsets import FEWEST_ROWS, MOST_ROWS, warn_of_offsets

RANDOM = np.random.default_rng(0)
CENTRED = RANDOM.normal(size=(60, 3))
INDICATORS = (RANDOM.random((60, 3)) < 0.9).astype(float)
TARGETS = RANDOM.normal(size=60)


def messages(X, y, loss) -> list[str]:
    rows = as_rows(sparse.csr_array(X), y, np.ones(len(y)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_offsets(rows, loss, "l1")
    assert all(issubclass(one.category, RarefyWarning) for one in caught)
    return [str(one.message) for one in caught]


def test_targets_far_from_zero():
    (text,) = messages(CENTRED, TARGETS + 5.0, Squared())
    assert "this rule learns the targets as they are" in text


def test_features_far_from_zero():
    (text,) = messages(np.hstack([CENTRED, CENTRED[:, :2] + 9.0]), TARGETS > 0.0, Logistic())
    assert "the values of 2 features as they are" in text


@pytest.mark.parametrize("X", [CENTRED, INDICATORS, np.ones((60, 1))])
def test_nothing_to_warn_of(X):
    assert messages(X, TARGETS, Squared()) == []
    assert messages(X, 5.0 + TARGETS, Logistic()) == []  # numbers of classes


def test_the_first_of_many_rows():
    X, y = np.tile(CENTRED, (5, 1)), np.tile(TARGETS, 5)
    assert len(y) > MOST_ROWS
    assert messages(X, y, Squared()) == []
    (text,) = messages(X + 9.0, y + 9.0, Squared())
    assert "the values of 3 features and the targets as they are" in text


def test_few_rows_say_nothing():
    few = FEWEST_ROWS - 1
    assert messages(CENTRED[:few] + 9.0, TARGETS[:few] + 9.0, Squared()) == []
