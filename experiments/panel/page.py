"""docs/results/panel.md: the tables, and what they say, counted."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.tables import markdown_table
from experiments.panel.data import (
    CLICKS,
    COPIES,
    LEAST_OF_A_CLASS,
    MOST_ROWS,
    N_FOLDS,
    N_REPEATS,
    REGRESSION,
    SOURCES,
    TEXT,
)
from experiments.panel.judging import N_BINS, Outcome
from experiments.panel.methods import METHODS, MOST_ROWS_OF_RIVER, OURS, SCALED_BATCH, SGD, VW

Outcomes = dict[tuple[str, str], Outcome]  # by data set and method
Shape = tuple[int, int, int]  # rows, features, classes
DIVERGED = -1e3  # R²
ROUNDING = 1e-9

INTRODUCTION = """\
# Panel: default settings of several tools, compared

How good is a tool when nobody has set anything? This page compares the default settings of rarefy,
scikit-learn, Vowpal Wabbit and River on data of all kinds, by {n_folds}-fold cross-validation with
the same folds for all, stratified by class. Only the seeds of scikit-learn's SGD are fixed. `make
panel` runs the comparison and writes this page.

Two warnings. rarefy's defaults were chosen with several of these data sets in view, and the other
tools' defaults were not: this flatters rarefy. And data sets whose names begin with the same word
share rows, so they are not independent evidence.

"""

TOOLS = f"""\
## How it was measured

- **rarefy**: `SparseOnlineClassifier()` and `SparseOnlineRegressor()`.
- **SGD**: scikit-learn's `SGDClassifier()` and `SGDRegressor()`.
- **LR / Ridge**: scikit-learn's `LogisticRegression()` for classes, `Ridge()` for regression.
- **scaled**: after `StandardScaler()`, which does not centre sparse rows.
- **VW**: Vowpal Wabbit, one pass; `--loss_function logistic` for two classes, `--oaa` as well for
  more, and its default, the squared loss, for regression.
- **River**: `LogisticRegression()`, `SoftmaxRegression()` and `LinearRegression()`, one pass. River
  is slow, so it learns a sample: at most {MOST_ROWS_OF_RIVER:,} rows, fewer if rows are long or
  classes many. It is not scaled on sparse rows: its scaler sees only non-zero values, so that
  indicators would become 0.

A data set is a random sample of at most {MOST_ROWS:,} rows in random order; of reuters,
{SOURCES["reuters"].most_rows:,} rows of the topics with at least {LEAST_OF_A_CLASS} stories.
Columns are in their own units, and texts are word counts. Two data sets are sorted by class: a tool
that makes one pass in the given order must fail there. In two others each row occurs {COPIES}
times, with all copies in the same fold. UCI's wdbc is breast cancer
once more, and is left out.

"""

VERDICT = """\
## Verdict

On how many data sets each claim holds. A standard error is that of the other tool's mean, as in the
table. In brackets: the difference in hundredths, ± the standard error of the mean difference over
the folds.

"""

REASONS = """\
Where rarefy is behind, one setting is mostly the reason: the penalty on rcv1, the loss on reuters,
the length of steps on imdb. [Decision 33](../decisions/0033-defaults-that-stayed.md) has what was
measured and tried as a default, decisions [35](../decisions/0035-the-penalty-of-tables.md) and
[42](../decisions/0042-passes-without-a-penalty.md) how `fit` chooses whether to penalise a table,
and how many passes it makes, measured on other tables as well. Some of it is chance: see
[below](#where-rarefy-is-behind-measured-again-on-fresh-splits).

"""

MEASURES = f"""\
Log-loss / calibration error in hundredths. The calibration error is the difference between the
probability of the likeliest class and how often that class is right, over {N_BINS} bins weighted by
their rows. SGD's default, the hinge loss, has no probabilities.

"""


COSTS = """

## Weights and time

Non-zero weights / seconds of CPU time for one fit (the median of the folds), summed over the data
sets of each kind. VW's weights include intercepts, and its time includes reading text. River learns
fewer rows.

"""


AGAIN = f"""

## Where rarefy is behind, measured again on fresh splits

Some of these differences are chance. So the comparisons in which the verdict finds rarefy behind
SGD, behind VW, or behind the best tool on texts or clicks were made again, {N_REPEATS} times in
{N_FOLDS} folds: on rows that the first table does not have where there are enough of them,
otherwise on the same rows in another order and in other folds. **These data sets were chosen
because rarefy was behind, and no other was measured again**: the table cannot show where rarefy was
ahead by chance, and changes none of the counts above. On the same rows, part of the first chance
comes again.

Differences are in hundredths, rarefy's score less the other's. Repeats share rows, so ± is the
corrected standard error of Nadeau and Bengio (2003): the variance of the {N_REPEATS * N_FOLDS}
differences is multiplied by 1/{N_REPEATS * N_FOLDS} + 1/{N_FOLDS - 1}, the second term divided by
the number of samples without a common row. It says how far other rows of the same kind could move
the mean. For the rows at hand, see in how many repeats rarefy is behind.

"""


class Estimate(NamedTuple):
    """A mean over folds, and its standard error."""

    mean: float
    error: float


def estimate(values: Sequence[float]) -> Estimate:
    if not np.isfinite(values).all():
        return Estimate(-math.inf, 0.0)
    return Estimate(float(np.mean(values)), float(np.std(values, ddof=1) / math.sqrt(len(values))))


class Duel(NamedTuple):
    """Ours and a peer's scores on the same folds of a data set; more is better."""

    dataset: str
    peer: str
    ours: Sequence[float]
    theirs: Sequence[float]

    @property
    def lead(self) -> float:
        return estimate(self.ours).mean - estimate(self.theirs).mean

    @property
    def is_within_error(self) -> bool:
        """No more than one standard error of the peer's mean below it."""
        return self.lead >= -estimate(self.theirs).error - ROUNDING

    @property
    def is_within_paired_error(self) -> bool:
        """No more than one standard error of the mean difference, fold by fold, below it."""
        if not np.isfinite(self.theirs).all():
            return True
        return self.lead >= -paired(self).error - ROUNDING


class Repeated(NamedTuple):
    """A duel once more, in several repeats of all folds: scores of one repeat after the other."""

    first: Duel
    ours: Sequence[float]
    theirs: Sequence[float]
    n_samples: int  # that have no row in common
    is_on_other_rows: bool

    @property
    def lead(self) -> Estimate:
        """The mean difference, and its corrected standard error.

        C. Nadeau, Y. Bengio: Inference for the generalization error. Machine Learning 52 (2003).
        """
        leads = np.subtract(self.ours, self.theirs)
        shared = 1.0 / (N_FOLDS - 1)  # rows predicted, to rows learned
        factor = 1.0 / len(leads) + shared / self.n_samples
        return Estimate(float(leads.mean()), math.sqrt(factor * leads.var(ddof=1)))

    @property
    def n_behind(self) -> int:
        """In how many repeats the mean difference is below zero."""
        leads = np.subtract(self.ours, self.theirs).reshape(-1, N_FOLDS).mean(axis=1)
        return int((leads < -ROUNDING).sum())


class Aim(NamedTuple):
    share: str
    holds: Callable[[Duel], bool]


AT_LEAST_AS_GOOD = Aim("all", lambda duel: duel.lead >= -ROUNDING)
WITHIN = Aim("nine of ten", lambda duel: duel.is_within_error)


def duels(outcomes: Outcomes, peer: str) -> list[Duel]:
    return [
        Duel(dataset, peer, outcomes[dataset, OURS].scores, found.scores)
        for (dataset, method), found in outcomes.items()
        if method == peer
    ]


def hardest(outcomes: Outcomes, kind: str) -> list[Duel]:
    """With the best of the peers, on every data set of the kind."""
    best: dict[str, Duel] = {}
    for peer in METHODS:
        for duel in duels(outcomes, peer) if peer != OURS else []:
            if SOURCES[duel.dataset].kind == kind:
                best[duel.dataset] = min(best.get(duel.dataset, duel), duel, key=lambda d: d.lead)
    return list(best.values())


def behind(outcomes: Outcomes) -> list[Duel]:
    """Where rarefy is not at least as good as the verdict has as an aim; one duel for each pair."""
    found = [
        *(duel for peer in (SGD, VW) for duel in duels(outcomes, peer)),
        *(duel for kind in (TEXT, CLICKS) for duel in hardest(outcomes, kind)),
    ]
    missed = [duel for duel in found if not AT_LEAST_AS_GOOD.holds(duel)]
    pairs = {(duel.dataset, duel.peer): duel for duel in missed}
    return sorted(pairs.values(), key=lambda duel: duel.lead)


def sentence(claim: str, found: Sequence[Duel], aim: Aim = AT_LEAST_AS_GOOD) -> str:
    """How often a claim holds, strictly and less so, and where the aim is missed."""
    counts = {
        one: f"{sum(map(one.holds, found))} of {len(found)}" for one in (AT_LEAST_AS_GOOD, WITHIN)
    }
    counts[aim] = f"**{counts[aim]}** (aim: {aim.share})"
    paired = sum(duel.is_within_paired_error for duel in found)
    misses = sorted((duel for duel in found if not aim.holds(duel)), key=lambda duel: duel.lead)
    return (
        f"- {claim} on {counts[AT_LEAST_AS_GOOD]}; within one standard error on "
        f"{counts[WITHIN]}, and within that of the difference on {paired}."
        + (f" Behind: {', '.join(map(told, misses))}." if misses else "")
    )


def told(duel: Duel) -> str:
    return f"{duel.dataset} ({METHODS[duel.peer].title}: {difference_cell(paired(duel))})"


def paired(duel: Duel) -> Estimate:
    """The difference, fold by fold."""
    return estimate(np.subtract(duel.ours, duel.theirs).tolist())


def difference_cell(found: Estimate) -> str:
    return f"{100.0 * found.mean:.2f} ± {100.0 * found.error:.2f}"


def verdicts(outcomes: Outcomes) -> str:
    peers = {method for _, method in outcomes}
    kinds = {SOURCES[dataset].kind for dataset, _ in outcomes}
    better = "At least as good as"
    lines = [
        *(
            sentence(f"{better} {METHODS[peer].title}", duels(outcomes, peer))
            for peer in (SGD, VW)
            if peer in peers
        ),
        sentence(f"{better} {METHODS[SCALED_BATCH].title},", duels(outcomes, SCALED_BATCH), WITHIN),
        *(
            sentence(f"Of {kind}: {better.lower()} every other tool", hardest(outcomes, kind))
            for kind in (TEXT, CLICKS)
            if kind in kinds
        ),
        probability_verdict(outcomes),
    ]
    return VERDICT + "\n".join(lines) + "\n\n" + REASONS


def probability_verdict(outcomes: Outcomes) -> str:
    """Log-loss next to logistic regression with scaling."""
    both = {
        dataset: (found.log_losses, outcomes[dataset, SCALED_BATCH].log_losses)
        for (dataset, method), found in outcomes.items()
        if method == OURS and found.log_losses
    }
    higher = {
        dataset: estimate(np.subtract(ours, theirs).tolist())
        for dataset, (ours, theirs) in both.items()
        if np.mean(ours) > np.mean(theirs)
    }
    listed = ", ".join(f"{name} (+{by.mean:.3f} ± {by.error:.3f})" for name, by in higher.items())
    return (
        f"- The log-loss is no higher than that of LogisticRegression, scaled, on "
        f"**{len(both) - len(higher)} of {len(both)}**."
        + (f" Higher on: {listed}." if higher else "")
    )


def score_cell(found: Outcome | None) -> str:
    if found is None:
        return ""
    mean, error = estimate(found.scores)
    if mean < DIVERGED:
        return "diverges"
    return f"{100.0 * mean:.1f} ± {100.0 * error:.1f}"


def probability_cell(found: Outcome | None) -> str:
    if found is None or not found.log_losses:
        return ""
    return f"{np.mean(found.log_losses):.3f} / {100.0 * np.mean(found.calibration_errors):.1f}"


def score_table(outcomes: Outcomes, shapes: dict[str, Shape], methods: Sequence[str]) -> str:
    header = ["", "what", "rows", "features", "classes", "measure"]
    rows = []
    for dataset, shape in shapes.items():
        n_rows, n_features, n_classes = shape
        found = {name: outcomes.get((dataset, name)) for name in methods}
        best = max(estimate(one.scores).mean for one in found.values() if one)
        cells = [
            f"**{score_cell(one)}**"
            if one and estimate(one.scores).mean == best
            else score_cell(one)
            for one in found.values()
        ]
        source = SOURCES[dataset]
        size = [f"{n_rows:,}", f"{n_features:,}", n_classes or ""]
        rows.append([dataset, source.title, *size, source.measure, *cells])
    return markdown_table(header + [METHODS[name].title for name in methods], rows)


def probability_table(outcomes: Outcomes, methods: Sequence[str]) -> str:
    datasets = [
        dataset for dataset, method in outcomes if method == OURS and is_classified(dataset)
    ]
    with_probabilities = [
        name for name in methods if any(outcomes[d, m].log_losses for d, m in outcomes if m == name)
    ]
    rows = [
        [d, *(probability_cell(outcomes.get((d, name))) for name in with_probabilities)]
        for d in datasets
    ]
    return markdown_table(["", *(METHODS[name].title for name in with_probabilities)], rows)


def is_classified(dataset: str) -> bool:
    return SOURCES[dataset].kind != REGRESSION


def cost_table(outcomes: Outcomes, methods: Sequence[str]) -> str:
    """Sums over the data sets of each kind."""
    kinds = {SOURCES[dataset].kind: None for dataset, _ in outcomes}
    rows = []
    for name in methods:
        cells = []
        for kind in kinds:
            own = [
                found
                for (dataset, method), found in outcomes.items()
                if method == name and SOURCES[dataset].kind == kind
            ]
            weights = sum(np.mean(one.weights) for one in own)
            seconds = sum(np.median(one.seconds) for one in own)
            cells.append(f"{weights:,.0f} / {seconds:.2f} s" if own else "")
        rows.append([METHODS[name].title, *cells])
    return markdown_table(["", *kinds], rows)


def again_table(repeated: Sequence[Repeated]) -> str:
    rows = []
    for one in repeated:
        samples = f"{one.n_samples} of other rows" if one.is_on_other_rows else "the same rows"
        rows.append([
            one.first.dataset,
            METHODS[one.first.peer].title,
            SOURCES[one.first.dataset].measure,
            difference_cell(paired(one.first)),
            samples,
            difference_cell(one.lead),
            f"{one.n_behind} of {len(one.ours) // N_FOLDS}",
        ])  # fmt: skip
    header = ["", "ahead", "measure", "first table", "samples", "again", "repeats behind"]
    return markdown_table(header, rows)


def again_verdict(repeated: Sequence[Repeated]) -> str:
    """How many are clearly behind, and how many are not behind at all."""
    clear = [one for one in repeated if one.lead.mean < -2.0 * one.lead.error]
    ahead = [one for one in repeated if one.lead.mean >= -ROUNDING]
    named = ", ".join(f"{one.first.dataset} ({METHODS[one.first.peer].title})" for one in clear)
    return (
        f"\n\nOf {len(repeated)} comparisons, rarefy is behind by more than two standard errors in "
        f"**{len(clear)}**"
        + (f": {named}" if named else "")
        + f". It is at least as good in {len(ahead)}."
    )


def page(outcomes: Outcomes, shapes: dict[str, Shape], repeated: Sequence[Repeated]) -> str:
    methods = [name for name in METHODS if any(method == name for _, method in outcomes)]
    return (
        INTRODUCTION.format(n_folds=N_FOLDS)
        + verdicts(outcomes)
        + "## Scores\n\nIn hundredths, ± standard errors over the folds; the best in bold.\n\n"
        + score_table(outcomes, shapes, methods)
        + (AGAIN + again_table(repeated) + again_verdict(repeated) if repeated else "")
        + "\n\n## Probabilities\n\n"
        + MEASURES
        + probability_table(outcomes, methods)
        + COSTS
        + cost_table(outcomes, methods)
        + "\n\n"
        + TOOLS.rstrip()
        + "\n"
    )
