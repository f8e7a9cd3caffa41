"""The pictures: accuracy over lost answers, along the way from the old model to the new one."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from experiments.drawing import BLUE, GREEN, GREY, ORANGE, PINK, STYLE, save
from experiments.updates.methods import Outcome
from experiments.updates.releases import Fate

Updates = dict[str, list[dict[str, list[Fate]]]]  # by data set and order: fates by method
OTHERS = {"retrained": (PINK, "s"), "endowment 1": (GREEN, "v"), "endowment 3": (GREEN, "^")}
SHOWN = {
    "between": (BLUE, "-", ""),
    "4 passes, between": (BLUE, ":", ""),
    "4 passes, replay, between": (ORANGE, "-", ""),
    "anchor": (GREEN, "-", "o"),
    "distillation": (PINK, "-", "s"),
    "4 passes, replay, hysteresis": (GREY, "--", ""),
}
SHOWN_TAUGHT = {
    "between": (BLUE, "-", ""),
    "dissonance": (GREEN, "-", "^"),
    "damped labels": (PINK, "-", "s"),
    "focal distillation": (ORANGE, "-", "o"),
    "dissonance, between": (GREEN, ":", ""),
    "damped labels, between": (PINK, ":", ""),
    "focal distillation, between": (ORANGE, ":", ""),
}


def draw_methods(
    compared: dict[str, list[dict[str, list[Outcome]]]],
    file: Path,
    shown: dict[str, tuple[str, str, str]] = SHOWN,
) -> None:
    """The knobs of some methods, on the rows that judge, with standard errors of the accuracy."""
    with mpl.rc_context(STYLE):
        n_rows = -(-len(compared) // 4)
        figure = Figure(figsize=(11, 2.7 * n_rows + 0.5), layout="constrained")
        panels = figure.subplots(n_rows, 4, squeeze=False).ravel()
        for axes, (name, orders) in zip(panels, compared.items(), strict=False):
            for method, (colour, line, mark) in shown.items():
                found = 100.0 * np.array([order[method] for order in orders])[:, :, 2:4]
                mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(len(found))
                axes.errorbar(
                    *(mean[:, 1], mean[:, 0], error[:, 0]),
                    color=colour,
                    linestyle=line,
                    marker=mark,
                    markersize=3,
                    elinewidth=0.5,
                    errorevery=-(-len(mean) // 10),
                    label=method,
                )
            axes.set_title(name)
            axes.set_xlabel("answers lost, %")
        for axes in panels[len(compared) :]:
            axes.set_visible(False)
        panels[0].set_ylabel("accuracy, %")
        handles = panels[0].get_legend_handles_labels()
        figure.legend(*handles, loc="outside lower center", ncols=3)
        save(figure, file)


def draw(updates: Updates, file: Path) -> None:
    with mpl.rc_context(STYLE):
        n_rows = -(-len(updates) // 4)
        figure = Figure(figsize=(11, 2.7 * n_rows + 0.5), layout="constrained")
        panels = figure.subplots(n_rows, 4, squeeze=False).ravel()
        for axes, (name, orders) in zip(panels, updates.items(), strict=False):
            way = 100.0 * np.array([order["interpolation"] for order in orders])
            mean, error = way.mean(axis=0), way.std(axis=0, ddof=1) / np.sqrt(len(way))
            lost, accuracy = mean[:, 1], mean[:, 0]
            low, high = accuracy - error[:, 0], accuracy + error[:, 0]
            axes.fill_between(lost, low, high, color=BLUE, alpha=0.2, linewidth=0)
            axes.plot(lost, accuracy, color=BLUE, label="between old and new")
            axes.plot(lost[0], accuracy[0], "o", color=GREY, label="old")
            axes.plot(lost[-1], accuracy[-1], "o", color=ORANGE, label="learned on")
            for method, (colour, mark) in OTHERS.items():
                of_test = 100.0 * np.mean([order[method][0] for order in orders], axis=0)
                axes.plot(of_test[1], of_test[0], mark, color=colour, markersize=5, label=method)
            axes.set_title(name)
            axes.set_xlabel("answers lost, %")
        for axes in panels[len(updates) :]:
            axes.set_visible(False)
        panels[0].set_ylabel("accuracy, %")
        handles = panels[0].get_legend_handles_labels()
        figure.legend(*handles, loc="outside lower center", ncols=6)
        save(figure, file)
