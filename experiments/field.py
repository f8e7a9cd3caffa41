# ruff: noqa: E501
"""Every rule with the same budget: docs/field.md, by `python -m experiments.field --processes N`.

Each rule has six settings (multiples of its own defaults), of which a held-out fifth of the training
rows chooses; then it learns all of them, in as many passes. What is known is kept in build/field/.
"""

from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import click
import numpy as np
from sklearn.metrics import roc_auc_score

from experiments.comparison import Comparison
from experiments.panel.data import AUC, SOURCES, task
from experiments.records import Records
from rarefy import DivergenceError, SparseOnlineClassifier
from rarefy.parameters.table import DEFAULT_RULE
from rarefy.rules import FINITE_DATA, RULES

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "build" / "field"
DATASETS = ("breast cancer", "spambase", "kr-vs-kp", "sms", "books", "rcv1", "a9a", "criteo")
MOST_ROWS, FOLDS, PASSES, PASSES_OF_FINITE = 2500, 5, 3, 30
AVERAGED = (DEFAULT_RULE, "fobos", "ogd", "ftrl", "pegasos")
MEAN = ", mean"
METHODS = (*RULES, *FINITE_DATA, *(f"{rule}{MEAN}" for rule in AVERAGED))
STEPS, STRENGTHS = (0.03, 0.3, 1.0), (0.1, 1.0)  # times the rule's own
STEPS_ALONE = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
AGGRESSIVENESS = (1e-3, 0.01, 0.1, 1.0, 10.0, 100.0)
L2 = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1)  # of rules that need it


class Outcome(NamedTuple):
    scores: list[float]  # by fold, accuracy or AUC
    weights: float
    seconds: float  # of the last model of a fold


Key = tuple[str, str]  # method and data set


def read(key: Any, value: Any) -> tuple[Key, Outcome]:
    return tuple(key), Outcome(*value)


def settings_of(method: str) -> list[dict[str, Any]]:
    """Six, or one for a rule without a number to choose."""
    rule = method.removesuffix(MEAN)
    cls = {**RULES, **FINITE_DATA}[rule]
    defaults, mean = cls._field_defaults, {"average": True} if method.endswith(MEAN) else {}
    common = {"rule": rule, **mean}
    if rule in (*FINITE_DATA, "pegasos"):
        return [{**common, "l2": l2} for l2 in L2]
    eta0 = defaults.get("eta0", 0.05 if rule == "truncated-gradient" else 1.0)
    if "aggressiveness" in defaults:
        return [{**common, "aggressiveness": one} for one in AGGRESSIVENESS]
    if cls.by_margin:
        return [common]
    if "l1" not in defaults:
        return [{**common, "eta0": eta0 * step} for step in STEPS_ALONE]
    return [
        {**common, "eta0": eta0 * step, "l1": defaults["l1"] * strength}
        for step, strength in product(STEPS, STRENGTHS)
    ]


def fitted(setting: dict[str, Any], X: Any, y: Any) -> SparseOnlineClassifier | None:
    passes = {"passes": PASSES_OF_FINITE if setting["rule"] in FINITE_DATA else PASSES}
    try:
        return SparseOnlineClassifier(**setting, **passes).fit(X, y)
    except DivergenceError:
        return None


def score(model: SparseOnlineClassifier | None, X: Any, y: Any, measure: str) -> float:
    if model is None:
        return 0.5
    if measure == AUC:
        return float(roc_auc_score(y, model.decision_function(X)))
    return float(model.score(X, y))


def outcome(method: str, dataset: str) -> Outcome:
    source = SOURCES[dataset]
    made = task(source._replace(most_rows=min(source.most_rows, MOST_ROWS)))
    scores, weights, seconds = [], [], []
    for fold in range(FOLDS):
        X, y, X_test, y_test = made.split(fold)
        n = len(y) * 4 // 5
        order = np.random.default_rng(fold).permutation(len(y))
        first, held_out = order[:n], order[n:]
        settings = settings_of(method)
        judged = [
            score(fitted(one, X[first], y[first]), X[held_out], y[held_out], source.measure)
            for one in settings
        ]
        began = perf_counter()
        model = fitted(settings[int(np.argmax(judged))], X, y)
        seconds.append(perf_counter() - began)
        scores.append(score(model, X_test, y_test, source.measure))
        weights.append(0 if model is None else model.n_nonzero_)
    return Outcome(scores, float(np.mean(weights)), float(np.median(seconds)))


def compared(found: dict[Key, Outcome], method: str, dataset: str) -> Comparison:
    before, after = (np.array(found[one, dataset].scores) for one in (DEFAULT_RULE, method))
    return Comparison(dataset, before, after, FOLDS)


