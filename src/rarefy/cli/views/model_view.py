"""`rarefy inspect`: what a model is and how it was trained."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.analysis.model_description import (
    how_it_was_trained,
    what_came_of_it,
    what_it_is,
)
from rarefy.cli.views.feature_view import feature_columns
from rarefy.cli.views.formatting import visible
from rarefy.cli.views.tables import Column, Page, signed
from rarefy.files.model import Model

SHOWN_NAMES = 20


def in_words(model: Model) -> dict[str, str]:
    """The description as text, without what is empty, and without what is told by class."""
    is_what = what_it_is(model)
    is_what["cross"] = "; ".join(map(",".join, is_what["cross"]))
    for name in {"ngram", "skips"} & is_what["columns"].keys():
        sizes = is_what["columns"][name]
        is_what["columns"][name] = [f"{where}={size}" for where, size in sizes]
    parts = (is_what, how_it_was_trained(model), what_came_of_it(model))
    texts = {name: text for part in parts for name, text in _texts(part).items()}
    intercepts = texts.pop("intercepts")
    return texts if len(model.intercepts) > 1 else {**texts, "intercept": intercepts}


def _texts(facts: dict[str, Any]) -> dict[str, str]:
    texts = {visible(name).replace("_", " "): _text(value) for name, value in facts.items()}
    return {name: text for name, text in texts.items() if text}


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return "; ".join(f"{name} {text}" for name, text in _texts(value).items())
    if isinstance(value, list | tuple):
        shown = ", ".join(_text(part) for part in value[:SHOWN_NAMES])
        return shown if len(value) <= SHOWN_NAMES else f"{shown}, ... ({len(value):,} in all)"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.6g}" if isinstance(value, float) else visible(str(value))


def show_model(
    path: str, model: Model, order: NDArray[np.int64], top: int, sort: str, output: int | None
) -> None:
    page = Page()
    page.say(visible(path), style="bold")
    page.facts(in_words(model).items())
    page.say()
    if len(model.intercepts) > 1 and output is None:
        _show_classes(page, model, top)
        page.say()
    if len(order) == 0:
        page.say("There are no weights: every score is the intercept.")
        return
    shown = order[:top]
    page.say(
        f"{len(shown):,} of {len(order):,} weights, sorted by {sort}{_meaning(model, output)}:"
    )
    page.table(*feature_columns(page, model, shown, with_class=output is None))


def _show_classes(page: Page, model: Model, top: int) -> None:
    counts = np.bincount(model.kept.outputs, minlength=len(model.classes))
    page.table(
        Column("weights", [f"{count:,}" for count in counts[:top]]),
        Column("intercept", signed(model.intercepts[:top])),
        Column("class", [visible(name) for name in model.classes[:top]], "names"),
    )
    if len(model.classes) > top:
        page.say(f"... and {len(model.classes) - top:,} more classes.")


def _meaning(model: Model, output: int | None) -> str:
    """What the sign of a weight says."""
    if output is not None:
        return f", of the class {visible(model.classes[output])}"
    if len(model.classes) == 2 and not model.has_score_by_class:
        low, high = map(visible, model.classes)
        return f"; positive weights are for {high}, negative ones for {low}"
    return ""
