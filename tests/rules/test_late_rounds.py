"""The state is right after 10^9 rounds and more: the clock is set, not run.

Every rule, called as plain Python, is compared with the eager reference over rounds that begin
late, with gaps in which weights are truncated lazily. A coordinate remembers S_s as a double, so
beside the usual 10^-9 a lazy penalty may be off by λ r times the last place of S, or of t where
penalties are counted by rounds; such errors do not add up, because the next gap begins where the
last one ended.
"""

import math

import numpy as np
import pytest

from rarefy.model.clock import clock_after, next_round
from rarefy.parameters.build import make_rule
from tests import naive

N_ROUNDS = 1_500

# Per rule the parameters, with an l1 for which weights are truncated within some hundred rounds
# although steps are tiny by then. Where the penalty is l1 times the round itself, or times the sum
# of all steps, l1 is a multiple of 1/t.
PER_ROUND = 1j
CASES = {
    "ogd": {},
    "da": {},
    "coin": {"eta0": 0.01},
    "fobos": {"l1": 2e-2},
    "fobos, l2": {"l1": 2e-2, "l2": 0.1},
    "fobos, cumulative": {"l1": 2.0 * PER_ROUND, "cumulative": True},
    "fr-comid": {"l1": 2e-2},
    "fr-comid, q=2": {"l1": 1e-2, "q": 2.0},
    "rda": {"l1": 0.7 * PER_ROUND},
    "frda": {"l1": 3e-3},
    "frda, q=2, l2": {"l1": 3e-3, "q": 2.0, "l2": 0.1},
    "ftprl": {"l1": 2.0 * PER_ROUND},
    "ftpfrl": {"l1": 3e-3},
    "ftpfrl, q=1.5": {"l1": 3e-3, "q": 1.5},
    "ftpfrl, l2": {"l1": 3e-3, "l2": 1e-6},
    "truncated-gradient": {"l1": 2e-2, "truncate_every": 7, "eta0": 0.05},
    "rounding": {"threshold": 2.5, "truncate_every": 100, "schedule": "constant"},
    "adagrad-fobos": {"l1": 2e-2},
    "adagrad-fobos, q=2": {"l1": 1e-2, "q": 2.0},
    "adagrad-rda": {"l1": 0.7 * PER_ROUND},
    "adagrad-rda, q=2, l2": {"l1": 3e-3, "q": 2.0, "l2": 0.1},
    "adagrad-ftprl": {"l1": 6.0 * PER_ROUND},
    "adagrad-ftprl, q=1.5": {"l1": 3e-3, "q": 1.5},
    "ftrl": {"l1": 1.5},
    "scale-free": {"l1": 1.5},
    "scale-free, l2": {"l1": 1.5, "l2": 0.1},
    "scale-free-ftrl": {"l1": 1.5},
    "scale-free-ftrl, l2": {"l1": 1.5, "l2": 0.1},
}
# R = t from the first round on, whether or not it occurred
PLAIN_SUMS = ("rda", "ftprl", "adagrad-rda", "adagrad-ftprl")
COUNTING = ("adagrad-rda", "adagrad-ftprl")


def subgradients(seed: int) -> np.ndarray:
    """A coordinate's subgradients: rare, in bursts, and so that truncated weights come back."""
    rng = np.random.default_rng(seed)
    occurs = (rng.random(N_ROUNDS) < 0.02) | (np.arange(N_ROUNDS) % 700 < 3)
    return np.where(occurs, rng.normal(size=N_ROUNDS), 0.0)


def eager_weights(name, parameters, schedule, first, g):
    """The weight after every round, by the reference."""
    penalty = naive.feature_penalty(
        1,
        parameters.get("l1", 0.0),
        parameters.get("l2", 0.0),
        parameters.get("threshold", math.inf),
        False,
    )
    reference = naive.make_rule(
        name,
        (1, 1),
        penalty,
        q=parameters.get("q"),
        basis="gradient",
        cap=1e6,
        eta0=schedule.eta0,
        beta=None,
        truncate_every=parameters.get("truncate_every", 1),
        cumulative=parameters.get("cumulative", False),
    )
    if name in PLAIN_SUMS and "q" not in parameters:
        reference.R = reference.R + first
    weights, total = [], schedule.total(first)
    for t, gradient in enumerate(g, start=int(first) + 1):
        total += schedule.eta(t)
        x, g_now = np.array([float(gradient != 0.0)]), np.array([[gradient]])
        reference.update(naive.Round(t, schedule.eta(t), schedule.eta(t - 1), total, x, g_now))
        weights.append(reference.w[0, 0])
    return np.array(weights)


def lazy_weights(rule, schedule, first, g):
    """The same by the library, which looks at the coordinate only when it occurs, or is read."""
    state = (0.0,) * len(rule.state_fields)
    clock = next_round(rule, clock_after(rule, schedule, first))
    weights = []
    for gradient in g:
        if gradient != 0.0:
            state = rule.step(clock, state, float(gradient), 1.0)
        clock = next_round(rule, clock)
        weights.append(rule.weight(clock, state))
    return np.array(weights)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    "first", [1e9, pytest.param(1e12, marks=pytest.mark.slow)], ids=["1e9", "1e12"]
)
def test_late_rounds_agree_with_the_eager_reference(case, first):
    name = case.split(",")[0]
    parameters = dict(CASES[case])
    if isinstance(parameters.get("l1"), complex):
        parameters["l1"] = parameters["l1"].imag / first
    rule, schedule = make_rule(name, **({"eta0": 1.0} | parameters))
    g = subgradients(seed=len(case))
    expected = eager_weights(name, parameters, schedule, first, g)
    got = lazy_weights(rule, schedule, first, g)
    largest_intensity = max(1.0, np.linalg.norm(g, parameters.get("q", math.inf)))
    last_place = np.spacing(first if name in COUNTING else clock_after(rule, schedule, first).total)
    allowed = 4.0 * parameters.get("l1", 0.0) * largest_intensity * last_place
    allowed += 1e-9 * np.abs(expected).max()
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=allowed)
    if name not in naive.UNPENALISED:
        assert 0.02 < np.mean(expected == 0.0) < 0.98, "the case has to truncate, and not only that"
