"""Weights as text, in the formats of other programs."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from rarefy.checks import number_or_none
from rarefy.files.model import Model
from rarefy.model.answers import LOSSES_WITH_PROBABILITIES, link
from rarefy.parameters.describe import described
from rarefy.version import __version__

VW_CONSTANT = 11650396  # the index that VW has for an intercept, before it is cut to the bits
BITS_OF_KEYS = 64
NOT_IN_VW_NAMES = re.compile(r"[\s:|]")


def link_of(model: Model) -> str | None:
    """What leads from scores to probabilities: softmax, logistic, modified_huber, or nothing."""
    if model.loss not in LOSSES_WITH_PROBABILITIES:
        return None
    loss, n_outputs = model.task.loss_over(len(model.classes))
    return link(model.loss, loss, model.scaling, n_outputs)


def json_lines(model: Model) -> Iterator[str]:
    """One object, with a line for each of its parts and each weight."""
    parts = {
        "rarefy": __version__,
        "task": "classification" if model.classes else "regression",
        "loss": model.loss,
        "probabilities": link_of(model),
        "calibration": model.scaling,
        "classes": model.classes,
        "intercepts": model.intercepts,
        "decision_threshold": None
        if model.has_score_by_class or not model.classes
        else model.decision_threshold,
        "store": model.store,
        "reading": {**model.reading._asdict(), "columns": model.reading.columns._asdict()},
        "parameters": described(model.parameters),
    }
    yield "{\n"
    for name, value in parts.items():
        yield f"{json.dumps(name)}: {json.dumps(value)},\n"
    yield '"weights": [\n'
    yield ",\n".join(json.dumps(entry) for entry in _strongest_first(model))
    yield "\n]}\n"


def csv_lines(model: Model) -> Iterator[str]:
    """A weight a line; the columns class and count are there where they say something."""
    columns = ["feature", "weight"]
    if model.has_score_by_class:
        columns.insert(1, "class")
    if model.kept.counts is not None:
        columns.append("count")
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for entry in _strongest_first(model):
        writer.writerow(entry)
        yield text.getvalue()
        text.seek(0)
        text.truncate()
    yield text.getvalue()


def svmlight_lines(model: Model) -> Iterator[str]:
    """A line for each score; its label is the class, or the number of one that is a word."""
    kept = model.kept
    words = any(number_or_none(name) is None for name in model.classes)
    for output, intercept in enumerate(model.intercepts):
        own = np.flatnonzero(kept.outputs == output)
        own = own[np.argsort(kept.keys[own])]
        entries = zip(kept.keys[own].tolist(), kept.weights[own].tolist(), strict=True)
        label, remark = "0", f"intercept {intercept!r}"
        if model.classes:
            number = output if model.has_score_by_class else 1
            label = str(number) if words else model.classes[number]
            remark = f"class {json.dumps(model.classes[number])}, {remark}"
        if model.decision_threshold:
            remark += f", threshold {model.decision_threshold!r}"
        yield " ".join([label, *(f"{key}:{weight!r}" for key, weight in entries), f"# {remark}\n"])


def vw_lines(model: Model) -> Iterator[str]:
    """As `vw --invert_hash --predict_only_model` writes them: name:index:weight after a header."""
    kept, n_outputs = model.kept, len(model.intercepts)
    bits = model.store.get("bits", BITS_OF_KEYS)
    yield f"Version rarefy {__version__}\nId \nMin label:-inf\nMax label:inf\nbits:{bits}\n"
    yield "lda:0\n0 ngram:\n0 skip:\n"
    yield f"options:{f' --oaa {n_outputs}' if n_outputs > 1 else ''}\nChecksum: 0\n:0\n"

    def line(name: str, output: int, key: int, weight: float) -> str:
        return f"{name}{f'[{output}]' if output else ''}:{key}:{weight!r}\n"

    for output, intercept in enumerate(model.intercepts):
        if intercept:
            yield line("Constant", output, VW_CONSTANT % (1 << bits), intercept)
    for at in np.lexsort((kept.outputs, kept.keys)).tolist():
        name = NOT_IN_VW_NAMES.sub("_", _name(model, at))
        yield line(name, int(kept.outputs[at]), int(kept.keys[at]), float(kept.weights[at]))


WITHOUT_THRESHOLD = ("csv", "vw")  # formats that have no place for it

TEXT_EXPORTS: dict[str, Callable[[Model], Iterator[str]]] = {
    "json": json_lines,
    "csv": csv_lines,
    "svmlight": svmlight_lines,
    "vw": vw_lines,
}


def _strongest_first(model: Model) -> Iterator[dict[str, Any]]:
    """The weights, and what is known of each; keys are texts, lest a program round them."""
    kept = model.kept
    for at in np.lexsort((kept.outputs, kept.keys, -np.abs(kept.weights))).tolist():
        entry: dict[str, Any] = {"key": str(kept.keys[at]), "feature": _name(model, at)}
        if model.has_score_by_class:
            entry["class"] = model.classes[int(kept.outputs[at])]
        entry["weight"] = float(kept.weights[at])
        if kept.counts is not None:
            entry["count"] = int(kept.counts[at])
        yield entry


def _name(model: Model, at: int) -> str:
    names = model.kept.names
    return str(model.kept.keys[at]) if names is None else names[at]
