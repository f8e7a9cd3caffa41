"""The tables of the page."""

from collections.abc import Iterable
from itertools import product

import numpy as np

from benchmarks.tables import markdown_table
from experiments.comparison import HIGHER, LOWER, Comparison, Floats, Tally
from experiments.endowment.data import SOURCES, load
from experiments.endowment.learning import Setting
from experiments.endowment.plan import AS_PRINTED, AWARE, OGD
from experiments.endowment.published import REPLACED, Table
from experiments.endowment.study import (
    SPARSE_GAMMA,
    Measure,
    Study,
    accuracy,
    confidence,
    cumulative,
    divestiture,
    expected,
    test_flips,
    training_flips,
    zeros,
)
from experiments.endowment.verdicts import Claim

MEASURES = {
    "expected": lambda gamma, share: expected(share),
    "divestiture": divestiture,
    "cumulative": cumulative,
}


def mean_and_error(values: Floats, unit: float) -> str:
    error = values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean() / unit:.2f} ± {error / unit:.2f}"


def both(comparison: Comparison, unit: float = 0.01) -> tuple[str, str]:
    """Endowed first, as in the thesis; the lower one is bold where it can be told."""
    after, before = (mean_and_error(v, unit) for v in (comparison.after, comparison.before))
    if comparison.sign == LOWER:
        after = f"**{after}**"
    elif comparison.sign == HIGHER:
        before = f"**{before}**"
    return after, before


def percent(comparison: Comparison) -> str:
    """The relative change; bold where it can be told from none."""
    text = f"{100 * comparison.change:+.1f}"
    return f"**{text}**" if comparison.sign else text


def data_table(names: Iterable[str]) -> str:
    rows = []
    for name in names:
        X = load(name).X
        rows.append([name, SOURCES[name].title, f"{X.shape[0]:,}", f"{X.shape[1]:,}",
                     f"{X.nnz / X.shape[0]:.0f}"])  # fmt: skip
    return markdown_table(["", "what it is", "rows", "features", "non-zeros a row"], rows)


def loss_table(study: Study, template: Setting, shares: tuple[float, ...]) -> str:
    """Like the thesis's tables 5.3 and 5.4, for γ = 1."""
    header = ["", "loss", *(f"{m}, ρ = {share:g}" for share in shares for m in ("E-OGD", "OGD"))]
    rows = []
    for dataset, (kind, measure) in product(study.plan.datasets, MEASURES.items()):
        found = study.comparisons([dataset], template, 1.0, shares, measure)
        rows.append([dataset, kind, *(cell for c in found for cell in both(c))])
    return markdown_table(header, rows)


def side_by_side(study: Study, template: Setting, published: Table) -> str:
    """What was published and what was found, and E-OGD's loss relative to OGD's in both."""
    header = ["", "loss", "r", "thesis: E-OGD", "OGD", "change, %",
              "here, ρ = 1 − r: E-OGD", "OGD", "change, %", "here, ρ = r: change, %"]  # fmt: skip
    rows = []
    for dataset, (kind, measure) in product(study.plan.datasets, MEASURES.items()):
        if dataset not in published:
            continue
        losses = published[dataset][kind]
        for r, endowed, without in zip(REPLACED, *losses, strict=True):
            stayed = AS_PRINTED[REPLACED.index(r)]
            printed, written = study.comparisons([dataset], template, 1.0, (stayed, r), measure)
            rows.append(
                [dataset, kind, f"{r:g}", f"{100 * endowed:.2f}", f"{100 * without:.2f}",
                 f"{100 * (endowed / without - 1):+.1f}", *both(printed), percent(printed),
                 percent(written)]
            )  # fmt: skip
    return markdown_table(header, rows)


def gamma_table(study: Study, share: float) -> str:
    """The change of the cumulative loss by an endowment, for every loss and update."""
    gammas = study.plan.gammas
    rows = []
    for template, dataset in product(study.plan.templates, study.plan.datasets):
        found = [
            study.comparisons([dataset], template, gamma, (share,), cumulative)[0]
            for gamma in gammas
        ]
        rows.append([f"{template.loss}, {template.importance}", dataset, *map(percent, found)])
    return markdown_table(["", "", *(f"γ = {gamma:g}" for gamma in gammas)], rows)


def best_gamma(study: Study, dataset: str, template: Setting, gamma: float, share: float) -> float:
    """The γ to learn with so that the cumulative loss for another γ is least."""

    def loss(own: float) -> float:
        setting = study.chosen(dataset, template._replace(gamma=own), gamma, share)
        return study.tuned_mean(dataset, setting, cumulative(gamma, share))

    return min((0.0, *study.plan.gammas), key=loss)


