"""The pictures of the page."""

import math
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.drawing import BLUE, GREEN, GREY, ORANGE, PINK, STYLE, save
from experiments.reproduction.gravity import BATCH, PERIODS, Trades, rounding, truncated
from experiments.reproduction.methods import (
    ALL_P,
    COMID,
    FTPRL,
    RDA,
    fr_comid,
    frda,
    ftpfrl,
    number,
    sgft,
)
from experiments.reproduction.names import Kept
from experiments.reproduction.study import Study
from rarefy.rules.penalty_norm import Intensity, norm_for

INF = math.inf
LINES = {  # of the rules in the picture of paths
    COMID: (BLUE, "--"),
    fr_comid(INF): (BLUE, "-"),
    RDA: (ORANGE, "--"),
    frda(INF): (ORANGE, "-"),
    FTPRL: (GREEN, "--"),
    ftpfrl(INF): (GREEN, "-"),
    sgft(2.0): (PINK, "-"),
}
MODEL_COLOURS = {RDA: BLUE, frda(INF): ORANGE, frda(2.0): GREEN}
WAY_LINES = {
    truncated(PERIODS[0]): (ORANGE, ":"),
    truncated(PERIODS[1]): (ORANGE, "-"),
    rounding(PERIODS[0]): (BLUE, ":"),
    rounding(PERIODS[1]): (BLUE, "-"),
    BATCH: (GREY, "--"),
}
OCCURRENCES = 100
COLUMNS = 4


def intensities(q: float, n: int) -> list[float]:
    """r after each of n subgradients of size 1 (T4.4), as the library computes it."""
    intensity, r = Intensity(norm_for(q)), 0.0
    found = []
    for _ in range(n):
        r = intensity.grow(r, 1.0, 1.0, 1.0)
        found.append(r)
    return found


def draw_intensity(file: Path) -> None:
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.5, 3.6), layout="constrained")
        axes = figure.subplots()
        for q, colour in zip(ALL_P, (ORANGE, BLUE, GREEN, GREY), strict=True):
            r = intensities(q, OCCURRENCES)
            axes.plot(range(1, OCCURRENCES + 1), r, color=colour, label=f"q = {number(q)}")
        axes.set_ylim(0, 20)
        axes.set_xlabel("updates of the feature, each by a subgradient of 1")
        axes.set_ylabel("r, by which its penalty is multiplied")
        axes.legend()
        save(figure, file)


def panels(figure: Figure, n: int) -> list[Axes]:
    """So many panels, in rows; the rest of the last row stays empty."""
    columns = min(n, COLUMNS)
    grid = list(figure.subplots(math.ceil(n / columns), columns, squeeze=False).ravel())
    for unused in grid[n:]:
        unused.set_axis_off()
    return grid[:n]


def draw_paths(study: Study, datasets: Sequence[str], file: Path) -> None:
    rows = math.ceil(len(datasets) / COLUMNS)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(12, 3.4 * rows + 0.6), layout="constrained")
        shown = panels(figure, len(datasets))
        for axes, dataset in zip(shown, datasets, strict=True):
            for method, (colour, line) in LINES.items():
                if method in study.methods(dataset):
                    path = study.path(study.case(dataset, method)).values()
                    means = [(100 * at.zeros.mean(), 100 * at.accuracy.mean()) for at in path]
                    axes.plot(
                        *np.transpose(means), line, marker="o", markersize=3, color=colour,
                        label=method,
                    )  # fmt: skip
            axes.set_title(dataset)
            axes.set_xlabel("zeros, %")
            top = axes.get_ylim()[1]
            axes.set_ylim(max(axes.get_ylim()[0], top - 20), top)
        shown[0].set_ylabel("accuracy, %")
        figure.legend(
            *shown[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(LINES)
        )
        save(figure, file)


def draw_rare(kept: Kept, file: Path) -> None:
    """Weights against occurrences, and the share of features that is kept of those so frequent."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(13, 3.6), layout="constrained")
        *shown, last = figure.subplots(1, len(MODEL_COLOURS) + 1)
        largest = max(np.abs(model.weights).max() for model in kept.models.values())
        edges = 2 ** np.arange(int(np.log2(kept.rows.max())) + 2)
        every, _ = np.histogram(kept.rows, edges)
        for axes, (method, colour) in zip(shown, MODEL_COLOURS.items(), strict=True):
            model = kept.models[method]
            is_kept = model.weights != 0.0
            axes.scatter(
                kept.rows[is_kept], np.abs(model.weights[is_kept]), s=3, alpha=0.3, linewidths=0,
                color=colour, rasterized=True,
            )  # fmt: skip
            axes.set_title(f"{method}: {model.n_kept:,} weights")
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.set_ylim(largest / 1e4, 2 * largest)
            axes.set_xlabel("reviews with the feature")
            those, _ = np.histogram(kept.rows[is_kept], edges)
            share = 100 * those / np.maximum(every, 1)
            last.plot(edges[:-1], share, "-o", markersize=3, color=colour, label=method)
        shown[0].set_ylabel("size of the weight")
        last.set_xscale("log")
        last.set_xlabel("reviews with the feature")
        last.set_title("share of such features kept, %")
        last.legend()
        save(figure, file)


def draw_gravity(trades: Trades, file: Path) -> None:
    rows = math.ceil(len(trades.datasets) / COLUMNS)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(12, 2.6 * rows + 0.6), layout="constrained")
        shown = panels(figure, len(trades.datasets))
        for axes, dataset in zip(shown, trades.datasets, strict=True):
            for way, (colour, line) in WAY_LINES.items():
                scores, share = trades.means(dataset, way)
                axes.plot(100 * share, 100 * scores, line, color=colour, label=way)
            axes.set_title(f"{dataset}, {trades.n_features(dataset)} features")
        for axes in shown[-COLUMNS:]:
            axes.set_xlabel("features kept, %")
        shown[0].set_ylabel("accuracy or R², %")
        figure.legend(*shown[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
        save(figure, file)
