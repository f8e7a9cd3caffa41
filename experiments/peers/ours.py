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
FRDA_2: dict[str, Any] = {"rule": "frda", "q": 2.0}
FTRL: dict[str, Any] = {"rule": "ftrl"}
DECADES = {inf: (-3.9, -1.7), 2.0: (-4.2, -2.7), None: (-0.5, 3.0)}  # by q
FTRL_REFITTED: dict[str, Any] = {"rule": "ftrl", "eta0": 1.0}
LARGE, STEP_OF_LARGE = "adagrad-rda", 0.03  # for values of size one
OF_SMALL_MODELS, OF_LARGE_MODELS = (0.3, 3.0), (-5.0, -3.2)  # decades of their l1


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
    l1 = np.logspace(*DECADES[rule.get("q")], plan.n_points)
    return swept(task, plan, l1, refit, **rule)


def all_rules(task: Task, plan: Plan, refit: bool) -> Outcome:
    """frda and ftrl for small models, refitted if that is asked for, and AdaGrad for large ones."""
    third = plan.n_points // 3
    few = np.logspace(*OF_SMALL_MODELS, third)
    many = np.logspace(*OF_LARGE_MODELS, third)
    size = float(np.sqrt(np.mean(task.X.data**2)))
    return (
        swept(task, plan, np.logspace(*DECADES[2.0], third), refit, **FRDA_2)
        + swept(task, plan, few, refit, **FTRL_REFITTED)
        + swept(task, plan, size * many, False, rule=LARGE, eta0=STEP_OF_LARGE / size)
    )