def best_gamma_table(study: Study, share: float) -> str:
    gammas = study.plan.gammas
    rows = []
    for dataset in study.plan.datasets:
        cells = [
            " / ".join(f"{best_gamma(study, dataset, t, gamma, share):g}" for t in (OGD, AWARE))
            for gamma in gammas
        ]
        rows.append([dataset, *cells])
    return markdown_table(["", *(f"γ = {gamma:g}" for gamma in gammas)], rows)


def step_table(study: Study) -> str:
    """The η that were chosen for tables 5.3 and 5.4."""
    shares = (0.3, 0.95)
    methods = ("OGD", "E-OGD", "aware OGD", "aware E-OGD")
    header = ["", *(f"{method}, ρ = {share:g}" for share in shares for method in methods)]
    rows = [
        [dataset]
        + [
            f"{setting.eta:.3g}"
            for share in shares
            for template in (OGD, AWARE)
            for setting in study.pair(dataset, template, 1.0, share)
        ]
        for dataset in study.plan.datasets
    ]
    return markdown_table(header, rows)


FLIP_MEASURES: dict[str, tuple[Measure, int | None]] = {  # and which sign is better, if one is
    "accuracy, %": (accuracy, HIGHER),
    "confidence, %": (confidence, None),
    "training flips, %": (training_flips, LOWER),
    "test flips, %": (test_flips, LOWER),
    "expected loss, 10⁻²": (expected(0.05), LOWER),
}


def flip_table(study: Study, template: Setting) -> str:
    """Means over the data sets as γ grows and η stays, and as η is shortened instead."""
    datasets = study.plan.datasets
    ways: dict[str, list[Setting]] = {
        f"γ = {gamma:g}": [study.usual(d, template)._replace(gamma=gamma) for d in datasets]
        for gamma in (0.0, *study.plan.gammas)
    }
    ways["η / 2"] = [study.shortened(d, template, 1) for d in datasets]
    ways["η / 4"] = [study.shortened(d, template, 2) for d in datasets]
    rows = []
    for name, settings in ways.items():
        cells = []
        for measure, wanted in FLIP_MEASURES.values():
            found = [
                study.compare(dataset, study.usual(dataset, template), setting, measure)
                for dataset, setting in zip(datasets, settings, strict=True)
            ]
            mean = np.mean([c.after.mean() for c in found])
            cell = f"{100 * mean:.2f}"
            if wanted is not None and name != "γ = 0":
                cell += f" ({Tally(wanted, found).counts})"
            cells.append(cell)
        rows.append([name, *cells])
    return markdown_table(["", *FLIP_MEASURES], rows)


def hindsight_table(study: Study) -> str:
    """The change of the cumulative loss where η was chosen, and on other splits of the data."""
    cases = list(product((OGD, AWARE), (0.3, 0.95)))
    rows = []
    for dataset in study.plan.datasets:
        cells = []
        for template, share in cases:
            pair, loss = study.pair(dataset, template, 1.0, share), cumulative(1.0, share)
            without, endowed = (study.tuned_mean(dataset, setting, loss) for setting in pair)
            fresh = study.compare(dataset, *pair, loss)
            cells.append(f"{100 * (endowed / without - 1):+.1f} / {percent(fresh)}")
        rows.append([dataset, *cells])
    names = [f"{template.importance}, ρ = {share:g}" for template, share in cases]
    return markdown_table(["", *names], rows)


def sparse_table(study: Study, share: float) -> str:
    measures: dict[str, tuple[Measure, float]] = {
        "accuracy, %": (accuracy, 0.01),
        "expected, 10⁻²": (expected(share), 0.01),
        "divestiture, 10⁻²": (divestiture(SPARSE_GAMMA, share), 0.01),
        "cumulative, 10⁻²": (cumulative(SPARSE_GAMMA, share), 0.01),
        "zeros, %": (zeros, 0.01),
    }
    rows = []
    for dataset, template in product(study.plan.sparse_datasets, study.sparse_templates()):
        pair = study.pair(dataset, template, SPARSE_GAMMA, share)
        for name, setting in zip(("0", f"{SPARSE_GAMMA:g}"), pair, strict=True):
            values = [
                mean_and_error(study.values(dataset, setting, measure), unit)
                for measure, unit in measures.values()
            ]
            steps = (f"{setting.eta:.3g}", f"{setting.l1:.1e}")
            rows.append([dataset, template.rule, name, *steps, *values])
    return markdown_table(["", "rule", "γ", "η", "l1", *measures], rows)


def claims_table(claims: list[Claim]) -> str:
    header = ["the thesis says", "ρ = r", "verdict", "ρ = 1 − r", "verdict"]
    rows = [
        [text, written.summary, written.verdict, printed.summary, printed.verdict]
        for text, written, printed in claims
    ]
    return markdown_table(header, rows)


def own_claims_table(claims: list[tuple[str, Tally]]) -> str:
    rows = [[text, tally.summary, tally.verdict] for text, tally in claims]
    return markdown_table(["claim", "comparisons", "verdict"], rows)
