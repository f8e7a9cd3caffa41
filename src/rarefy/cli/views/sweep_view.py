"""`rarefy sweep`: the summary at the end."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rarefy.cli.views.formatting import count, duration, finite, number, percent, visible
from rarefy.cli.views.tables import Column, Page

if TYPE_CHECKING:  # scikit-learn would take most of the time of `rarefy --help`
    from rarefy.sweeping.result import Choice, Sweep

TABLE, MODEL, REPORT = "table.csv", "best.model", "report.html"  # in the folder


def facts_of(asked: dict[str, Any], found: "Sweep", n_asked: int, seconds: float) -> dict[str, str]:
    """What was done; more points than asked for, if the best was at the end of the grid."""
    n_points, n_folds = found.by_fold["loss"].shape
    refit = " and a refit" if asked["refit"] else ""
    passes = "pass" if asked["passes"] == 1 else "passes"
    judged = f"{n_folds} folds, {asked['passes']} {passes}"
    if asked["progressive"]:
        judged = "one pass, each row predicted before it was learned"
    by_class = asked["class_weight"]
    more = {} if by_class is None else {"class weight": _text(by_class)}
    end = {"note": found.end_of_grid} if found.end_of_grid else {}
    kind = f"{', '.join(asked['rule'])}; {asked['loss']} loss"
    more_l1 = f" ({count(n_points - n_asked)} beyond the end of l1)" if n_points > n_asked else ""
    return {
        "data": ", ".join(map(visible, asked["data"])),
        "rows": f"{count(found.extent.n_rows)} with {count(found.extent.n_features)} features",
        "grid": f"{count(n_points)} points{more_l1}: {kind}",
        "learned": f"{judged}{refit}, in {duration(seconds)}",
        "chosen by": found.score.replace("_", " "),
        **more,
        **end,
    }


def point_in_words(found: "Sweep", choice: "Choice") -> str:
    """The parameters of a point, and how it was judged."""
    parameters = ", ".join(f"{name} {_text(value)}" for name, value in choice.parameters.items())
    return f"{parameters}; {found.score} {_score(found, choice.measures[found.score])}"


def meaning_of_weights(classes: Sequence[str]) -> str:
    """What a weight above zero says."""
    if len(classes) == 2:
        low, high = map(visible, classes)
        return f"is evidence for {high}, a negative one for {low}"
    return "is evidence for its class" if classes else "raises the prediction"


def choices_as_json(
    folder: str, found: "Sweep", choices: "dict[str, Choice]", chosen: str
) -> dict[str, Any]:
    return {
        "rows": found.extent.n_rows,
        "features": found.extent.n_features,
        "by": found.score,
        "end_of_grid": found.end_of_grid or None,
        "choices": {
            label: finite({"parameters": choice.parameters, **choice.measures})
            for label, choice in choices.items()
        },
        "chosen": chosen,
        **{name: os.path.join(folder, name) for name in (MODEL, TABLE, REPORT)},
    }


def show_sweep(
    folder: str, found: "Sweep", facts: dict[str, str], choices: "dict[str, Choice]", chosen: str
) -> None:
    page = Page()
    page.facts(facts.items())
    page.say()
    points = [choice.parameters for choice in choices.values()]
    measures = [choice.measures for choice in choices.values()]
    page.table(
        Column("choice", list(choices), "names"),
        *(Column(name, [_text(point.get(name)) for point in points]) for name in found.varying),
        Column(found.score, [_score(found, one[found.score]) for one in measures]),
        Column("+-", [_score(found, one["standard_error"]) for one in measures]),
        Column("weights", [count(one["weights"]) for one in measures]),
        Column("features", [count(one["features"]) for one in measures]),
    )
    page.say(_judged_by(found))
    page.say()
    page.say(f"Saved: {visible(os.path.join(folder, MODEL))} ({chosen}), {TABLE}, {REPORT}")


def _judged_by(found: "Sweep") -> str:
    """What the figures of the table are of: not of the model that has learned all rows."""
    n_folds = found.by_fold["loss"].shape[1]
    if n_folds > 1:
        return (
            f"Figures are means over {n_folds} folds; each fold is predicted by a model trained on "
            f"the others."
        )
    return "Figures are for predictions made just before each row was learned."


def _text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_text(part)}" for name, part in value.items())
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _score(found: "Sweep", value: float) -> str:
    return percent(value, 2) if found.score == "accuracy" else number(value)
