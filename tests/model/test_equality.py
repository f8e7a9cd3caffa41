"""Rules, losses and their like are equal only to such of the same class."""

import inspect
import itertools

import numpy as np
import pytest

import rarefy
from rarefy import ConfigError, SparseOnlineClassifier, SparseOnlineRegressor
from rarefy.model.importance import (
    ENDOWMENTS,
    UPDATES,
    AwareUpdate,
    NoEndowment,
    PlainUpdate,
    Weighting,
)
from rarefy.model.losses import LOSSES
from rarefy.model.schedules import SCHEDULES
from rarefy.rules import AWARE, RULES
from rarefy.rules.dual_averaging import Rda
from rarefy.rules.fobos import Fobos
from rarefy.rules.penalty_norm import EuclideanNorm, MaximumNorm, SumNorm
from tests import data
from tests.in_order import classifier_in_order

PROBLEM = data.problem("binary", n=60, d=10)
KINDS = (
    [*RULES.values(), *AWARE.values()],
    [*LOSSES.values()],
    [*SCHEDULES.values()],
    [*UPDATES.values()],
    [NoEndowment, *ENDOWMENTS.values()],
    [MaximumNorm, EuclideanNorm, SumNorm],
)


def made(cls):
    """An object of the class, with a number for what has no default."""
    return cls(*(0.5 for name in cls._fields if name not in cls._field_defaults))


@pytest.mark.parametrize("classes", KINDS, ids=lambda classes: classes[0].__name__)
def test_objects_of_different_classes_are_not_equal(classes):
    for one, other in itertools.permutations(map(made, classes), 2):
        assert one != other
        assert (one == other) is False
        assert len({one, other}) == 2


@pytest.mark.parametrize("cls", [cls for kind in KINDS for cls in kind], ids=lambda c: c.__name__)
def test_objects_with_the_same_numbers_are_equal(cls):
    assert made(cls) == made(cls)
    assert (made(cls) != made(cls)) is False
    assert hash(made(cls)) == hash(made(cls))


def test_numbers_make_a_difference():
    assert Fobos(l1=0.1) != Fobos(l1=0.2)
    assert Fobos(l1=0.1) != tuple(Fobos(l1=0.1))
    assert Fobos(l1=0.1) != Rda(l1=0.1)
    assert Weighting(PlainUpdate()) != Weighting(AwareUpdate())


def test_a_sweep_refuses_what_it_cannot_learn():
    with pytest.raises(ConfigError, match="importance='aware' cannot be used in sweeps"):
        rarefy.sweep(PROBLEM.csr, PROBLEM.y, rule="ogd", importance="aware", sample_weight=3.0)


def test_l1_is_not_found_with_aware_updates():
    model = classifier_in_order(rule="fobos", l1="auto", importance="aware")
    with pytest.raises(ConfigError, match="importance='aware'"):
        model.fit(PROBLEM.csr, PROBLEM.y)


