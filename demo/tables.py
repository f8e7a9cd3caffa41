"""What the demo prints: the running table, the comparison, the conclusions."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from rich.table import Table

from demo.compare import DEFAULT, PAIRS, Contestant, Outcome, PathPoint, falls_behind_at
from demo.data import Corpus

BEST = "bold green"
KINDS = {
    **{pair.plain.rule: "plain" for pair in PAIRS},
    **{pair.aware.rule: "aware" for pair in PAIRS},
    DEFAULT.rule: "default",
}


def running_table(contestants: Sequence[Contestant], corpus: Corpus) -> Table:
    """One row per rule, with its progress."""
    table = Table(title="One pass: every row is predicted before it is learned")
    table.add_column("rule")
    for heading in (
        "examples",
        "loss\nso far",
        "accuracy\nso far",
        "zeros",
        f"rare kept\nof {len(corpus.rare):,}",
        f"small-unit\nkept of {len(corpus.small_unit):,}",
    ):
        table.add_column(heading, justify="right")
    for contestant in contestants:
        ends_pair = KINDS[contestant.setting.rule] == "aware"
        table.add_row(*_running_cells(contestant, corpus), end_section=ends_pair)
    return table


def _running_cells(contestant: Contestant, corpus: Corpus) -> list[str]:
    if not contestant.examples:
        return [contestant.setting.rule, "0", *["–"] * 5]
    model, accuracy = contestant.model, contestant.accuracy_so_far
    return [
        contestant.setting.rule,
        f"{contestant.examples:,}",
        f"{model.progressive_loss_:.4f}",
        "–" if accuracy is None else f"{accuracy:.1%}",
        f"{model.sparsity_:.1%}",
        f"{contestant.kept(corpus.rare):,}",
        f"{contestant.kept(corpus.small_unit):,}",
    ]


class Measure(NamedTuple):
    """A column of the comparison."""

    heading: str
    value: Callable[[Outcome], float]
    style: str
    is_better_if_larger: bool = False


def measures(corpus: Corpus) -> list[Measure]:
    return [
        Measure("test\naccuracy", lambda o: o.test_accuracy, ".1%", True),
        Measure("weights\nkept", lambda o: o.weights, ",d"),
        Measure(f"rare\nof {len(corpus.rare):,}", lambda o: o.rare_kept, ",d", True),
        Measure(f"frequent\nof {len(corpus.frequent)}", lambda o: o.frequent_kept, "d", True),
        Measure(f"small-unit\nof {len(corpus.small_unit)}", lambda o: o.small_unit_kept, "d", True),
    ]


def comparison_table(outcomes: Sequence[Outcome], corpus: Corpus) -> Table:
    """A row per rule; the best of each column stands out."""
    table = Table(title="After one pass, with models of about the same size")
    table.add_column("rule")
    table.add_column("kind")
    for measure in measures(corpus):
        table.add_column(measure.heading, justify="right")
    columns = [_cells(measure, outcomes) for measure in measures(corpus)]
    for outcome, *cells in zip(outcomes, *columns, strict=True):
        kind = KINDS[outcome.rule]
        table.add_row(outcome.rule, kind, *cells, end_section=kind == "aware")
    return table


def _cells(measure: Measure, outcomes: Sequence[Outcome]) -> list[str]:
    values = [measure.value(outcome) for outcome in outcomes]
    texts = [format(value, measure.style) for value in values]
    best = format(max(values), measure.style) if measure.is_better_if_larger else None
    return [f"[{BEST}]{text}[/]" if text == best else text for text in texts]


def verdict(outcomes: Sequence[Outcome]) -> list[str]:
    """What the numbers say, whichever way they went."""
    by_rule = {outcome.rule: outcome for outcome in outcomes}
    pairs = [(by_rule[pair.plain.rule], by_rule[pair.aware.rule]) for pair in PAIRS]
    gains = [100 * (aware.test_accuracy - plain.test_accuracy) for plain, aware in pairs]
    listed = ", ".join(
        f"{gain:+.1f} ({aware.rule})" for gain, (_, aware) in zip(gains, pairs, strict=True)
    )
    error = max(100 * _standard_error(plain, aware) for plain, aware in pairs)
    zeros = [100 * outcome.share_of_zeros for outcome in outcomes]
    default = by_rule[DEFAULT.rule]
    best = max(
        (outcome for outcome in outcomes if outcome is not default), key=lambda o: o.test_accuracy
    )
    gain_of_default = 100 * (default.test_accuracy - best.test_accuracy)
    return [
        f"At {_span(zeros)} % zeros, feature-aware rules minus plain rules: {listed} points of "
        f"test accuracy (standard error {error:.1f}). Clearly better in "
        f"{sum(gain > 2 * error for gain in gains)} of {len(pairs)} pairs, clearly worse in "
        f"{sum(gain < -2 * error for gain in gains)}.",
        f"The default rule, {default.rule}, minus the best of the others ({best.rule}): "
        f"{gain_of_default:+.1f} points (standard error "
        f"{100 * _standard_error(best, default):.1f}). It has a step size per feature; the "
        f"others share one.",
    ]


def verdict_on_paths(paths: Mapping[str, Sequence[PathPoint]], corpus: Corpus) -> str:
    """How the best strengths compare, and where, if at all, plain rules are better."""
    gains, limits = [], []
    for plain, aware in PAIRS:
        plain_path, aware_path = paths[plain.rule], paths[aware.rule]
        gain = max(p.test_accuracy for p in aware_path) - max(p.test_accuracy for p in plain_path)
        gains.append(f"{100 * gain:+.1f} ({aware.rule})")
        weights = falls_behind_at(plain_path, aware_path)
        where = "never"
        if weights is not None:
            where = f"above {1 - weights / corpus.n_features:.1%} zeros"
        limits.append(f"{where} ({aware.rule})")
    return (
        f"At the best l1 of each rule, feature-aware minus plain: {', '.join(gains)} points. "
        f"The plain rule is better {', '.join(limits)}."
    )


def _standard_error(one: Outcome, other: Outcome) -> float:
    """Of the difference of two accuracies on the same rows."""
    difference = other.hits.astype(float) - one.hits
    return float(difference.std() / np.sqrt(len(difference)))


def _span(numbers: Sequence[float]) -> str:
    low, high = f"{min(numbers):.1f}", f"{max(numbers):.1f}"
    return low if low == high else f"{low} to {high}"
