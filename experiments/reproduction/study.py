"""Paths of l1: which points are learned, which is chosen, and how two choices compare."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from experiments.comparison import Comparison, Floats
from experiments.reproduction.plan import (
    LARGEST_STEP,
    SCAN_FOLDS,
    SMALLEST_STEP,
    TARGET_ZEROS,
    Plan,
)
from experiments.reproduction.runs import Case, Laboratory, Outcome, Run

SCAN_SHUFFLE = 0


class Point(NamedTuple):
    """What came of an l1 in all shuffles and folds, one after the other."""

    accuracy: Floats
    zeros: Floats
    features: Floats


L1Path = dict[int, Point]  # by step
Choice = Callable[[L1Path], int]


def best(path: L1Path) -> int:
    """The step with the highest accuracy; of equals the largest."""
    return max(path, key=lambda step: (path[step].accuracy.mean(), step))


def best_sparse(path: L1Path) -> int:
    """The same among those with enough zeros, of equals the smallest; or else that with most."""
    enough = [step for step in path if path[step].zeros.mean() >= TARGET_ZEROS]
    if best(path) in enough:
        return best(path)
    if not enough:
        return max(path, key=lambda step: path[step].zeros.mean())
    return max(enough, key=lambda step: (path[step].accuracy.mean(), -step))


def zeros_among_best(path: L1Path) -> tuple[float, float]:
    """The least and the largest share of zeros within a standard error of the best accuracy."""
    top = path[best(path)].accuracy
    least = top.mean() - top.std(ddof=1) / np.sqrt(len(top))
    zeros = [float(at.zeros.mean()) for at in path.values() if at.accuracy.mean() >= least]
    return min(zeros), max(zeros)


CHOICES: dict[str, Choice] = {
    "highest accuracy": best,
    f"at least {TARGET_ZEROS:.0%} zeros": best_sparse,
}


def around(steps: Iterable[int]) -> set[int]:
    """These and their neighbours."""
    near = {step + k for step in steps for k in (-1, 0, 1)}
    return {step for step in near if SMALLEST_STEP <= step <= LARGEST_STEP}


class Study:
    """The runs of a plan, and what they say."""

    def __init__(self, plan: Plan, laboratory: Laboratory) -> None:
        self.plan = plan
        self.laboratory = laboratory

    def methods(self, dataset: str) -> tuple[str, ...]:
        plan = self.plan
        if dataset in plan.beyond:
            return plan.beyond_methods
        return plan.methods if dataset in plan.binary else plan.multiclass_methods

    def case(self, dataset: str, method: str) -> Case:
        return Case(dataset, method, self.plan.protocol)

    def main_cases(self, dataset: str) -> list[Case]:
        return [self.case(dataset, method) for method in self.methods(dataset)]

    def readings(self) -> dict[str, dict[str, Case]]:
        """What the protocol may also mean, and with that a case for each rule that is tried."""
        plan = self.plan
        return {
            name: {
                method: Case(plan.open_dataset, method, protocol) for method in plan.open_methods
            }
            for name, protocol in {"as above": plan.protocol, **plan.variants}.items()
        }

    def open_cases(self) -> list[Case]:
        return [case for cases in self.readings().values() for case in cases.values()]

    def default_runs(self) -> Iterator[Run]:
        plan = self.plan
        for dataset, method in product(plan.defaults, plan.default_methods):
            for protocol, values in product(plan.default_protocols, plan.default_values):
                case = Case(dataset, method, protocol._replace(values=values))
                yield from (Run(case, 0, step) for step in plan.default_steps_of(method))

    def scan_runs(self, cases: Iterable[Case]) -> list[Run]:
        """A rough search over all l1, with few folds."""
        return [
            Run(_scan_of(case), SCAN_SHUFFLE, step)
            for case in cases
            for step in self.plan.scan_steps(case.method)
        ]

    def path_runs(self, cases: Iterable[Case]) -> list[Run]:
        """What has to be known next.

        When nothing of it is missing, a chosen point has neighbours on both sides.
        """
        return [
            Run(case, shuffle, step)
            for case in cases
            for step in self._wanted_steps(case)
            for shuffle in self._shuffles(case)
        ]

    def _wanted_steps(self, case: Case) -> set[int]:
        """Those around the choices of the scan, and once they are known, around the path's own."""
        scanned = self._points(_scan_of(case), [SCAN_SHUFFLE], self.plan.scan_steps(case.method))
        wanted = around(choose(scanned) for choose in CHOICES.values())
        while len(path := self._points(case, self._shuffles(case), wanted)) == len(wanted):
            more = wanted | around(choose(path) for choose in CHOICES.values())
            if more == wanted:
                break
            wanted = more
        return wanted

    def _shuffles(self, case: Case) -> range:
        return range(self.plan.shuffles[case.dataset])

    def path(self, case: Case) -> L1Path:
        return self._points(case, self._shuffles(case), self._wanted_steps(case))

    def _points(self, case: Case, shuffles: Sequence[int], steps: Iterable[int]) -> L1Path:
        """Those of the steps that are known for all shuffles."""
        known = self.laboratory.known
        path = {}
        for step in sorted(steps):
            runs = [Run(case, shuffle, step) for shuffle in shuffles]
            if all(run in known for run in runs):
                path[step] = _point([known[run] for run in runs])
        return path

    def chosen(self, case: Case, choose: Choice) -> Point:
        path = self.path(case)
        return path[choose(path)]

    def is_at_an_end(self, case: Case, choose: Choice) -> bool:
        """Whether the chosen l1 is the first or last of all that may be tried."""
        return choose(self.path(case)) in (SMALLEST_STEP, LARGEST_STEP)

    def compare(
        self, dataset: str, before: str, after: str, measure: str, choose: Choice
    ) -> Comparison:
        return self.compare_cases(
            self.case(dataset, before), self.case(dataset, after), measure, choose
        )

    def compare_cases(self, before: Case, after: Case, measure: str, choose: Choice) -> Comparison:
        values = (getattr(self.chosen(case, choose), measure) for case in (before, after))
        return Comparison(before.dataset, *values, before.protocol.folds)


def _scan_of(case: Case) -> Case:
    return case._replace(protocol=case.protocol._replace(folds=SCAN_FOLDS))


def _point(outcomes: list[Outcome]) -> Point:
    return Point(*(np.concatenate(values) for values in zip(*outcomes, strict=True)))