# What was learned with, and what the parameters ask for later.
CHANGES = [
    ({}, {"l1_of": {0: 0.5}}),
    ({"rule": "rda"}, {"groups": {"first": [0, 1]}}),
    ({"l1_of": {0: 0.5}}, {"l1_of": {0: 0.4}}),
    ({}, {"class_weight": "balanced"}),
    ({}, {"calibrate": False}),
    *(
        ({"rule": one, "l1": 0.1}, {"rule": other})
        for group in (
            ("fobos", "rda", "ftprl"),
            ("fr-comid", "frda", "ftpfrl"),
            ("adagrad-fobos", "adagrad-rda"),
            ("scale-free", "scale-free-ftrl"),
        )
        for one, other in itertools.permutations(group, 2)
    ),
    *(
        ({"rule": "fobos", "schedule": one, "eta0": 0.5}, {"schedule": other})
        for one, other in itertools.permutations(SCHEDULES, 2)
    ),
    ({"rule": "frda", "q": 1}, {"q": 2}),
    ({"rule": "adagrad-rda"}, {"q": np.inf}),
    ({"rule": "frda", "q": 2}, {"q": np.inf}),
    ({"rule": "frda", "basis": "gradient"}, {"basis": "feature"}),
    ({"rule": "fobos"}, {"importance": "aware"}),
    ({"rule": "fobos"}, {"cumulative": True}),
    ({"rule": "fobos"}, {"average": True}),
    ({"rule": "fobos", "average": True}, {"average_power": 2}),
    ({"rule": "fobos", "endowment": 1.0}, {"endowment_by": "mistakes"}),
    ({"endowment": 1.0}, {"endowment": 2.0}),
    ({}, {"l1": 2.0}),
    ({"rule": "pa1"}, {"aggressiveness": 2.0}),
    ({"rule": "cw"}, {"confidence": 2.0}),
    ({"rule": "p-norm"}, {"p": 3.0}),
    ({"rule": "ogd"}, {"projection": "box"}),
    ({"rule": "ogd", "projection": "box"}, {"radius": 0.5}),
    ({"rule": "ftrl"}, {"beta": 2.0}),
    ({"l1": "auto"}, {"l1": 1.0}),
    ({"l1": 1.0}, {"l1": "auto"}),
    ({"l1": "auto"}, {"rule": "scale-free-ftrl"}),
    ({"target_features": 5}, {"target_features": 6}),
    ({}, {"loss": "hinge"}),
    ({}, {"multiclass": "ovr"}),
    ({}, {"fit_intercept": False}),
]
REGRESSION_CHANGES = [
    ({"loss": "huber"}, {"loss": "squared"}),
    ({"loss": "huber"}, {"epsilon": 0.2}),
    ({"loss": "huber"}, {"loss": "epsilon_insensitive"}),
    ({"loss": "quantile"}, {"quantile": 0.9}),
    ({}, {"fit_intercept": False}),
]


def begun(cls, parameters):
    model = cls(**parameters)
    more = {} if cls is SparseOnlineRegressor else {"classes": np.unique(PROBLEM.y)}
    return model.partial_fit(PROBLEM.csr, PROBLEM.y, **more)


@pytest.mark.parametrize(
    ("cls", "first", "then"),
    [
        *((SparseOnlineClassifier, *change) for change in CHANGES),
        *((SparseOnlineRegressor, *change) for change in REGRESSION_CHANGES),
    ],
)
def test_learning_does_not_go_on_with_other_parameters(cls, first, then):
    model, beside = begun(cls, first), begun(cls, first)
    with pytest.raises(ConfigError, match="cannot be changed once training has begun"):
        model.set_params(**then).partial_fit(PROBLEM.csr, PROBLEM.y)
    model.set_params(**{name: beside.get_params()[name] for name in then})
    for some in (model, beside):
        some.partial_fit(PROBLEM.csr, PROBLEM.y)
    assert np.array_equal(model.coef_, beside.coef_)
    assert model.t_ == beside.t_


def test_a_default_may_be_spelt_out():
    model = begun(SparseOnlineClassifier, {"rule": "frda"})
    model.set_params(l1=3e-4, q=np.inf, schedule="inv_sqrt", eta0=1)
    assert model.partial_fit(PROBLEM.csr, PROBLEM.y).t_ == 2 * len(PROBLEM.y)


def test_all_parameters_are_either_of_the_task_or_of_a_call():
    """A new parameter is to be put to one of the two, and to the lists of changes above."""
    of_a_call = {"n_features", "passes", "random_state", "refit", "refit_features", "refit_l2"}
    of_a_call |= {"shuffle", "warm_start", "verbose", "decision_threshold", "scoring", "shards"}
    by_rule = {"cap", "l2", "threshold", "truncate_every", "eta0"}  # like l1
    for cls, changes in (
        (SparseOnlineClassifier, CHANGES),
        (SparseOnlineRegressor, CHANGES + REGRESSION_CHANGES),
    ):
        changed = {name for _, then in changes for name in then}
        assert set(inspect.signature(cls).parameters) <= changed | of_a_call | by_rule
