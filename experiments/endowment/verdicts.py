"""Claims, and how many comparisons bear them out."""

from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple

from experiments.comparison import HIGHER, LOWER, Comparison, Tally
from experiments.endowment.curves import Curves
from experiments.endowment.learning import Setting
from experiments.endowment.plan import AS_PRINTED, AS_WRITTEN, AWARE, AWARE_HINGE, HINGE, OGD
from experiments.endowment.study import (
    SPARSE_GAMMA,
    SPARSE_SHARES,
    Measure,
    Study,
    cumulative,
    divestiture,
    test_flips,
    training_flips,
)

Comparing = Callable[[Sequence[float]], list[Comparison]]
EndowedMeasure = Callable[[float, float], Measure]


class Claim(NamedTuple):
    """Something that the thesis says, with either meaning of r."""

    text: str
    as_written: Tally
    as_printed: Tally


def thesis_claims(study: Study) -> list[Claim]:
    datasets, gammas = study.plan.datasets, study.plan.gammas

    def lower(text: str, comparisons: Comparing) -> Claim:
        return Claim(text, *(Tally(LOWER, comparisons(rs)) for rs in (AS_WRITTEN, AS_PRINTED)))

    def endowed(template: Setting, gamma: float, measure: EndowedMeasure) -> Comparing:
        return lambda shares: study.comparisons(datasets, template, gamma, shares, measure)

    def aware_against_plain(shares: Sequence[float]) -> list[Comparison]:
        return [
            study.compare(
                dataset,
                study.pair(dataset, OGD, 1.0, share).endowed,
                study.pair(dataset, AWARE, 1.0, share).endowed,
                cumulative(1.0, share),
            )
            for dataset, share in product(datasets, shares)
        ]

    def growth(template: Setting) -> Comparing:
        """The ratio of the losses with and without for the largest γ, against that for γ = 1."""
        small_gamma, large_gamma = (endowed(template, g, cumulative) for g in (1.0, max(gammas)))
        return lambda shares: [
            large._replace(before=small.after / small.before, after=large.after / large.before)
            for small, large in zip(small_gamma(shares), large_gamma(shares), strict=True)
        ]

    claims = []
    for template, name in ((OGD, "Table 5.3"), (AWARE, "Table 5.4, importance-aware")):
        for measure, word in ((divestiture, "divestiture"), (cumulative, "cumulative")):
            text = f"{name}: E-OGD has the lower {word} loss"
            claims.append(lower(text, endowed(template, 1.0, measure)))
    claims.append(
        lower("Importance-aware updates lower E-OGD's cumulative loss", aware_against_plain)
    )
    for template, name in ((HINGE, "Hinge"), (AWARE_HINGE, "Hinge, importance-aware")):
        claims.append(lower(f"{name}: lower cumulative loss", endowed(template, 1.0, cumulative)))
    for template, name in ((OGD, "plain"), (AWARE, "importance-aware")):
        for gamma in gammas:
            if gamma > 1.0:
                text = f"γ = {gamma:g}, {name}: lower cumulative loss"
                claims.append(lower(text, endowed(template, gamma, cumulative)))
        text = f"The advantage is larger for γ = {max(gammas):g} than for 1, {name}"
        claims.append(lower(text, growth(template)))
    return claims


def own_claims(study: Study, all_curves: list[Curves]) -> list[tuple[str, Tally]]:
    """What else was looked at: text and tally."""
    datasets, shares = study.plan.datasets, (*AS_WRITTEN, *AS_PRINTED)
    claims = []
    for template, name in ((OGD, "plain"), (AWARE, "importance-aware")):
        found = study.comparisons(datasets, template, 1.0, shares, divestiture, same_step=True)
        claims.append((f"Same η, {name}: lower divestiture loss", Tally(LOWER, found)))
    for kind, wanted, word in (("expected", LOWER, "shrinks"), ("divestiture", HIGHER, "grows")):
        gaps = [curves.gap(kind) for curves in all_curves]
        text = f"Figure 5.1: the difference of the {kind} losses {word} with the rounds"
        claims.append((text, Tally(wanted, gaps)))
    for template, name in ((OGD, "plain"), (AWARE, "importance-aware")):
        for measure, word in ((training_flips, "training examples"), (test_flips, "test rows")):
            found = [
                study.compare(dataset, usual, usual._replace(gamma=1.0), measure)
                for dataset in datasets
                for usual in [study.usual(dataset, template)]
            ]
            text = f"Same η, γ = 1, {name}: fewer {word} lost"
            claims.append((text, Tally(LOWER, found)))
    return claims + sparse_claims(study)


def sparse_claims(study: Study) -> list[tuple[str, Tally]]:
    cases = list(product(study.plan.sparse_datasets, study.sparse_templates(), SPARSE_SHARES))
    claims = []
    for choose, name in ((study.same_step_pair, "same η and l1"), (study.pair, "each its own")):
        for measure, word in ((divestiture, "divestiture"), (cumulative, "cumulative")):
            found = [
                study.compare(
                    dataset,
                    *choose(dataset, template, SPARSE_GAMMA, share),
                    measure(SPARSE_GAMMA, share),
                )
                for dataset, template, share in cases
            ]
            text = f"Sparse rules, {name}: lower {word} loss"
            claims.append((text, Tally(LOWER, found)))
    return claims
