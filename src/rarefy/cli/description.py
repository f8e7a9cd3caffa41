"""What there is to say about a model beside its weights."""

from typing import Any

from rarefy.cli.tables import visible
from rarefy.model_file import Model
from rarefy.readers.columns import Columns

SHOWN_NAMES = 20


def description(model: Model) -> dict[str, Any]:
    """As JSON would have it."""
    return {**_what_it_is(model), "parameters": model.parameters, **_what_came_of_it(model)}


def in_words(model: Model) -> dict[str, str]:
    """The same as text, without what is empty, and without what is told by class."""
    parts = (_what_it_is(model), model.parameters, _what_came_of_it(model))
    texts = {name: text for part in parts for name, text in _texts(part).items()}
    intercepts = texts.pop("intercepts")
    return texts if len(model.intercepts) > 1 else {**texts, "intercept": intercepts}


def _what_it_is(model: Model) -> dict[str, Any]:
    columns, usual = model.reading.columns, Columns(complete=model.reading.columns.complete)
    return {
        "task": "classification" if model.classes else "regression",
        "classes": model.classes,
        "multiclass": model.multiclass if len(model.classes) > 2 else None,
        "loss": model.loss,
        "store": model.store["kind"],
        **{name: value for name, value in model.store.items() if name != "kind"},
        "columns": {
            name: value
            for name, value in columns._asdict().items()
            if value != getattr(usual, name)
        },
        "cross": model.reading.cross,
    }


def _what_came_of_it(model: Model) -> dict[str, Any]:
    return {
        "examples": model.examples,
        "progressive_loss": model.progressive_loss,
        "weights": len(model.kept.weights),
        "intercepts": model.intercepts,
    }


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


def feature_title(model: Model) -> str:
    """What features are called by in the model."""
    if model.store["kind"] == "hashed":
        return "place"
    return "key" if model.store.get("names") is False else "feature"
