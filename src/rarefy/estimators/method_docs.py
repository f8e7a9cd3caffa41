"""What the docstrings of methods say of their parameters and results, in numpydoc's form.

The same few parameters are those of many methods. They are described here once, and the sections
are added to each method that has none of its own.
"""

import inspect
from collections.abc import Iterator
from typing import Any

from rarefy.estimators.described import Described
from rarefy.estimators.method_examples import EXAMPLES, RAISES, SEE_ALSO

PARAMETERS = {
    "X": Described(
        "matrix, data frame, rows or Reader",
        "The rows: a dense array, a sparse matrix or a data frame; for a model of rows with names, "
        "also a reader, a list of dicts or a table.",
    ),
    "y": Described("array-like", "The labels, or the numbers to predict."),
    "sample_weight": Described("array-like, optional", "How much each row counts; 1 by default."),
    "classes": Described(
        'list or "grow", optional',
        'All classes, needed in the first call; or "grow", if new ones may come at any time.',
    ),
    "x": Described("dict, list of (name, value), or str", "The row, as in `learn_one`."),
    "rows": Described("sequence", "The rows, each as in `learn_one`."),
    "weight": Described("array-like, optional", "The importance of each row; 1 by default."),
    "id": Described(
        "hashable, optional",
        "Under which the row is remembered, until `learn_one(id=..., y=...)` brings its label.",
    ),
    "format": Described(
        '{"vw", "svmlight", "json", "csv"}, optional',
        "Says that rows are lines, and of which format. By default that is inferred.",
    ),
    "path": Described("str or Path", "The model file."),
    "slim": Described(
        "bool, default=False", "Leave out what only further training needs; smaller, and final."
    ),
    "most": Described("int", "How many rows are remembered at most."),
    "seconds": Described("float", "For how long a row is remembered."),
    "reader": Described("Reader", "What `rarefy.read` gives."),
    "store": Described(
        '{"table", "hashed", "array"}, default="table"',
        "How weights are stored: exactly, in 2^bits places with collisions, or by column.",
    ),
    "bits": Described("int, optional", 'The number of bits of the store "hashed".'),
    "capacity": Described("int, optional", 'The most features of the store "table".'),
    "names": Described("bool, default=True", "Whether the names of features are kept."),
    "cache": Described("str or Path, optional", "A file that keeps the parsed rows."),
    "shuffle": Described("bool, default=False", "Whether rows come in random order."),
    "shuffle_memory": Described("int, optional", "Bytes for shuffling; 1 GB by default."),
    "start.weight": Described("str, optional", "The column of the weights of rows."),
    "start.format": Described(
        '{"json", "vw", "svmlight"}, default="json"', "What rows are like, and names mean."
    ),
    "label": Described('str, default="label"', "The column of the labels."),
    "text": Described("list of str", "Columns to split into words and pairs of words."),
    "categorical": Described("list of str", "Columns whose values are categories."),
    "numeric": Described("list of str", "Columns whose values are numbers."),
    "ignore": Described("list of str", "Columns that are not used."),
    "cross": Described("list of tuples", "Columns whose values are combined."),
    "ngram": Described("int or dict, optional", "The longest n-grams of texts; 2 by default."),
    "skips": Described("int or dict, optional", "How many words n-grams may leave out."),
}
ITSELF = Described("self", "The estimator itself.")
RETURNS = {
    **dict.fromkeys(("fit", "partial_fit", "fit_stream", "start", "remember"), ITSELF),
    **dict.fromkeys(("learn_one", "learn_many"), ITSELF),
    "predict": Described("array of shape (n_rows,)", "A label, or a number, for each row."),
    "predict_one": Described("label or float", "None, if no class is known yet."),
    "predict_many": Described("list", "A label, or a number, for each row."),
    "decision_function": Described("array of shape (n_rows,) or (n_rows, n_classes)", "Scores."),
    **dict.fromkeys(
        ("predict_proba", "predict_proba_many", "predict_log_proba"),
        Described("array of shape (n_rows, n_classes)", "In the order of `classes_`."),
    ),
    "predict_proba_one": Described("dict", "The probability of each class, by its label."),
    "load": Described("estimator", "With the parameters that it was trained with."),
}


def describe_methods(cls: type) -> None:
    """Add sections to the docstrings of a class's public methods that have none."""
    for name in dir(cls):
        method = inspect.getattr_static(cls, name)
        function: Any = getattr(method, "__func__", getattr(method, "fn", method))
        is_ours = inspect.isfunction(function) and function.__module__.startswith("rarefy.")
        if name.startswith("_") or not is_ours:
            continue
        text = inspect.cleandoc(function.__doc__ or "")
        for title, entries in _sections(cls, name, function):
            if entries and f"\n{title}\n---" not in text:
                text += f"\n\n{title}\n{'-' * len(title)}\n" + "\n".join(entries)
        function.__doc__ = text


def _sections(cls: type, name: str, function: Any) -> Iterator[tuple[str, list[str]]]:
    """Title and entries of what is known of a method, in numpydoc's order."""
    given = [each for each in inspect.signature(function).parameters if each in PARAMETERS]
    yield "Parameters", [_parameter(name, each) for each in given]
    yield "Returns", [_entry(RETURNS[name].kind, RETURNS[name])] if name in RETURNS else []
    yield "Raises", [_entry(each.kind, each) for each in RAISES.get(name, ())]
    related = SEE_ALSO.get(name, {}).items()
    yield "See Also", [f"{other} : {why}" for other, why in related if _exists(cls, other)]
    example = EXAMPLES.get(function.__qualname__, EXAMPLES.get(name))
    yield "Examples", [example] if example else []


def _exists(cls: type, name: str) -> bool:
    return name.startswith("rarefy.") or hasattr(cls, name)


def _parameter(method: str, name: str) -> str:
    described = PARAMETERS.get(f"{method}.{name}", PARAMETERS[name])
    return _entry(f"{name} : {described.kind}", described)


def _entry(head: str, described: Described) -> str:
    return f"{head}\n    {described.about}"
