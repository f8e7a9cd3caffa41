"""The tables of the page."""

from collections.abc import Callable, Sequence
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.tables import markdown_table
from experiments.reproduction.checks import SHARES, Check
from experiments.reproduction.claims import Claim
from experiments.reproduction.data import SOURCES, load
from experiments.reproduction.defaults import Defaults, Judged
from experiments.reproduction.gravity import WAYS, Trades
from experiments.reproduction.methods import METHODS, PAIRS, RDA
from experiments.reproduction.names import Kept
from experiments.reproduction.plan import TARGET_ZEROS
from experiments.reproduction.published import (
    KEPT_BY_FRDA,
    KEPT_BY_RDA,
    SIZES,
    PublishedTable,
)
from experiments.reproduction.runs import l1_of
from experiments.reproduction.study import (
    CHOICES,
    L1Path,
    Point,
    Study,
    best,
    best_sparse,
    zeros_among_best,
)
from rarefy.sweeping.folds import fold_numbers

LISTED = 15  # features, by name


def percent(value: float) -> str:
    return f"{100 * value:.1f}"


def accuracy_and_zeros(point: Point) -> str:
    return f"{percent(point.accuracy.mean())} ({percent(point.zeros.mean())})"


def claims_table(claims: Sequence[Claim]) -> str:
    header = ["", "claim", "l1 chosen for", "for / cannot be told / against", "points", "p",
              "verdict"]  # fmt: skip
    rows = []
    for source, text, findings, _ in claims:
        for k, (choice, finding) in enumerate(findings.items()):
            rows.append(
                ["" if k else source, "" if k else text, choice, finding.counts, finding.points,
                 finding.p_values, finding.verdict]
            )  # fmt: skip
    return markdown_table(header, rows)


def checks_table(checks: Sequence[Check]) -> str:
    return markdown_table(["", "claim", "found", "verdict"], checks)


def data_table(study: Study) -> str:
    rows = []
    for name in study.plan.datasets:
        source = SOURCES[name]
        X, y = load(name, 0, study.plan.n_rows)
        published_rows, published_features = SIZES[source.published_as]
        rows.append(
            [name, source.title, f"{y.max() + 1}", f"{X.shape[0]:,}", f"{X.shape[1]:,}",
             f"{X.nnz / X.shape[0]:.0f}", f"{unseen(X, y, study.plan.protocol.folds):.0%}",
             study.plan.shuffles[name], source.published_as,
             f"{published_rows:,}", f"{published_features:,}"]
        )  # fmt: skip
    header = ["", "what it is", "classes", "rows", "features", "non-zeros a row", "unseen",
              "shuffles", "papers' set", "rows", "features"]  # fmt: skip
    return markdown_table(header, rows)


def unseen(X: sparse.csr_array, y: NDArray[np.int64], n_folds: int) -> float:
    """The share of the features that do not occur in the training rows, a mean over folds."""
    folds = fold_numbers(n_folds, y, is_regression=False, seed=0)
    seen = [len(np.unique(X[folds != fold].indices)) for fold in range(n_folds)]
    return float(1.0 - np.mean(seen) / X.shape[1])


def against_published(study: Study, table: PublishedTable) -> str:
    """Published and own figures side by side."""
    header = ["", "", "published", "here", "difference", f"here, ≥ {TARGET_ZEROS:.0%} zeros"]
    rows = []
    for dataset in study.plan.datasets:
        figures = table.figures.get(SOURCES[dataset].published_as, {})
        for method in table.methods:
            if method not in figures or method not in study.methods(dataset):
                continue
            accuracy, zeros, deviation = figures[method]
            case = study.case(dataset, method)
            own = study.chosen(case, best)
            spread = "" if deviation is None else f" ± {deviation:.1f}"
            rows.append(
                [dataset, method, f"{accuracy:.1f}{spread} ({zeros:.1f})",
                 f"{percent(own.accuracy.mean())} ± {percent(own.accuracy.std(ddof=1))} "
                 f"({percent(own.zeros.mean())})",
                 f"{100 * own.accuracy.mean() - accuracy:+.1f} "
                 f"({100 * own.zeros.mean() - zeros:+.1f})",
                 accuracy_and_zeros(study.chosen(case, best_sparse))]
            )  # fmt: skip
    return markdown_table(header, rows)


def all_methods_table(study: Study) -> str:
    """Accuracy and zeros of every rule on every data set, l1 chosen for accuracy."""
    return by_method_table(
        study, study.plan.datasets, lambda path: accuracy_and_zeros(path[best(path)])
    )


def open_table(study: Study) -> str:
    """Every reading of the protocol: accuracies and zeros, l1 chosen for accuracy."""
    rows = [
        [name, *(accuracy_and_zeros(study.chosen(case, best)) for case in cases.values())]
        for name, cases in study.readings().items()
    ]
    return markdown_table(["", *study.plan.open_methods], rows)


