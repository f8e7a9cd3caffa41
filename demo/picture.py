"""The picture of the demo: accuracy as models get sparser, and which features survive."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from demo.compare import PAIRS, Contestant, PathPoint
from demo.data import Corpus, Numbers

PAIR_COLOURS = ("#0072B2", "#D55E00", "#009E73")  # Okabe and Ito's, safe for colour-blind eyes
RARE_COLOUR, FREQUENT_COLOUR, SMALL_UNIT_COLOUR = "#D55E00", "#0072B2", "#CC79A7"
NOISE_COLOUR, STRIP_COLOUR, GRID_COLOUR = "#AAAAAA", "#F3F3F3", "#EEEEEE"
STYLE: Any = {"font.size": 10, "axes.spines.top": False, "axes.spines.right": False}
SHARES_OF_ZEROS = (0.0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999)
LOWEST_SHARE = 1e-4  # weights below this share of the largest are drawn at this height


def draw(
    paths: Mapping[str, Sequence[PathPoint]],
    plain: Contestant,
    aware: Contestant,
    corpus: Corpus,
    file: Path,
) -> Path:
    """Write the picture as PNG; the two contestants are those whose weights are shown."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(13, 6.6), layout="constrained")
        figure.suptitle(
            f"One pass over {len(corpus.y_train):,} made-up texts: plain L1 against "
            f"feature-aware L1",
            fontsize=14,
        )
        left, right = figure.subfigures(1, 2, width_ratios=(1, 1.05))
        left_axes = left.subplots()
        _draw_paths(left_axes, paths, corpus.n_features)
        left_axes.axvline(aware.model.n_nonzero_, color=NOISE_COLOUR, linewidth=1, linestyle=":")
        at_top = left_axes.get_xaxis_transform()
        left_axes.text(aware.model.n_nonzero_, 1.0, " models at right", transform=at_top, va="top")
        _draw_weights(right, plain, aware, corpus)
        figure.savefig(file, dpi=130, format="png")
    return file


def _draw_paths(axes: Axes, paths: Mapping[str, Sequence[PathPoint]], n_features: int) -> None:
    for colour, pair in zip(PAIR_COLOURS, PAIRS, strict=True):
        for setting, name, line, face in (
            (pair.plain, "plain", "--o", "white"),
            (pair.aware, "feature-aware", "-s", colour),
        ):
            points = [point for point in paths[setting.rule] if point.weights]
            axes.plot(
                [point.weights for point in points],
                [100 * point.test_accuracy for point in points],
                line,
                color=colour,
                markersize=4.5,
                markerfacecolor=face,
                label=f"{setting.rule} ({name})",
            )
    axes.set_xscale("log")
    axes.invert_xaxis()
    axes.xaxis.set_major_locator(FixedLocator([n_features * (1 - s) for s in SHARES_OF_ZEROS]))
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda kept, _: f"{100 * (1 - kept / n_features):.4g}%\n{kept:,.0f}")
    )
    axes.xaxis.set_minor_locator(NullLocator())
    axes.tick_params(axis="x", labelsize=8.5)
    axes.set_xlabel("share of zero weights (below it: weights kept, log scale); sparser →")
    axes.set_ylabel("test accuracy, %")
    axes.set_title("Test accuracy as l1 grows")
    axes.grid(color=GRID_COLOUR)
    axes.legend(frameon=False, loc="lower left")


def _draw_weights(panel: SubFigure, plain: Contestant, aware: Contestant, corpus: Corpus) -> None:
    """Weight against frequency, for a plain rule above its feature-aware version."""
    both_axes = panel.subplots(2, 1, sharex=True, sharey=True)
    both_weights = [np.abs(contestant.model.coef_[0]) for contestant in (plain, aware)]
    floor = LOWEST_SHARE * max(weights.max() for weights in both_weights) or 1.0
    for axes, weights in zip(both_axes, both_weights, strict=True):
        _scatter(axes, weights, corpus, floor)
    both_axes[0].set_title(_survivors(plain, "plain", corpus), fontsize=11)
    both_axes[1].set_title(_survivors(aware, "feature-aware", corpus), fontsize=11)
    both_axes[1].set_xlabel("share of rows in which the feature occurs (log scale)")
    panel.legend(
        *both_axes[0].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=4,
        frameon=False,
        markerscale=1.5,
        handletextpad=0.1,
        columnspacing=1.2,
    )


def _survivors(contestant: Contestant, kind: str, corpus: Corpus) -> str:
    return (
        f"{contestant.setting.rule}, {kind}: keeps {contestant.kept(corpus.rare):,} rare, "
        f"{contestant.kept(corpus.small_unit)} small-unit, "
        f"{contestant.kept(corpus.frequent)} frequent"
    )


def _scatter(axes: Axes, weights: Numbers, corpus: Corpus, floor: float) -> None:
    """Kept features at their weight, dropped ones in a strip below the floor."""
    frequency = corpus.frequency
    scatter_in_strip = np.random.default_rng(0).uniform(-0.9, -0.3, len(weights))
    heights = np.where(weights > 0.0, np.maximum(weights, floor), floor * 10.0**scatter_in_strip)
    noise = np.flatnonzero((corpus.lean == 0.0) & (weights > 0.0))
    for name, words, colour, marker, size in (
        ("noise", noise, NOISE_COLOUR, "o", 4),
        ("rare informative", corpus.rare, RARE_COLOUR, "o", 8),
        ("frequent informative", corpus.frequent, FREQUENT_COLOUR, "s", 22),
        ("small-unit informative", corpus.small_unit, SMALL_UNIT_COLOUR, "^", 28),
    ):
        x, y = frequency[words], heights[words]
        axes.scatter(x, y, size, colour, marker=marker, label=name, linewidth=0, alpha=0.8)
    axes.set(xscale="log", yscale="log", ylabel="|weight| (log scale)")
    axes.yaxis.set_major_formatter(
        FuncFormatter(lambda weight, _: f"{weight:.1g}" if weight >= floor else "")
    )
    axes.axhspan(floor * 10**-1.05, floor * 10**-0.15, color=STRIP_COLOUR, zorder=0)
    axes.text(
        0.01,
        floor * 10**-0.6,
        "dropped (weight 0)",
        va="center",
        transform=axes.get_yaxis_transform(),
    )
