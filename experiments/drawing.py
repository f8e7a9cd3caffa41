"""How the pictures of the pages look."""

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

# Okabe and Ito's colours, safe for colour-blind eyes.
BLUE, ORANGE, GREEN, PINK, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#666666"
STYLE: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#EEEEEE",
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "rarefy",  # the same numbers give the same file
}


def save(figure: Figure, file: Path) -> None:
    figure.savefig(file, format="svg", metadata={"Date": None})
