"""Plots of a sweep: accuracy against weights, and against l1."""

import math
from typing import TYPE_CHECKING, Any

from rarefy.errors import ConfigError

if TYPE_CHECKING:
    from rarefy.sweeping.result import Sweep

LABELS = {"r2": "R²", "auc": "AUC", "f1": "F1", "rmse": "RMSE"}


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
        (line,) = axes.plot(kept, scores, "-o", markersize=4, label=_name(rule))
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
    axes.set(xlabel="weights kept (log scale)", ylabel=_label(sweep.score))
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    return axes


def draw_by_l1(sweep: "Sweep", axes: Any) -> None:
    """Score against l1, a line for each rule and q; of several points there, the best."""
    lines: dict[str, dict[float, tuple[float, float]]] = {}
    table = sweep.table
    for i, point in enumerate(sweep.points):
        score = table[sweep.score][i]
        if "l1" not in point or math.isnan(score):
            continue
        name = _name(point["rule"]) + (f", q = {point['q']:g}" if "q" in point else "")
        line = lines.setdefault(name, {})
        better = max if sweep.higher_is_better else min
        here = (score, table["standard_error"][i])
        line[point["l1"]] = better(line.get(point["l1"], here), here)
    for name, line in lines.items():
        l1s = sorted(line)
        scores, errors = zip(*(line[l1] for l1 in l1s), strict=True)
        axes.errorbar(l1s, scores, errors, fmt="-o", markersize=4, capsize=2, label=name)
    _log_scale(axes, {l1 for line in lines.values() for l1 in line})
    axes.set(xlabel="l1 (log scale)", ylabel=_label(sweep.score))
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)


def _label(score: str) -> str:
    return LABELS.get(score, score.replace("_", " "))


def _log_scale(axes: Any, l1s: set[float]) -> None:
    """A logarithmic axis, with a place for zero where that is needed."""
    if 0.0 in l1s:
        axes.set_xscale("symlog", linthresh=min(l1s - {0.0}, default=1.0))
    else:
        axes.set_xscale("log")


def _name(rule: Any) -> str:
    return rule if isinstance(rule, str) else getattr(rule, "__name__", str(rule))
