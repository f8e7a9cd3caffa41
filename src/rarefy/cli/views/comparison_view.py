"""`rarefy diff`: what changed from one model to another."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from rarefy.analysis.comparison import Comparison, first_changes
from rarefy.analysis.model_description import description
from rarefy.cli.views.feature_view import feature_title
from rarefy.cli.views.formatting import visible
from rarefy.cli.views.model_view import in_words
from rarefy.cli.views.tables import Column, Page, bars, signed
from rarefy.files.model import Model

ALWAYS_SHOWN = ("examples", "progressive loss", "weights", "intercept")


def comparison_as_json(old: Model, new: Model, comparison: Comparison, top: int) -> dict[str, Any]:
    features = []
    for name, key, class_name, before, after in first_changes(old, new, comparison, top):
        weights = {"old": before, "new": after, "change": after - before}
        features.append({"feature": name, "key": key, **class_name, **weights})
    return {
        "differences": _differences(description(old), description(new)),
        **comparison.counts(),
        "mass": comparison.mass(),
        "features": features,
    }


def _differences(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The entries, and entries of entries, that are not the same."""
    found: dict[str, Any] = {}
    for name in {**old, **new}:
        before, after = old.get(name), new.get(name)
        if isinstance(before, dict) and isinstance(after, dict):
            inner = _differences(before, after)
            if inner:
                found[name] = inner
        elif before != after:
            found[name] = {"old": before, "new": after}
    return found


def show_comparison(
    paths: tuple[str, str], old: Model, new: Model, comparison: Comparison, top: int
) -> None:
    page = Page()
    _show_differences(page, paths, old, new)
    page.say()
    if old.loss != new.loss:
        page.say("The losses differ, so the weights have different scales.")
    page.say(_summary(comparison))
    if len(new.intercepts) > 1:
        page.say()
        _show_intercepts(page, old, new, top)
    if top and comparison.change.any():
        page.say()
        page.table(*_columns(page, old, new, comparison, top))


def _show_differences(page: Page, paths: tuple[str, str], old: Model, new: Model) -> None:
    before, after = in_words(old), in_words(new)
    rows = [
        (name, before.get(name, ""), after.get(name, ""))
        for name in {**before, **after}
        if name in ALWAYS_SHOWN or before.get(name) != after.get(name)
    ]
    page.facts(rows, titles=("", *map(visible, paths)))


def _show_intercepts(page: Page, old: Model, new: Model, top: int) -> None:
    change = np.subtract(new.intercepts, old.intercepts)
    order = np.argsort(-np.abs(change), kind="stable")[:top]
    page.table(
        Column("change", signed(change[order].tolist())),
        Column("old", signed(np.take(old.intercepts, order).tolist())),
        Column("new", signed(np.take(new.intercepts, order).tolist())),
        Column("intercept of", [visible(new.classes[n]) for n in order.tolist()], "names"),
    )


def _summary(comparison: Comparison) -> str:
    counts, mass = comparison.counts(), comparison.mass()
    share = f" ({mass['change'] / mass['old']:.1%})" if mass["old"] else ""
    return (
        f"{counts['came']:,} weights added, {counts['went']:,} removed, "
        f"{counts['changed']:,} changed, {counts['same']:,} unchanged.\n"
        f"The sum of absolute weights was {mass['old']:.6g} and is now {mass['new']:.6g}; the "
        f"changes sum to {mass['change']:.6g}{share}."
    )


def _columns(
    page: Page, old: Model, new: Model, comparison: Comparison, top: int
) -> Iterator[Column]:
    shown = first_changes(old, new, comparison, top)
    change = comparison.change[:top].tolist()
    yield Column("change", signed(change))
    if page.has_bars:
        yield Column("", bars(change), "bars")
    yield Column("old", signed([each.old for each in shown]))
    yield Column("new", signed([each.new for each in shown]))
    if len(new.intercepts) > 1:
        labels = [visible(each.class_name["class"]) for each in shown]
        yield Column("class", labels, "labels")
    yield Column(feature_title(new), [visible(each.feature) for each in shown], "names")