def open_differences_table(study: Study) -> str:
    """The same: what a rule has over a plain one, for both choices of l1."""
    pairs = [pair for pair in PAIRS if set(pair) <= set(study.plan.open_methods)]
    rows = []
    for name, cases in study.readings().items():
        cells = []
        for before, after in pairs:
            found = [
                study.compare_cases(cases[before], cases[after], "accuracy", choose)
                for choose in CHOICES.values()
            ]
            texts = (f"{100 * c.difference:+.1f}" for c in found)
            marked = (f"**{t}**" if c.sign else t for t, c in zip(texts, found, strict=True))
            cells.append(" / ".join(marked))
        rows.append([name, *cells])
    return markdown_table(["", *(f"{after} − {before}" for before, after in pairs)], rows)


def zeros_table(study: Study) -> str:
    """Between which shares of zeros accuracy is the same, to a standard error."""
    return by_method_table(
        study,
        study.plan.datasets,
        lambda path: "–".join(f"{100 * zeros:.0f}" for zeros in zeros_among_best(path)),
    )


def by_method_table(study: Study, datasets: Sequence[str], cell: Callable[[L1Path], str]) -> str:
    """A cell made of the path of each rule on each data set."""
    rows = []
    for method in METHODS:
        cells = [
            cell(study.path(study.case(dataset, method)))
            if method in study.methods(dataset)
            else ""
            for dataset in datasets
        ]
        if any(cells):
            rows.append([method, *cells])
    return markdown_table(["", *datasets], rows)


def l1_table(study: Study, datasets: Sequence[str]) -> str:
    """The l1 that were chosen: for accuracy / among models with enough zeros."""
    return by_method_table(
        study,
        datasets,
        lambda path: " / ".join(f"{l1_of(choose(path)):.1e}" for choose in CHOICES.values()),
    )


def names_table(kept: Kept, aware: str) -> str:
    def cells(mine: str, other: str) -> list[str]:
        return [
            f'"{name}" ({rows:,}), {weight:+.2f} ({other_weight:+.2f})'
            for name, rows, weight, other_weight in kept.stronger(mine, other)[:LISTED]
        ]

    rows = list(zip_longest(cells(aware, RDA), cells(RDA, aware), fillvalue=""))
    return markdown_table([f"{aware}, not RDA", f"RDA, not {aware}"], rows)


def published_names_table(kept: Kept) -> str:
    numbers = {name.replace("_", " "): k for k, name in enumerate(kept.names)}
    rows = []
    for keeper, phrases in (("FRDA", KEPT_BY_FRDA), ("RDA", KEPT_BY_RDA)):
        for phrase, count in phrases.items():
            cells = ["does not occur", *("" for _ in kept.models)]
            if phrase in numbers:
                k = numbers[phrase]
                weights = (f"{model.weights[k]:+.3f}" for model in kept.models.values())
                cells = [f"{kept.rows[k]:,}", *weights]
            rows.append([f'"{phrase}"', keeper, f"{count:,}", *cells])
    header = ["feature", "kept by, T4.8", "count, T4.8", "reviews here", *kept.models]
    return markdown_table(header, rows)


def gravity_table(trades: Trades) -> str:
    """Scores with at most so many features, for each way."""
    header = ["", "features", *(f"{way}, {share:.0%}" for share in SHARES for way in WAYS)]
    rows = [
        [dataset, trades.n_features(dataset)]
        + [
            percent(trades.with_at_most(dataset, way, share).mean())
            for share in SHARES
            for way in WAYS
        ]
        for dataset in trades.datasets
    ]
    return markdown_table(header, rows)


def fewest_table(trades: Trades, losses: Sequence[float]) -> str:
    """The share of features that is enough to be within some points of the best."""
    header = ["", *(f"{way}, −{100 * loss:g}" for loss in losses for way in WAYS)]
    rows = [
        [dataset] + [f"{trades.fewest(dataset, way, loss):.0%}" for loss in losses for way in WAYS]
        for dataset in trades.datasets
    ]
    return markdown_table(header, rows)


def defaults_table(study: Study, defaults: Defaults) -> str:
    choices = ("least behind", f"with ≥ {TARGET_ZEROS:.0%} zeros", "library's default")
    header = ["", *(name for choice in choices for name in (choice, "behind (most)", "zeros"))]

    def cells(judged: Judged | None) -> list[str]:
        if judged is None:
            return ["none", "", ""]
        (_, eta0, step), behind, most, zeros = judged
        return [f"eta0 = {eta0:g}, l1 = {l1_of(step):.1e}", f"{behind:.1f} ({most:.1f})",
                percent(zeros)]  # fmt: skip

    rows = [
        [method, *cells(defaults.best(method)), *cells(defaults.best(method, TARGET_ZEROS)),
         *cells(defaults.present(method))]
        for method in study.plan.default_methods
    ]  # fmt: skip
    return markdown_table(header, rows)
