"""The pictures: losses round by round, and what an endowment takes and gives."""

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.drawing import BLUE, ORANGE, STYLE, save
from experiments.endowment.curves import KINDS, SHARE, Curves
from experiments.endowment.learning import Setting
from experiments.endowment.plan import AWARE, OGD
from experiments.endowment.study import Measure, Study, accuracy, test_flips, training_flips


def draw_curves(all_curves: list[Curves], file: Path) -> None:
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(11, 2.8 * len(all_curves) + 0.4), layout="constrained")
        panels = figure.subplots(len(all_curves), len(KINDS), squeeze=False)
        for row, curves in zip(panels, all_curves, strict=True):
            for k, (axes, kind) in enumerate(zip(row, KINDS, strict=True)):
                _with_spread(axes, curves.rounds, curves.without[:, k], "--", BLUE, "OGD")
                _with_spread(axes, curves.rounds, curves.endowed[:, k], "-", ORANGE, "E-OGD")
                axes.set_title(f"{curves.dataset}: {kind} loss")
                axes.set_xlabel("rounds")
        panels[0][0].legend()
        figure.suptitle(f"Losses as learning goes on, γ = 1, ρ = {SHARE}")
        save(figure, file)


def _with_spread(axes: Axes, x: list[int], ys: Any, line: str, colour: str, label: str) -> None:
    mean, error = ys.mean(axis=0), ys.std(axis=0, ddof=1) / np.sqrt(len(ys))
    axes.plot(x, mean, line, color=colour, label=label)
    axes.fill_between(x, mean - error, mean + error, color=colour, alpha=0.2, linewidth=0)


def draw_trade_off(study: Study, file: Path) -> None:
    datasets = study.plan.shown_datasets
    measures = {
        "training examples once right,\nwrong at the end, %": training_flips,
        "test rows right at half-time,\nwrong at the end, %": test_flips,
    }
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(3.4 * len(datasets) + 0.6, 6.6), layout="constrained")
        panels = figure.subplots(2, len(datasets), squeeze=False)
        for row, (name, measure) in zip(panels, measures.items(), strict=True):
            for axes, dataset in zip(row, datasets, strict=True):
                _trade_off(axes, study, dataset, measure)
                axes.set_title(dataset)
                axes.set_xlabel("test accuracy, %")
            row[0].set_ylabel(name)
        figure.legend(
            *panels[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=4
        )
        save(figure, file)


def _trade_off(axes: Axes, study: Study, dataset: str, measure: Measure) -> None:
    for template, colour, name in ((OGD, BLUE, "plain"), (AWARE, ORANGE, "importance-aware")):
        near = study.around_usual(dataset, template)
        endowed = study.endowed_usual(dataset, template)
        points = [_point(study, dataset, setting, measure) for setting in near]
        label = f"OGD, {name}, other steps η"
        axes.plot(*np.transpose(points), ":o", color=colour, markersize=3, alpha=0.6, label=label)
        points = [_point(study, dataset, setting, measure) for setting in endowed]
        axes.plot(
            *np.transpose(points), "-s", color=colour, markersize=4, label=f"E-OGD, {name}, γ grows"
        )
        for k in (0, -1):
            text = f"γ = {endowed[k].gamma:g}"
            axes.annotate(text, points[k], (4, 4), textcoords="offset points", color=colour)


def _point(study: Study, dataset: str, setting: Setting, measure: Measure) -> tuple[float, float]:
    x, y = (study.values(dataset, setting, what).mean() for what in (accuracy, measure))
    return 100.0 * float(x), 100.0 * float(y)
