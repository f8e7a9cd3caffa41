"""Losses while learning goes on, as in the thesis's figure 5.1."""

from typing import NamedTuple

import numpy as np

from experiments.comparison import Comparison, Floats
from experiments.endowment.learning import TEST_PART, Curve, Setting, curve
from experiments.endowment.plan import OGD
from experiments.endowment.study import Study
from experiments.endowment.work import split_of

GAMMA, SHARE = 1.0, 0.3
KINDS = ("expected", "divestiture", "cumulative")


class Curves(NamedTuple):
    """Losses, (seed, kind, number of rounds), without and with an endowment."""

    dataset: str
    rounds: list[int]
    without: Floats
    endowed: Floats

    def lower_share(self, kind: str) -> float:
        """The share of the moments at which the endowed rule's mean loss is the lower one."""
        k = KINDS.index(kind)
        return float((self.endowed[:, k].mean(axis=0) < self.without[:, k].mean(axis=0)).mean())

    def gap(self, kind: str) -> Comparison:
        """By how much the two differ, on average over the first and over the second half."""
        k, middle = KINDS.index(kind), len(self.rounds) // 2
        gaps = np.abs(self.endowed[:, k] - self.without[:, k])
        halves = (half.mean(axis=1) for half in (gaps[:, :middle], gaps[:, middle:]))
        return Comparison(self.dataset, *halves, TEST_PART)


def one_curve(dataset: str, seed: int, setting: Setting, every: int) -> Curve:
    return curve(split_of(dataset, seed), setting, every, SHARE)


def measure(study: Study) -> list[Curves]:
    """For each data set, and OGD and E-OGD each with its own η."""
    pool, plan = study.laboratory.pool, study.plan
    jobs = {
        (dataset, which, seed): pool.submit(one_curve, dataset, seed, setting, plan.curve_every)
        for dataset in plan.curve_datasets
        for seed in plan.seeds
        for which, setting in enumerate(study.pair(dataset, OGD, GAMMA, SHARE))
    }
    found = {key: job.result() for key, job in jobs.items()}

    def losses(dataset: str, which: int) -> Floats:
        of_seeds = []
        for seed in plan.seeds:
            _, expected, given_up = map(np.array, found[dataset, which, seed])
            of_seeds.append([expected, GAMMA * given_up, expected + GAMMA * given_up])
        return np.array(of_seeds)

    return [
        Curves(
            dataset,
            found[dataset, 0, plan.seeds[0]].rounds,
            losses(dataset, 0),
            losses(dataset, 1),
        )
        for dataset in plan.curve_datasets
    ]
