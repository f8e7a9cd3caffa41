"""A picture for every data set: accuracy against the weights that are kept."""

from pathlib import Path

import matplotlib as mpl
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from experiments.peers.frontier import frontier
from experiments.peers.methods import METHODS
from experiments.peers.plan import OURS, OURS_WIDE
from experiments.peers.work import Outcomes

BOLD = {OURS: "black", OURS_WIDE: "gray"}


def draw(dataset: str, outcomes: Outcomes, file: Path) -> None:
    figure = Figure(figsize=(8.0, 4.8), layout="constrained")
    FigureCanvasSVG(figure)
    axes = figure.add_subplot()
    names = [method for of, method in outcomes if of == dataset]
    for number, name in enumerate(names):
        found = frontier(outcomes[dataset, name])
        axes.plot(
            found.weights,
            100.0 * found.means,
            color=BOLD.get(name, f"C{number % 10}"),
            linewidth=2.2 if name in BOLD else 1.0,
            linestyle="-" if METHODS[name].is_ours else "--",
            marker=".",
            markersize=4,
            label=METHODS[name].title,
        )
    axes.set_xscale("log")
    axes.set_xlabel("weights kept")
    axes.set_ylabel("accuracy, %")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small", loc="lower right")
    with mpl.rc_context({"svg.hashsalt": dataset}):
        figure.savefig(file, metadata={"Date": None})
