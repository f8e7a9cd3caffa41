"""The pictures of docs/results/cluster.md."""

from collections.abc import Mapping
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from experiments.drawing import BLUE, GREEN, GREY, ORANGE, STYLE, save

COLOURS = (BLUE, ORANGE, GREEN)
BILLION = 10**9  # rows


def draw_times(times: Mapping[str, Mapping[int, Mapping[int, float]]], file: Path) -> None:
    """How many times as fast as one core, by workers."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5, 3), layout="constrained")
        axes = figure.subplots()
        for colour, (name, of) in zip(COLOURS, times.items(), strict=True):
            workers, hours = zip(*of[BILLION].items(), strict=True)
            gains = [hours[0] / one for one in hours]
            axes.loglog(workers, gains, color=colour, marker=".", label=name)
        ideal = [1, max(gains)]
        axes.loglog(ideal, ideal, color=GREY, linestyle=":")
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        axes.set_xlabel("workers")
        axes.set_ylabel("times as fast as one core")
        axes.legend(title="data")
        save(figure, file)


def draw_losses(losses: dict[int, list[dict[int, float]]], file: Path) -> None:
    """How much higher the log-loss is than that of the model without shards, by rows."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5, 3), layout="constrained")
        axes = figure.subplots()
        for colour, k in zip(COLOURS, (2, 16, 128), strict=True):
            gaps = np.array([[one[k] - one[1] for one in of] for of in losses.values()])
            error = gaps.std(axis=1, ddof=1) / np.sqrt(gaps.shape[1])
            axes.errorbar(
                list(losses), gaps.mean(axis=1), error, color=colour, marker=".", label=f"{k}"
            )
        axes.set_xscale("log", base=2)
        axes.axhline(0.0, color=GREY, linewidth=0.5)
        axes.set_xlabel("rows")
        axes.set_ylabel("log-loss above that without shards")
        axes.legend(title="shards")
        save(figure, file)