def page(found: dict[Key, Outcome], methods: Sequence[str], datasets: Sequence[str]) -> str:
    best = {d: max(np.mean(found[m, d].scores) for m in methods) for d in datasets}
    lines, better, behind = [], [], {}
    for method in methods:
        cells = []
        for dataset in datasets:
            mean = float(np.mean(found[method, dataset].scores))
            sign = compared(found, method, dataset).sign
            if sign > 0:
                better.append(f"`{method}` on {dataset}")
            mark = "**" if mean == best[dataset] else ""
            cells.append(
                f"{mark}{100.0 * mean:.1f}{mark}{'▲' if sign > 0 else '▼' if sign < 0 else ''}"
            )
        behind[method] = float(
            np.mean([best[d] - np.mean(found[method, d].scores) for d in datasets])
        )
        kept = sum(found[method, d].weights for d in datasets)
        lines.append(
            f"| `{method}` | {' | '.join(cells)} | {100.0 * behind[method]:.1f} | {kept:,.0f} |"
        )
    order = sorted(methods, key=lambda method: behind[method])
    measures = ", ".join(f"{d}: {SOURCES[d].measure}" for d in datasets)
    table = "\n".join(lines)
    return f"""<!-- Written by `python -m experiments.field`; to change it, change experiments/field.py. -->
# The field

Every rule with the same budget: {len(STEPS) * len(STRENGTHS)} settings each, multiples of its own defaults (steps × {STEPS},
l1 × {STRENGTHS}; without l1, steps × {STEPS_ALONE}; `pegasos`, `sag` and `svrg` six l2 from {L2[0]:g} to {L2[-1]:g}; rules with
an aggressiveness six of these from {AGGRESSIVENESS[0]:g} to {AGGRESSIVENESS[-1]:g}; the other rules by margin have nothing to choose), chosen on a held-out fifth of the training rows of each fold. Logistic loss, {PASSES} passes (`sag` and
`svrg` {PASSES_OF_FINITE}), {FOLDS} folds, at most {MOST_ROWS:,} rows of each set, values as they come. Per cent ({measures});
bold: the best; ▲ ▼: better, worse than `{DEFAULT_RULE}` with p < 0.05 in a paired test over folds. "Behind" is the mean
distance from the best of each set, "weights" what all sets keep together. A rule that diverges counts as a coin toss.

| rule | {" | ".join(datasets)} | behind | weights |
|{"---|" * (len(datasets) + 3)}
{table}

Least behind: {", ".join(f"`{m}` ({100.0 * behind[m]:.1f})" for m in order[:5])}; most: {", ".join(f"`{m}` ({100.0 * behind[m]:.1f})" for m in order[-3:])}.
Better than the default somewhere: {", ".join(better) or "none"}.

**Advice.** Raw tables and texts alike: start with `{DEFAULT_RULE}`. If it is not the best for your data, `{next(m for m in order if m.removesuffix(MEAN) != DEFAULT_RULE)}` is
the next to try; rules with one common step ({", ".join(f"`{m}`" for m in ("ogd", "fobos", "rda", "ftprl"))}) need features on one scale.
The sets are few, and small: differences under a point are chance. The scale-free rules were made with a look at several
of these sets, which flatters them.
"""


@click.command()
@click.option("--processes", default=1, show_default=True)
@click.option("--datasets", help="Only these, with semicolons.")
@click.option("--methods", help="Only these, with semicolons.")
@click.option("--known", "only_known", is_flag=True, help="Write what is known, and run nothing.")
def main(processes: int, datasets: str | None, methods: str | None, only_known: bool) -> None:
    """Run what is not known yet, and write the page."""
    sets: Iterable[str] = datasets.split(";") if datasets else DATASETS
    rules: Iterable[str] = methods.split(";") if methods else METHODS
    KEPT.mkdir(parents=True, exist_ok=True)
    records = Records(KEPT / "outcomes.jsonl", read)
    missing = [key for key in product(rules, sets) if key not in records and not only_known]
    with ProcessPoolExecutor(processes) as pool:
        found = pool.map(outcome, *zip(*missing, strict=True)) if missing else []
        for key, one in zip(missing, found, strict=False):
            records.keep({key: one})
            click.echo(f"{key[0]}, {key[1]}: {np.mean(one.scores):.3f}, {one.seconds:.2f} s")
    file = (KEPT if datasets or methods else ROOT / "docs") / "field.md"
    known = [rule for rule in rules if all((rule, one) in records for one in sets)]
    text = page(records, known, list(sets))
    missing_ones = [f"`{rule}`" for rule in rules if rule not in known]
    if missing_ones:
        text += f"\nNot run yet: {', '.join(missing_ones)}.\n"
    file.write_text(text)
    click.echo(file)


if __name__ == "__main__":
    main()
