"""A picture for every data set: accuracy against the weights that are kept."""

from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from experiments.drawing import BLUE, GREEN, GREY, ORANGE, PINK, STYLE, save
from experiments.peers.frontier import frontier
from experiments.peers.methods import METHODS
from experiments.peers.plan import OURS, OURS_WIDE
from experiments.peers.work import Outcomes

BOLD = {"color": "black", "linewidth": 2.2, "zorder": 3}
LOOKS: dict[str, dict[str, Any]] = {  # a colour for each tool or rule
    OURS: BOLD,
    OURS_WIDE: BOLD | {"color": GREY},
    "rarefy-unrefitted": {"color": PINK},
    "scale-free": {"color": BLUE},
    "scale-free-refit": {"color": BLUE, "linestyle": "--"},
    "frda": {"color": ORANGE},
    "frda-refit": {"color": ORANGE, "linestyle": "--"},
    "ftrl": {"color": GREEN},
    "liblinear-6": {"color": BLUE},
    "liblinear-5": {"color": BLUE, "linestyle": "--"},
    "sgd-l1": {"color": ORANGE},
    "sgd-elastic": {"color": ORANGE, "linestyle": "--"},
    "vw-l1": {"color": GREEN},
    "vw-ftrl": {"color": GREEN, "linestyle": "--"},
    "river": {"color": PINK},
}


def draw(dataset: str, outcomes: Outcomes, file: Path) -> None:
    """rarefy beside other tools, and beside single rules of its own."""
    names = [name for of, name in outcomes if of == dataset and name != OURS]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.0, 4.6), layout="constrained")
        panels = figure.subplots(1, 2, sharex=True, sharey=True)
        for axes, is_ours in zip(panels, (False, True), strict=True):
            for name in [OURS, *(name for name in names if METHODS[name].is_ours == is_ours)]:
                found = frontier(outcomes[dataset, name])
                looks = {"linewidth": 1.2, "label": METHODS[name].title} | LOOKS[name]
                axes.plot(found.weights, 100.0 * found.means, marker=".", markersize=5, **looks)
            axes.set_xscale("log")
            axes.set_title("rules of rarefy" if is_ours else "other tools")
            axes.set_xlabel("weights kept")
            axes.legend(loc="lower right", fontsize="small")
        panels[0].set_ylabel("accuracy, %")
        save(figure, file)
