"""The pictures of docs/results/cluster.md."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from experiments.cluster.simulation import Cluster, Costs, Sparsity, seconds
from experiments.drawing import BLUE, GREEN, GREY, ORANGE, STYLE, save

WORKERS = np.array([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024])
ROUNDS = {
    1 << 16: (BLUE, "of 2¹⁶, as they are"),
    1 << 20: (ORANGE, "of 2²⁰"),
    1 << 23: (GREEN, "of 2²³"),
}
N_ROWS = 1e9


def draw_times(sparsities: list[Sparsity], costs: Costs, file: Path) -> None:
    """How many times as fast as one core, by workers and size of rounds."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9, 3), layout="constrained")
        panels = figure.subplots(1, len(sparsities), sharey=True, squeeze=False)[0]
        for axes, data in zip(panels, sparsities, strict=True):
            alone = seconds(data, costs, Cluster(1), N_ROWS)
            axes.loglog(WORKERS, WORKERS, color=GREY, linestyle=":", base=2)
            for most, (colour, label) in ROUNDS.items():
                found = [
                    alone / seconds(data, costs, Cluster(int(k), most_examples=most), N_ROWS)
                    for k in WORKERS
                ]
                axes.loglog(WORKERS, found, color=colour, marker=".", base=2, label=label)
            axes.set_title(data.name)
            axes.set_xlabel("workers")
        panels[0].set_ylabel("times as fast as one core")
        panels[-1].legend(title="rounds")
        save(figure, file)


def draw_losses(losses: dict[int, list[dict[int, float]]], file: Path) -> None:
    """How much higher the log-loss is than that of the model without shards, by rows."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5, 3), layout="constrained")
        axes = figure.subplots()
        for colour, k in zip((BLUE, ORANGE, GREEN), (2, 16, 128), strict=True):
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
