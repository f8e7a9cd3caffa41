"""Settings chosen on some splits of the data and compared on others."""

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import product
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from experiments.comparison import Comparison, Floats
from experiments.endowment.learning import SHARES, TEST_PART, Outcome, Setting
from experiments.endowment.plan import AWARE, OGD, TARGET_ZEROS, Plan
from experiments.endowment.work import Laboratory, Run

Measure = Callable[[Outcome], float]
SPARSE_GAMMA = 1.0
SPARSE_SHARES = (0.3, 0.95)
STEPS_AROUND = 3  # steps η tried to either side of OGD's, for the picture of the trade-off

accuracy: Measure = attrgetter("accuracy")
confidence: Measure = attrgetter("confidence")
training_flips: Measure = attrgetter("training_flips")
test_flips: Measure = attrgetter("test_flips")
zeros: Measure = attrgetter("zeros")


def expected(share: float) -> Measure:
    return lambda found: found.expected[SHARES.index(share)]


def divestiture(gamma: float, share: float) -> Measure:
    return lambda found: gamma * found.given_up[SHARES.index(share)]


def cumulative(gamma: float, share: float) -> Measure:
    return lambda found: expected(share)(found) + divestiture(gamma, share)(found)


class Pair(NamedTuple):
    """The same rule without and with an endowment."""

    without: Setting
    endowed: Setting


class Study:
    """The runs of a plan, and what they say."""

    def __init__(self, plan: Plan, laboratory: Laboratory) -> None:
        self.plan = plan
        self.laboratory = laboratory
        self.chosen = cache(self._chosen)

    def candidates(self, template: Setting) -> list[Setting]:
        if template.rule == "ogd":
            return [template._replace(eta=eta) for eta in self.plan.etas]
        grid = product(self.plan.sparse_etas, self.plan.l1s)
        return [template._replace(eta=eta, l1=l1) for eta, l1 in grid]

    def sparse_templates(self) -> list[Setting]:
        return [Setting(rule=rule) for rule in self.plan.sparse_rules]

    def tuning_runs(self) -> Iterator[Run]:
        plan = self.plan
        dense = product(plan.datasets, plan.templates, (0.0, *plan.gammas))
        sparse = product(plan.sparse_datasets, self.sparse_templates(), (0.0, SPARSE_GAMMA))
        for dataset, template, gamma in (*dense, *sparse):
            for setting in self.candidates(template._replace(gamma=gamma)):
                yield from (Run(dataset, seed, setting) for seed in plan.tuning_seeds)

    def tuned_mean(self, dataset: str, setting: Setting, measure: Measure) -> float:
        runs = (Run(dataset, seed, setting) for seed in self.plan.tuning_seeds)
        return float(np.mean([measure(self.laboratory[run]) for run in runs]))

    def _chosen(self, dataset: str, template: Setting, gamma: float, share: float) -> Setting:
        """The candidate with the least cumulative loss for that γ, among those sparse enough."""

        def loss(setting: Setting) -> float:
            return self.tuned_mean(dataset, setting, cumulative(gamma, share))

        found = self.candidates(template)
        if template.rule != "ogd":
            enough = [s for s in found if self.tuned_mean(dataset, s, zeros) >= TARGET_ZEROS]
            found = enough or [max(found, key=lambda s: self.tuned_mean(dataset, s, zeros))]
        return min(found, key=loss)

    def pair(self, dataset: str, template: Setting, gamma: float, share: float) -> Pair:
        """Each with its own η (and l1), as in the thesis."""
        endowed = template._replace(gamma=gamma)
        return Pair(
            self.chosen(dataset, template, gamma, share),
            self.chosen(dataset, endowed, gamma, share),
        )

    def same_step_pair(self, dataset: str, template: Setting, gamma: float, share: float) -> Pair:
        """Both with the η (and l1) that is best without an endowment."""
        without = self.chosen(dataset, template, gamma, share)
        return Pair(without, without._replace(gamma=gamma))

    def usual(self, dataset: str, template: Setting) -> Setting:
        """What one would use who does not know of endowments: the least expected loss."""
        return self.chosen(dataset, template, 0.0, SHARES[0])

    def around_usual(self, dataset: str, template: Setting) -> list[Setting]:
        """The usual setting and its neighbours, long steps first."""
        etas = self.plan.etas
        at = etas.index(self.usual(dataset, template).eta)
        near = etas[max(at - STEPS_AROUND, 0) : at + STEPS_AROUND + 1]
        return [template._replace(eta=eta) for eta in near]

    def shortened(self, dataset: str, template: Setting, halvings: int) -> Setting:
        """The usual setting with a shorter step."""
        near = self.around_usual(dataset, template)
        at = near.index(self.usual(dataset, template))
        return near[min(at + halvings, len(near) - 1)]

    def endowed_usual(self, dataset: str, template: Setting) -> list[Setting]:
        """The usual setting, and the same with more and more endowment."""
        usual = self.usual(dataset, template)
        return [usual._replace(gamma=gamma) for gamma in (0.0, *self.plan.gammas)]

    def final_runs(self) -> Iterator[Run]:
        plan = self.plan
        dense = product(plan.datasets, plan.templates, plan.gammas, SHARES)
        sparse_rules = self.sparse_templates()
        sparse = product(plan.sparse_datasets, sparse_rules, (SPARSE_GAMMA,), SPARSE_SHARES)
        needed: set[tuple[str, Setting]] = set()
        for dataset, template, gamma, share in (*dense, *sparse):
            for choose in (self.pair, self.same_step_pair):
                needed |= {(dataset, s) for s in choose(dataset, template, gamma, share)}
        for dataset, template in product(plan.datasets, (OGD, AWARE)):
            needed |= {(dataset, near) for near in self.around_usual(dataset, template)}
            needed |= {(dataset, more) for more in self.endowed_usual(dataset, template)}
        for dataset, setting in needed:
            yield from (Run(dataset, seed, setting) for seed in plan.seeds)

    def values(self, dataset: str, setting: Setting, measure: Measure) -> Floats:
        """A number for each seed."""
        runs = (Run(dataset, seed, setting) for seed in self.plan.seeds)
        return np.array([measure(self.laboratory[run]) for run in runs])

    def compare(self, dataset: str, before: Setting, after: Setting, what: Measure) -> Comparison:
        values = (self.values(dataset, setting, what) for setting in (before, after))
        return Comparison(dataset, *values, TEST_PART)

    def comparisons(
        self,
        datasets: Iterable[str],
        template: Setting,
        gamma: float,
        shares: Iterable[float],
        measure: Callable[[float, float], Measure],
        same_step: bool = False,
    ) -> list[Comparison]:
        """Without against with an endowment, for each data set and share."""
        pair = self.same_step_pair if same_step else self.pair
        return [
            self.compare(dataset, *pair(dataset, template, gamma, share), measure(gamma, share))
            for dataset, share in product(datasets, shares)
        ]
