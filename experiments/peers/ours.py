"""Our own grids, each learned by one sweep."""

import numpy as np

from experiments.peers.data import Task
from experiments.peers.outcome import Outcome
from experiments.peers.plan import Plan
from rarefy import sweep

# From next to none to all of the weights, as decades of l1.
DECADES = {("frda", np.inf): (-4.2, -1.7), ("frda", 2.0): (-5.2, -2.7), ("ftrl", None): (-0.5, 3.0)}


def swept(
    task: Task, plan: Plan, rule: str, q: float | None, n_points: int, refit: bool
) -> Outcome:
    found = sweep(
        task.X,
        task.y,
        rule=rule,
        q=q,
        l1=np.logspace(*DECADES[rule, q], n_points),
        folds=task.folds,
        passes=plan.passes,
        refit=refit,
        n_jobs=1,
    )
    return Outcome(found.by_fold["accuracy"].tolist(), found.by_fold["weights"].tolist())


def all_rules(task: Task, plan: Plan, refit: bool) -> Outcome:
    n_points = plan.n_points // len(DECADES)
    parts = [swept(task, plan, rule, q, n_points, refit) for rule, q in DECADES]
    return parts[0] + parts[1] + parts[2]


def one_rule(task: Task, plan: Plan, rule: str, q: float | None, refit: bool) -> Outcome:
    return swept(task, plan, rule, q, plan.n_points, refit)
