"""The picture of the demo: accuracy as models get sparser, and which features survive."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from demo.compare import DEFAULT, PAIRS, Contestant, PathPoint, Setting
from demo.data import Corpus, Indices, Numbers

PAIR_COLOURS = ("#0072B2", "#D55E00", "#009E73")  # Okabe and Ito's, safe for colour-blind eyes
DEFAULT_COLOUR = "#000000"
RARE_COLOUR, FREQUENT_COLOUR, SMALL_UNIT_COLOUR = "#D55E00", "#0072B2", "#CC79A7"
NOISE_COLOUR, STRIP_COLOUR, GRID_COLOUR = "#BBBBBB", "#F3F3F3", "#EEEEEE"
STYLE: Any = {"font.size": 10, "axes.spines.top": False, "axes.spines.right": False}
WEIGHTS_KEPT = (50_000, 20_000, 10_000, 5_000, 2_500, 1_000, 500, 250, 100, 50)
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
            f"One pass over {len(corpus.y_train):,} synthetic texts: plain rules, feature-aware "
            f"rules, and the default",
            fontsize=14,
        )
        left, right = figure.subfigures(1, 2, width_ratios=(1, 1.05))
        left_axes = left.subplots()
        _draw_paths(left_axes, paths, corpus.n_features)
        left_axes.axvline(aware.model.n_nonzero_, color=NOISE_COLOUR, linewidth=1, linestyle=":")
        at_top = left_axes.get_xaxis_transform()
        left_axes.text(
            aware.model.n_nonzero_, 1.0, " models on the right", transform=at_top, va="bottom"
        )
        _draw_weights(right, plain, aware, corpus)
        figure.savefig(file, dpi=130, format="png")
    return file


def _draw_paths(axes: Axes, paths: Mapping[str, Sequence[PathPoint]], n_features: int) -> None:
    def line(setting: Setting, kind: str, style: str, **how: Any) -> None:
        points = [point for point in paths[setting.rule] if point.weights]
        axes.plot(
            [point.weights for point in points],
            [100 * point.test_accuracy for point in points],
            style,
            markersize=4.5,
            label=f"{setting.rule} ({kind})",
            **how,
        )

    line(DEFAULT, "the default", "-D", color=DEFAULT_COLOUR, linewidth=2.2)
    for colour, pair in zip(PAIR_COLOURS, PAIRS, strict=True):
        line(pair.aware, "feature-aware", "-s", color=colour)
        line(pair.plain, "plain", "--o", color=colour, markerfacecolor="white")
    axes.set_xscale("log")
    axes.invert_xaxis()
    axes.xaxis.set_major_locator(FixedLocator(WEIGHTS_KEPT))
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda kept, _: f"{kept:,.0f}\n{100 * (1 - kept / n_features):.4g} %")
    )
    axes.xaxis.set_minor_locator(NullLocator())
    axes.tick_params(axis="x", labelsize=8.5)
    axes.set_xlabel("weights kept, and share of zeros (larger l1, sparser →)")
    axes.set_ylabel("test accuracy, %")
    axes.set_title("Accuracy against model size", loc="left")
    axes.grid(color=GRID_COLOUR)
    axes.legend(frameon=False, loc="lower left")


def _draw_weights(panel: SubFigure, plain: Contestant, aware: Contestant, corpus: Corpus) -> None:
    """Weight against frequency, for two rules one above the other."""
    both_axes = panel.subplots(2, 1, sharex=True, sharey=True)
    both_weights = [
        corpus.unit * np.abs(contestant.model.coef_[0]) for contestant in (plain, aware)
    ]
    floor = LOWEST_SHARE * max(weights.max() for weights in both_weights) or 1.0
    for axes, weights in zip(both_axes, both_weights, strict=True):
        _scatter(axes, weights, corpus, floor)
    both_axes[0].set_title(_survivors(plain, corpus), fontsize=10.5, loc="left")
    both_axes[1].set_title(_survivors(aware, corpus), fontsize=10.5, loc="left")
    both_axes[1].set_xlabel("share of texts that contain the word")
    panel.legend(
        *both_axes[0].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=4,
        frameon=False,
        markerscale=1.5,
        handletextpad=0.1,
        columnspacing=1.2,
    )


def _survivors(contestant: Contestant, corpus: Corpus) -> str:
    def share(words: Indices) -> str:
        return f"{contestant.kept(words):,} of {len(words):,}"

    return (
        f"{contestant.setting.rule} keeps: {share(corpus.rare)} rare, "
        f"{share(corpus.frequent)} frequent, {share(corpus.small_unit)} small-unit"
    )


def _scatter(axes: Axes, weights: Numbers, corpus: Corpus, floor: float) -> None:
    """Kept features at their weight, dropped ones in a strip below the floor."""
    frequency = corpus.frequency
    scatter_in_strip = np.random.default_rng(0).uniform(-0.9, -0.3, len(weights))
    heights = np.where(weights > 0.0, np.maximum(weights, floor), floor * 10.0**scatter_in_strip)
    noise = np.flatnonzero((corpus.lean == 0.0) & (weights > 0.0))
    for name, words, colour, marker, size in (
        ("noise", noise, NOISE_COLOUR, "o", 4),
        ("rare", corpus.rare, RARE_COLOUR, "o", 8),
        ("frequent", corpus.frequent, FREQUENT_COLOUR, "s", 22),
        ("small unit", corpus.small_unit, SMALL_UNIT_COLOUR, "^", 28),
    ):
        x, y = frequency[words], heights[words]
        axes.scatter(x, y, size, colour, marker=marker, label=name, linewidth=0, alpha=0.8)
    axes.set(xscale="log", yscale="log", ylabel="|weight| of one occurrence", xlim=(1e-5, 1.0))
    axes.yaxis.set_major_formatter(
        FuncFormatter(lambda weight, _: f"{weight:.1g}" if weight >= floor else "")
    )
    axes.yaxis.set_minor_locator(NullLocator())
    axes.axhspan(floor * 10**-1.05, floor * 10**-0.15, color=STRIP_COLOUR, zorder=0)
    axes.text(
        0.01,
        floor * 10**-0.6,
        "dropped (weight 0)",
        va="center",
        transform=axes.get_yaxis_transform(),
    )
