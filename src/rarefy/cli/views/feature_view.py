"""Tables of features and their weights."""

from collections.abc import Callable, Iterator
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from rarefy.analysis.model_description import feature_name
from rarefy.cli.views.formatting import visible, written
from rarefy.cli.views.tables import Column, Page, bars, signed
from rarefy.files.model import Model
from rarefy.stores import Kept

SORT_KEYS: dict[str, Callable[[Kept], Any]] = {
    "weight": lambda kept: -np.abs(kept.weights),
    "count": lambda kept: None if kept.counts is None else -kept.counts,
    "r": lambda kept: None if kept.r is None else -kept.r,
    "name": lambda kept: kept.keys if kept.names is None else np.array(kept.names, object),
}


def order_of(kept: Kept, sort: str, output: int | None) -> NDArray[np.int64]:
    """The positions of the weights to show."""
    sort_keys = SORT_KEYS[sort](kept)
    if sort_keys is None:
        reason = (
            "only the store table keeps counts"
            if sort == "count"
            else "its rule is not feature-aware"
        )
        raise click.UsageError(f"the model cannot be sorted by {sort}: {reason}.")
    order = np.argsort(sort_keys, kind="stable")
    return order if output is None else order[kept.outputs[order] == output]


def feature_title(model: Model) -> str:
    """What features are called by in the model."""
    if model.store["kind"] == "hashed":
        return "place"
    return "key" if model.store.get("names") is False else "feature"


def feature_columns(
    page: Page, model: Model, shown: NDArray[np.int64], *, with_class: bool
) -> Iterator[Column]:
    kept = model.kept
    weights = kept.weights[shown].tolist()
    yield Column("weight", signed(weights))
    if page.has_bars:
        yield Column("", bars(weights), "bars")
    if kept.counts is not None:
        yield Column("count", [f"{count:,}" for count in kept.counts[shown].tolist()])
    if kept.r is not None:
        yield Column("r", written(kept.r[shown].tolist()))
    if with_class and len(model.intercepts) > 1:
        labels = [visible(model.classes[output]) for output in kept.outputs[shown].tolist()]
        yield Column("class", labels, "labels")
    names = [visible(feature_name(kept, at)) for at in shown.tolist()]
    yield Column(feature_title(model), names, "names")
