# ruff: noqa: E501
"""docs/results/field.md: all methods by data set, of any size and of a thousand weights, and their cost."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from math import inf
from typing import NamedTuple

import numpy as np

from experiments.comparison import Comparison, Floats
from experiments.field import cost
from experiments.field.methods import BUDGET, METHODS
from experiments.field.work import PASSES_OF_FINITE, REFERENCES, Key, Result
from experiments.peers.frontier import chosen_without, frontier
from experiments.peers.methods import METHODS as TOOLS
from experiments.peers.plan import FULL
from rarefy.parameters.table import DEFAULT_RULE

FEW_WEIGHTS = 1000
Scores = dict[Key, Floats]  # by fold


class Standing(NamedTuple):
    """How a method stands, over the data sets that it was run on."""

    behind: float  # the best of each set, in the mean
    better: list[str]  # sets on which it is better than the default rule
    worse: list[str]


def title_of(name: str) -> str:
    return TOOLS[name].title if name in REFERENCES else f"`{name}`"


def scores_of_any(found: Mapping[Key, Result]) -> Scores:
    """Of the setting that is best in the other folds."""
    return {key: chosen_without(result.outcome, inf) for key, result in found.items()}


def scores_of_few(found: Mapping[Key, Result]) -> Scores:
    """On the frontier, as on the peers' page, of methods that have so small models on most sets."""
    frontiers = {key: frontier(result.outcome) for key, result in found.items()}
    small = {
        key: one for key, one in frontiers.items() if one.weights.min(initial=inf) <= FEW_WEIGHTS
    }
    counts = Counter(name for name, _ in small)
    return {
        key: one.at(FEW_WEIGHTS)
        for key, one in small.items()
        if 2 * counts[key[0]] > len(FULL.datasets)
    }


def scores_within_few(found: Mapping[Key, Result], names: Collection[str]) -> Scores:
    """Of the setting that is best in the other folds among those that are so small."""
    return {
        key: chosen_without(result.outcome, FEW_WEIGHTS)
        for key, result in found.items()
        if key[0] in names
    }


def standings(scores: Scores) -> dict[str, Standing]:
    """Of the methods that have a model for every data set."""
    names = [n for n in (*METHODS, *REFERENCES) if all((n, d) in scores for d in FULL.datasets)]
    best = {d: max(scores[n, d].mean() for n in names) for d in FULL.datasets}
    found = {}
    for name in names:
        signs = {d: sign_of(scores, name, d) for d in FULL.datasets}
        behind = float(np.mean([best[d] - scores[name, d].mean() for d in FULL.datasets]))
        better, worse = ([d for d in signs if signs[d] == sign] for sign in (1, -1))
        found[name] = Standing(behind, better, worse)
    return dict(sorted(found.items(), key=lambda item: item[1].behind))


def sign_of(scores: Scores, name: str, dataset: str) -> int:
    default, own = scores[DEFAULT_RULE, dataset], scores[name, dataset]
    return Comparison(dataset, default, own, FULL.n_folds).sign


def table(scores: Scores, found: Mapping[str, Standing]) -> str:
    """The least behind first; those that lack a data set last."""
    names = {name for name, _ in scores}
    rest = [name for name in (*METHODS, *REFERENCES) if name in names and name not in found]
    best = {d: max(scores[n, d].mean() for n in names if (n, d) in scores) for d in FULL.datasets}
    lines = []
    for name in (*found, *rest):
        cells = []
        for dataset in FULL.datasets:
            if (name, dataset) not in scores:
                cells.append("–")
                continue
            mean, sign = scores[name, dataset].mean(), sign_of(scores, name, dataset)
            mark = "**" if mean == best[dataset] else ""
            cells.append(f"{mark}{100.0 * mean:.1f}{mark}{('▼', '', '▲')[sign + 1]}")
        behind = f"{100.0 * found[name].behind:.1f}" if name in found else "–"
        lines.append(f"| {title_of(name)} | {' | '.join(cells)} | {behind} |")
    head = f"| | {' | '.join(FULL.datasets)} | behind |\n|{'---|' * (len(FULL.datasets) + 2)}"
    return "\n".join([head, *lines])


def listed(names: Sequence[str], found: Mapping[str, Standing]) -> str:
    return ", ".join(f"{title_of(name)} ({100.0 * found[name].behind:.1f})" for name in names)


def beating(found: Mapping[str, Standing]) -> str:
    parts = [
        f"{title_of(name)} on {' and '.join(one.better)}"
        + (f" (worse on {len(one.worse)})" if one.worse else "")
        for name, one in found.items()
        if one.better
    ]
    return "; ".join(parts) or "none"


def without_advantage(found: Mapping[str, Standing]) -> str:
    """Methods that are nowhere told from the default rule."""
    names = [
        n for n, one in found.items() if not one.better and not one.worse and n != DEFAULT_RULE
    ]
    return ", ".join(map(title_of, names)) or "none"


