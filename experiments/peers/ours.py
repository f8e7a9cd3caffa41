"""Our own grids, each learned by a few sweeps."""

from math import inf
from typing import Any

import numpy as np

from experiments.peers.data import Task
from experiments.peers.outcome import Outcome
from experiments.peers.plan import Plan
from rarefy import sweep

# Rules, and the decades of l1 in which weights go from next to none to most.
FRDA: dict[str, Any] = {"rule": "frda", "q": inf}
SCALE_FREE: dict[str, Any] = {"rule": "scale-free"}
FTRL: dict[str, Any] = {"rule": "ftrl"}
DECADES = {"frda": (-3.9, -1.7), "ftrl": (-0.5, 3.0), "scale-free": (-0.3, 1.8)}
FTRL_LARGE_STEPS: dict[str, Any] = {"rule": "ftrl", "eta0": 1.0}
SMALL: dict[str, Any] = {"rule": "scale-free", "eta0": 0.5}
LARGE: dict[str, Any] = {"rule": "scale-free", "eta0": 0.1}
# Decades of their l1, and shares of the tries, where there is no refit.
OF_FTRL, OF_SMALL_MODELS, OF_LARGE_MODELS = (0.3, 3.0), (0.5, 1.3), (-0.5, 0.8)
NINTHS = (4, 2, 3)
# The features that refits leave of one model; decades of l1, and shares of the tries of all.
LIMITS = (None, 100, 10, 30, 300, 3, 1)
OF_WHICH_FEW_ARE_LEFT = 8.0
OF_REFITTED, OF_UNREFITTED_FTRL, OF_UNREFITTED = (0.5, 0.7), (0.3, 1.5), (-0.5, 0.6)
EIGHTEENTHS = (7, 2, 4, 5)
# What a wide sweep tries: rules, steps, and decades of l1; and which of them it refits.
WIDE = (
    *(({"rule": "ftrl", "eta0": eta0}, (-0.5, 3.3)) for eta0 in (0.1, 0.3, 1.0, 3.0)),
    ({"rule": "ftrl", "eta0": 1.0, "beta": 0.0}, (-0.5, 3.3)),
    *(({"rule": "scale-free", "eta0": eta0}, (-0.3, 2.0)) for eta0 in (0.1, 0.2, 0.5, 1.0)),
    *(({"rule": "adagrad-rda", "eta0": eta0}, (-5.0, -1.3)) for eta0 in (0.1, 1.0)),
    (FRDA, (-3.9, -1.5)),
)
WIDE_REFITTED = ((FTRL_LARGE_STEPS, (1.0, 3.6)), (SMALL, (0.8, 2.2)), (FRDA, (-3.0, -1.2)))
WIDE_CUT = ((SMALL, 8.0), (SMALL, 5.0), (FTRL_LARGE_STEPS, 30.0))


def swept(task: Task, plan: Plan, l1: Any, **how: Any) -> Outcome:
    found = sweep(task.X, task.y, l1=l1, folds=task.folds, passes=plan.passes, n_jobs=1, **how)
    return Outcome(found.by_fold["accuracy"].tolist(), found.by_fold["weights"].tolist())


def one_rule(task: Task, plan: Plan, rule: dict[str, Any], refit: bool) -> Outcome:
    l1 = np.logspace(*DECADES[rule["rule"]], plan.n_points)
    return swept(task, plan, l1, refit=refit, **rule)


def mixed(task: Task, plan: Plan) -> Outcome:
    """What refits leave of one model, refits of larger ones, and large ones as they are."""
    cut, refitted, ftrl, large = (round(plan.n_points * share / 18) for share in EIGHTEENTHS)
    limits = list(LIMITS[:cut])
    l1, of_refitted = OF_WHICH_FEW_ARE_LEFT, np.logspace(*OF_REFITTED, refitted)
    return (
        swept(task, plan, l1, refit=True, refit_features=limits, **SMALL)
        + swept(task, plan, of_refitted, refit=True, **SMALL)
        + swept(task, plan, np.logspace(*OF_UNREFITTED_FTRL, ftrl), **FTRL_LARGE_STEPS)
        + swept(task, plan, np.logspace(*OF_UNREFITTED, large), **LARGE)
    )


def unrefitted(task: Task, plan: Plan) -> Outcome:
    """ftrl and scale-free for small models, the latter for large ones."""
    of_ftrl, small, large = (round(plan.n_points * ninths / 9) for ninths in NINTHS)
    return (
        swept(task, plan, np.logspace(*OF_FTRL, of_ftrl), **FTRL_LARGE_STEPS)
        + swept(task, plan, np.logspace(*OF_SMALL_MODELS, small), **SMALL)
        + swept(task, plan, np.logspace(*OF_LARGE_MODELS, large), **LARGE)
    )


def wide(task: Task, plan: Plan) -> Outcome:
    """Several rules and steps; small models of some once more with a refit, some cut by it."""
    found = Outcome([], [])
    for rule, decades in WIDE:
        found += swept(task, plan, np.logspace(*decades, plan.n_points), **rule)
    for rule, decades in WIDE_REFITTED:
        l1 = np.logspace(*decades, 4 * plan.n_points // 3)
        found += swept(task, plan, l1, refit=True, **rule)
    for rule, of_one_model in WIDE_CUT:
        limits = list(LIMITS[1 : 1 + plan.n_points // len(WIDE_CUT)])
        found += swept(task, plan, of_one_model, refit=True, refit_features=limits, **rule)
    return found
