"""The picture of a sweep: what accuracy costs in weights."""

from typing import TYPE_CHECKING, Any

from rarefy.errors import ConfigError

if TYPE_CHECKING:
    from rarefy.sweeping.result import Sweep

LABELS = {"accuracy": "accuracy", "r2": "R²"}


def draw(sweep: "Sweep", axes: Any = None) -> Any:
    """All points, and a line through those that none of the same rule beats; returns the axes."""
    if axes is None:
        try:
            from matplotlib import pyplot
        except ImportError as error:
            raise ConfigError("plot needs Matplotlib: pip install rarefy[plots].") from error
        axes = pyplot.figure(layout="constrained").add_subplot()
    table = sweep.table
    for rule in dict.fromkeys(table["rule"]):
        frontier = [choice.measures for choice in sweep.frontier(rule)]
        kept = [measures["weights"] for measures in frontier]
        scores = [measures[sweep.score] for measures in frontier]
        name = rule if isinstance(rule, str) else getattr(rule, "__name__", str(rule))
        (line,) = axes.plot(kept, scores, "-o", markersize=4, label=name)
        errors = [measures["standard_error"] for measures in frontier]
        axes.errorbar(kept, scores, errors, color=line.get_color(), alpha=0.3, linestyle="none")
        own = [i for i, other in enumerate(table["rule"]) if other == rule]
        axes.plot(
            [table["weights"][i] for i in own],
            [table[sweep.score][i] for i in own],
            ".",
            color=line.get_color(),
            alpha=0.3,
        )
    axes.set_xscale("log")
    axes.set(xlabel="weights kept (log scale)", ylabel=LABELS[sweep.score])
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    return axes
