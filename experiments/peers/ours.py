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
FTRL_REFITTED: dict[str, Any] = {"rule": "ftrl", "eta0": 1.0}
SMALL: dict[str, Any] = {"rule": "scale-free", "eta0": 0.5}
LARGE: dict[str, Any] = {"rule": "scale-free", "eta0": 0.1}
# Decades of their l1, and shares of the tries.
OF_FTRL, OF_SMALL_MODELS, OF_LARGE_MODELS = (0.3, 3.0), (0.5, 1.3), (-0.5, 0.8)
NINTHS = (4, 2, 3)
# What a wide sweep tries: rules, steps, and decades of l1; and which of them it refits.
WIDE = (
    *(({"rule": "ftrl", "eta0": eta0}, (-0.5, 3.3)) for eta0 in (0.1, 0.3, 1.0, 3.0)),
    *(({"rule": "scale-free", "eta0": eta0}, (-0.3, 2.0)) for eta0 in (0.1, 0.2, 0.5, 1.0)),
    *(({"rule": "adagrad-rda", "eta0": eta0}, (-5.0, -1.3)) for eta0 in (0.1, 1.0)),
    (FRDA, (-3.9, -1.5)),
)
WIDE_REFITTED = ((FTRL_REFITTED, (1.0, 3.6)), (SMALL, (0.8, 2.2)), (FRDA, (-3.0, -1.2)))


def swept(task: Task, plan: Plan, l1: Any, refit: bool, **rule: Any) -> Outcome:
    found = sweep(
        task.X,
        task.y,
        l1=l1,
        folds=task.folds,
        passes=plan.passes,
        refit=refit,
        n_jobs=1,
        **rule,
    )
    return Outcome(found.by_fold["accuracy"].tolist(), found.by_fold["weights"].tolist())


def one_rule(task: Task, plan: Plan, rule: dict[str, Any], refit: bool) -> Outcome:
    l1 = np.logspace(*DECADES[rule["rule"]], plan.n_points)
    return swept(task, plan, l1, refit, **rule)


def all_rules(task: Task, plan: Plan, refit: bool) -> Outcome:
    """ftrl and scale-free for small models, refitted if that is asked for, the latter for large."""
    of_ftrl, small, large = (round(plan.n_points * ninths / 9) for ninths in NINTHS)
    return (
        swept(task, plan, np.logspace(*OF_FTRL, of_ftrl), refit, **FTRL_REFITTED)
        + swept(task, plan, np.logspace(*OF_SMALL_MODELS, small), refit, **SMALL)
        + swept(task, plan, np.logspace(*OF_LARGE_MODELS, large), False, **LARGE)
    )


def wide(task: Task, plan: Plan) -> Outcome:
    """Several rules and steps, and small models of some once more with a refit."""
    found = Outcome([], [])
    for rule, decades in WIDE:
        found += swept(task, plan, np.logspace(*decades, plan.n_points), False, **rule)
    for rule, decades in WIDE_REFITTED:
        l1 = np.logspace(*decades, 4 * plan.n_points // 3)
        found += swept(task, plan, l1, True, **rule)
    return found
