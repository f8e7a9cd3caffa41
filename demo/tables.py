"""What the demo shows in the terminal: the running table, the comparison, the verdict."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from rich.table import Table

from demo.compare import PAIRS, Contestant, Outcome, PathPoint, falls_behind_at
from demo.data import Corpus

BETTER = "bold green"
T = TypeVar("T")


def in_pairs(things: Sequence[T]) -> list[tuple[T, T]]:
    """Plain and feature-aware, as they follow each other."""
    return list(zip(things[::2], things[1::2], strict=True))


def running_table(contestants: Sequence[Contestant], corpus: Corpus) -> Table:
    """One row per rule, as far as it has come."""
    table = Table(title="One pass, each row predicted before it is learned")
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
    for plain, aware in in_pairs(contestants):
        table.add_row(*_running_cells(plain, corpus))
        table.add_row(*_running_cells(aware, corpus), end_section=True)
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
    """A line of the comparison."""

    heading: str
    value: Callable[[Outcome], float]
    style: str
    best: Callable[[float, float], float] | None = None  # which of two is better, where one is


def measures(corpus: Corpus) -> list[Measure]:
    return [
        Measure("test accuracy", lambda o: o.test_accuracy, ".1%", max),
        Measure("progressive loss", lambda o: o.progressive_loss, ".4f", min),
        Measure("share of zeros", lambda o: o.share_of_zeros, ".1%"),
        Measure("weights kept", lambda o: o.weights, ",d"),
        Measure(f"rare kept, of {len(corpus.rare):,}", lambda o: o.rare_kept, ",d", max),
        Measure(f"small-unit, of {len(corpus.small_unit)}", lambda o: o.small_unit_kept, "d", max),
        Measure(f"frequent, of {len(corpus.frequent)}", lambda o: o.frequent_kept, "d", max),
        Measure("seconds to learn", lambda o: o.seconds, ".2f", min),
    ]


def comparison_table(outcomes: Sequence[Outcome], corpus: Corpus) -> Table:
    """Plain and feature-aware side by side; the better of each pair stands out."""
    table = Table(title="After one pass: plain | feature-aware")
    table.add_column("")
    for outcome in outcomes:
        table.add_column(outcome.rule, justify="right")
    for measure in measures(corpus):
        cells = [cell for pair in in_pairs(outcomes) for cell in _pair_cells(measure, *pair)]
        table.add_row(measure.heading, *cells)
    return table


def _pair_cells(measure: Measure, plain: Outcome, aware: Outcome) -> list[str]:
    values = [measure.value(plain), measure.value(aware)]
    texts = [format(value, measure.style) for value in values]
    if measure.best is None or texts[0] == texts[1]:
        return texts
    best = measure.best(*values)
    return [
        f"[{BETTER}]{text}[/]" if value == best else text
        for text, value in zip(texts, values, strict=True)
    ]


def verdict(outcomes: Sequence[Outcome], corpus: Corpus) -> list[str]:
    """What the numbers say, whichever way they went."""
    pairs = in_pairs(outcomes)
    gains = [100 * (aware.test_accuracy - plain.test_accuracy) for plain, aware in pairs]
    error = max(100 * _standard_error(plain, aware) for plain, aware in pairs)
    zeros = [100 * outcome.share_of_zeros for outcome in outcomes]
    return [
        f"With {_span(zeros)} % zeros, feature-aware minus plain is "
        f"{_listed(pairs, [f'{gain:+.1f}' for gain in gains])} points of test accuracy "
        f"(standard error {error:.1f}): ahead in {sum(gain > 2 * error for gain in gains)} of "
        f"{len(pairs)} pairs, behind in {sum(gain < -2 * error for gain in gains)}.",
        f"Informative features kept, in the same order: "
        f"{_change(pairs, lambda o: o.rare_kept)} of {len(corpus.rare):,} rare ones, "
        f"{_change(pairs, lambda o: o.small_unit_kept)} of {len(corpus.small_unit)} in small "
        f"units, {_change(pairs, lambda o: o.frequent_kept)} of {len(corpus.frequent)} frequent "
        f"ones.",
    ]


def verdict_on_paths(paths: Mapping[str, Sequence[PathPoint]], corpus: Corpus) -> str:
    """How the best strengths compare, and where, if at all, plain is better."""
    gains, limits = [], []
    for plain, aware in PAIRS:
        plain_path, aware_path = paths[plain.rule], paths[aware.rule]
        gain = max(p.test_accuracy for p in aware_path) - max(p.test_accuracy for p in plain_path)
        gains.append(f"{100 * gain:+.1f} ({aware.rule})")
        weights = falls_behind_at(plain_path, aware_path)
        where = "nowhere"
        if weights is not None:
            where = f"from {1 - weights / corpus.n_features:.1%} zeros on"
        limits.append(f"{where} ({aware.rule})")
    return (
        f"At the best l1 of each, feature-aware minus plain is {', '.join(gains)} points. "
        f"It falls behind {', '.join(limits)}."
    )


def _standard_error(plain: Outcome, aware: Outcome) -> float:
    """Of the difference of two accuracies on the same rows."""
    difference = aware.hits.astype(float) - plain.hits
    return float(difference.std() / np.sqrt(len(difference)))


def _span(numbers: Sequence[float]) -> str:
    low, high = f"{min(numbers):.1f}", f"{max(numbers):.1f}"
    return low if low == high else f"{low} to {high}"


def _listed(pairs: Sequence[tuple[Outcome, Outcome]], texts: Sequence[str]) -> str:
    return ", ".join(
        f"{text} ({aware.rule})" for (_, aware), text in zip(pairs, texts, strict=True)
    )


def _change(pairs: Sequence[tuple[Outcome, Outcome]], count: Callable[[Outcome], int]) -> str:
    """Like '+3, -1 and +12'."""
    *others, last = (f"{count(aware) - count(plain):+,d}" for plain, aware in pairs)
    return f"{', '.join(others)} and {last}" if others else last
