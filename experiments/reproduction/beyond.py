"""What feature-awareness does on data sets that the papers do not have: the numbers."""

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import product
from statistics import median
from typing import NamedTuple

import numpy as np

from experiments.comparison import HIGHER, LOWER, Comparison, Floats
from experiments.reproduction.claims import Finding
from experiments.reproduction.data import load
from experiments.reproduction.methods import FEATURE_AWARE_PAIRS, PAIRS
from experiments.reproduction.study import CHOICES, Choice, Study

Pair = tuple[str, str]  # a plain rule and another


class Standing(NamedTuple):
    """How far a rule is behind the best one of each data set, in points, and its zeros."""

    method: str
    behind: float  # on average
    most_behind: float
    where: str
    zeros: float


class Beyond:
    """The plan's data sets that the papers do not have, and its pairs of rules."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.datasets = study.plan.beyond
        self.pairs = self._known(PAIRS)
        self.aware_pairs = self._known(FEATURE_AWARE_PAIRS)
        self.finding = cache(self._finding)
        self.papers_finding = cache(self._papers_finding)
        self.guesses = cache(self._guesses)

    def _known(self, pairs: Iterable[Pair]) -> list[Pair]:
        return [pair for pair in pairs if set(pair) <= set(self.study.plan.beyond_methods)]

    def _finding(self, pair: Pair, choice: str, measure: str = "accuracy") -> Finding:
        """Whether the second rule has more of a measure."""
        return self._compared(self.datasets, pair, choice, measure)

    def _papers_finding(self, pair: Pair, choice: str) -> Finding:
        """The same of accuracy on the papers' data sets that have both rules."""
        study = self.study
        both = [name for name in study.plan.datasets if set(pair) <= set(study.methods(name))]
        return self._compared(both, pair, choice, "accuracy")

    def _compared(self, datasets: Sequence[str], pair: Pair, choice: str, measure: str) -> Finding:
        choose = CHOICES[choice]
        return Finding(
            HIGHER, [self.study.compare(name, *pair, measure, choose) for name in datasets]
        )

    @property
    def plain(self) -> list[str]:
        """The rules that have a feature-aware form here."""
        return list(dict.fromkeys(before for before, _ in self.aware_pairs))

    def together(self, choice: str, plain: str | None = None) -> Finding:
        """Of all feature-aware rules, or of those in place of a plain one."""
        return _joined(self.finding(pair, choice) for pair in self._aware(plain))

    def papers_together(self, choice: str, plain: str | None = None) -> Finding:
        return _joined(self.papers_finding(pair, choice) for pair in self._aware(plain))

    def _aware(self, plain: str | None) -> list[Pair]:
        return [pair for pair in self.aware_pairs if plain in (None, pair[0])]

    def on(self, dataset: str, choice: str) -> Finding:
        """Of all feature-aware rules on one data set."""
        found = [c for c in self.together(choice).comparisons if c.dataset == dataset]
        return Finding(HIGHER, found)

    def identical(self) -> list[str]:
        """Pairs and data sets with the same models, as far as accuracy and zeros tell."""
        kinds = list(product(CHOICES, ("accuracy", "zeros")))
        return [
            f"{after} and {before} on {name}"
            for before, after in self.pairs
            for k, name in enumerate(self.datasets)
            if all(
                np.array_equal(found.before, found.after)
                for kind in kinds
                for found in [self.finding((before, after), *kind).comparisons[k]]
            )
        ]

    def by_outcome(self, choice: str) -> dict[str, list[Pair]]:
        """The feature-aware pairs, by where a difference can be told."""
        outcomes = {
            (True, False): "better on some, never worse",
            (False, True): "worse on some, never better",
            (True, True): "better on some, worse on others",
            (False, False): "never told apart",
        }
        found: dict[str, list[Pair]] = {words: [] for words in outcomes.values()}
        for pair in self.aware_pairs:
            signs = {c.sign for c in self.finding(pair, choice).comparisons}
            found[outcomes[HIGHER in signs, LOWER in signs]].append(pair)
        return found

    def accuracy(self, dataset: str, method: str, choose: Choice) -> float:
        """In per cent."""
        case = self.study.case(dataset, method)
        return 100.0 * float(self.study.chosen(case, choose).accuracy.mean())

    def standings(self, choice: str) -> list[Standing]:
        """Of all rules, the least behind first."""
        choose, methods = CHOICES[choice], self.study.plan.beyond_methods
        accuracy = np.array(
            [[self.accuracy(name, method, choose) for name in self.datasets] for method in methods]
        )
        behind = accuracy.max(axis=0) - accuracy
        standings = []
        for method, own in zip(methods, behind, strict=True):
            cases = (self.study.case(name, method) for name in self.datasets)
            zeros = [self.study.chosen(case, choose).zeros.mean() for case in cases]
            where = self.datasets[int(own.argmax())]
            standings.append(
                Standing(method, float(own.mean()), float(own.max()), where, float(np.mean(zeros)))
            )
        return sorted(standings, key=lambda standing: standing.behind)

    def size_of_awareness(self, choice: str) -> float:
        """By how many points a feature-aware rule and its plain one differ: the median."""
        return 100.0 * median(abs(c.difference) for c in self.together(choice).comparisons)

    def spread_of_plain_rules(self, choice: str) -> float:
        """By how many points the best plain rule is ahead of the worst: the median over sets."""
        found = [
            [self.accuracy(name, method, CHOICES[choice]) for method in self.plain]
            for name in self.datasets
        ]
        return median(max(of_set) - min(of_set) for of_set in found)

    def _guesses(self, dataset: str) -> Floats:
        """The accuracy of naming the commoner class, for all shuffles and folds."""
        plan = self.study.plan
        labels = (load(dataset, k, plan.n_rows)[1] for k in range(plan.shuffles[dataset]))
        shares = [np.bincount(y).max() / len(y) for y in labels]
        return np.repeat(shares, plan.protocol.folds)

    def over_guessing(self, dataset: str, choice: str) -> dict[str, Comparison]:
        """Every rule next to that."""
        guesses, choose = self.guesses(dataset), CHOICES[choice]
        return {
            case.method: Comparison(
                dataset, guesses, self.study.chosen(case, choose).accuracy, case.protocol.folds
            )
            for case in self.study.main_cases(dataset)
        }

    def too_dense(self, choice: str, least_zeros: float) -> list[str]:
        """The rules and data sets whose chosen models have fewer zeros."""
        return [
            f"{case.method} on {name} ({100 * zeros:.0f} %)"
            for name in self.datasets
            for case in self.study.main_cases(name)
            for zeros in [self.study.chosen(case, CHOICES[choice]).zeros.mean()]
            if zeros < least_zeros
        ]


def _joined(findings: Iterable[Finding]) -> Finding:
    return Finding(HIGHER, [c for finding in findings for c in finding.comparisons])