def page(found: Mapping[Key, Result], timed: Mapping[Key, cost.Cost]) -> str:
    of_any, of_few = scores_of_any(found), scores_of_few(found)
    any_size, few = standings(of_any), standings(of_few)
    within = standings(scores_within_few(found, few))
    lacking = [n for n in METHODS if any((n, d) not in found for d in FULL.datasets)]
    hours = sum(result.seconds for result in found.values()) / 3600.0
    first = [name for name in any_size if name in METHODS]
    dear = sorted(timed, key=lambda key: -timed[key].ratio)
    return f"""<!-- Written by `python -m experiments.field`; to change it, change experiments/field/page.py. -->
# The field

Which of all these methods is worth using? Every rule of the library, and some in other uses (the mean of past weights,
the cumulative penalty, feature-aware AdaGrad, weights within a ball or a box), and the voted perceptron, in the sweep of
[Peers](peers.md): the same {len(FULL.datasets)} data sets (at most {FULL.most_rows:,} rows), the same {FULL.n_folds} folds, {FULL.passes} passes and {BUDGET} settings each, that is a
step and a penalty, or what the method has in their place ([methods.py](../../experiments/field/methods.py) has the grids;
`perceptron`, voted or not, and `pa` have nothing to choose, `sag` and `svrg` make {PASSES_OF_FINITE} passes). Logistic loss. In the first table, every fold has the
setting that is best in the other four, so that many tries are no advantage. Two tools of that page stand beside
them. All
of it took {hours:.1f} hours of one core.

Accuracy in per cent; bold: the best; ▲ ▼: better, worse than `{DEFAULT_RULE}` with p < 0.05 in a paired test over the
folds, corrected for the rows that they share; "behind": the mean distance from the best of each set. Of some
{len(of_any):,} tests, one in twenty is expected to show a difference that is none.

## Models of any size

{table(of_any, any_size)}

{"Not run on all data sets, for their time: " + ", ".join(map(title_of, lacking)) + "." if lacking else ""}

Weights within an L1 ball or on a simplex take O(d) for a row with d features: with the 348,463 of books about a millisecond, and so
4 to 6 s for a pass, where `fobos` takes 0.007 s.

## With at most {FEW_WEIGHTS:,} weights

By the frontiers of [Peers](peers.md), because no grid has a model of just this size; the settings on them are those
that the folds prefer. Methods that have no such model on most of the sets, as all without a penalty, are left out; a
dash: no setting of the grid is so small. "Behind" is among those that have a model for every set.

{table(of_few, few)}

It matters how this is read. Without the lines between models, each method has the setting of its grid with at most
{FEW_WEIGHTS:,} weights that is best in the other folds, and may keep far fewer: `scale-free`, whose weights fall steeply with its l1,
is then {100.0 * within[DEFAULT_RULE].behind:.1f} behind, and the least behind are {listed(list(within)[:5], within)}. Better than `{DEFAULT_RULE}` are then
{beating(within)}.

## What follows

- Least behind at any size: {listed(first[:6], any_size)}; most: {listed(first[-5:], any_size)}.
- Least behind with {FEW_WEIGHTS:,} weights: {listed([n for n in few if n in METHODS][:6], few)}.
- Better than the default, any size: {beating(any_size)}.
- Better than the default with {FEW_WEIGHTS:,} weights, on the frontier: {beating(few)}.
- Nowhere told from the default, at any size: {without_advantage(any_size)}.

**Advice.** Start with `{DEFAULT_RULE}`; if its last point matters, try `{first[0] if first[0] != DEFAULT_RULE else first[1]}` and `{first[1] if first[0] != DEFAULT_RULE and first[1] != DEFAULT_RULE else first[2]}` beside it. Rules with
one step for all features (`ogd`, `fobos`, `rda`, `ftprl` and what is made of them) cost accuracy here, whatever their
step, and `eg`, whose weights are all positive, most; use them where their theory is what you want.
The scale-free rules were made with a look at several of these sets, which flatters them; grids of six and three values
are coarse, so that less than half a point says little. The ranges of the grids were set after one look at sms, books and
rcv1 with wider or narrower ones, for most of the methods, not for all. That the frontier is the table for {FEW_WEIGHTS:,} weights, and
the other reading a paragraph below it, was decided when both had been seen.

## Cost

Time of one pass, in passes of `fobos` on the same rows (defaults, two classes, one process on a machine that did nothing
else but two such runs; the best of {cost.REPEATS}, taking turns with `fobos`). "Made" has 50,000 rows of about 56 features with Zipf's
law, the others are the rows above. `sag` and `svrg`: one of {cost.PASSES_OF_FINITE} passes, all that they do before included. What
[the voted perceptron](../reference/algorithms.md#the-voted-perceptron) takes to predict is not in the table. Dearest:
`{dear[0][0]}` ({timed[dear[0]].ratio:.0f} times).

{cost.table(timed)}
"""
