"""What the results suggest as default parameters: one setting for all data sets."""

from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np

from experiments.reproduction.methods import METHODS
from experiments.reproduction.runs import Case, Run, l1_of
from experiments.reproduction.study import Study
from rarefy import SparseOnlineClassifier
from rarefy.estimators.sparse_online import task_of


class Setting(NamedTuple):
    method: str
    eta0: float
    step: int

    @property
    def words(self) -> str:
        return f"{self.method}, eta0 = {self.eta0:g}, l1 = {l1_of(self.step):.2g}"


class Judged(NamedTuple):
    """How far a setting is behind the best one of each data set, in points, and its zeros."""

    setting: Setting
    behind: float  # on average
    most_behind: float
    zeros: float


class Defaults:
    """All settings of the plan, judged."""

    def __init__(self, study: Study) -> None:
        self._study = study
        plan = study.plan
        self.settings = [
            Setting(method, protocol.eta0, step)
            for method in plan.default_methods
            for protocol in plan.default_protocols
            for step in plan.default_steps_of(method)
        ]
        self.judged = cache(self._judged)

    def _outcomes(self, setting: Setting) -> Iterator[tuple[float, float]]:
        """Accuracy and zeros, for each data set and each way to take its words."""
        plan = self._study.plan
        protocol = next(p for p in plan.default_protocols if p.eta0 == setting.eta0)
        for dataset, values in product(plan.defaults, plan.default_values):
            case = Case(dataset, setting.method, protocol._replace(values=values))
            run = Run(case, 0, setting.step)
            found = self._study.laboratory.known[run]
            yield float(np.mean(found.accuracy)), float(np.mean(found.zeros))

    def _judged(self) -> dict[Setting, Judged]:
        found = np.array([list(self._outcomes(setting)) for setting in self.settings])
        accuracy, zeros = found[:, :, 0], found[:, :, 1]
        behind = 100.0 * (accuracy.max(axis=0) - accuracy)
        return {
            setting: Judged(setting, *map(float, values))
            for setting, *values in zip(
                self.settings,
                behind.mean(axis=1),
                behind.max(axis=1),
                zeros.mean(axis=1),
                strict=True,
            )
        }

    def best(self, method: str | None = None, least_zeros: float = 0.0) -> Judged | None:
        """The setting that is least behind on average, of one method or of all."""
        fitting = [
            judged
            for judged in self.judged().values()
            if method in (None, judged.setting.method) and judged.zeros >= least_zeros
        ]
        return min(fitting, key=lambda judged: judged.behind, default=None)

    def present(self, method: str) -> Judged:
        """The setting of the grid that is nearest to the library's own defaults."""
        task = task_of(SparseOnlineClassifier(**METHODS[method]))
        rule, schedule = task.rule, task.schedule
        eta0 = getattr(rule, "eta0", schedule.eta0)

        def distance(setting: Setting) -> float:
            return abs(np.log(setting.eta0 / eta0)) + abs(np.log(l1_of(setting.step) / rule.l1))

        own = [setting for setting in self.settings if setting.method == method]
        return self.judged()[min(own, key=distance)]
