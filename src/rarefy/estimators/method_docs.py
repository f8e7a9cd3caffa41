"""Docstrings of methods: parameters and results, in numpydoc's form.

The same few parameters are those of many methods. They are described here once, and the sections
are added to each method that has none of its own.
"""

import inspect
from typing import Any, TypeVar

from rarefy.docstrings import DocstringEntry, add_sections
from rarefy.estimators.method_examples import EXAMPLES, RAISES, SEE_ALSO

C = TypeVar("C", bound=type)
PARAMETERS = {
    "X": DocstringEntry(
        "matrix, data frame, rows or Reader",
        "The rows: a dense array, a sparse matrix or a data frame; for a model of rows with names, "
        "also a reader, a list of dicts or a table.",
    ),
    "y": DocstringEntry("array-like", "The labels, or the numbers to predict."),
    "sample_weight": DocstringEntry(
        "array-like, optional", "How much each row counts; 1 by default."
    ),
    "classes": DocstringEntry(
        'list or "grow", optional',
        'All classes, needed in the first call; or "grow", if new ones may come at any time.',
    ),
    "x": DocstringEntry("dict, list of (name, value), or str", "The row, as in `learn_one`."),
    "rows": DocstringEntry("sequence", "The rows, each as in `learn_one`."),
    "weight": DocstringEntry("array-like, optional", "The importance of each row; 1 by default."),
    "id": DocstringEntry(
        "hashable, optional",
        "Under which the row is remembered, until `learn_one(id=..., y=...)` brings its label.",
    ),
    "format": DocstringEntry(
        '{"vw", "svmlight", "json", "csv"}, optional',
        "Says that rows are lines, and of which format. By default that is inferred.",
    ),
    "path": DocstringEntry("str or Path", "The model file."),
    "slim": DocstringEntry(
        "bool, default=False", "Leave out what only further training needs; smaller, and final."
    ),
    "most": DocstringEntry("int", "How many rows are remembered at most."),
    "seconds": DocstringEntry("float", "For how long a row is remembered."),
    "reader": DocstringEntry("Reader", "What `rarefy.read` gives."),
    "store": DocstringEntry(
        '{"table", "hashed", "array"}, default="table"',
        "How weights are stored: exactly, in 2^bits places with collisions, or by column.",
    ),
    "bits": DocstringEntry("int, optional", 'The number of bits of the store "hashed".'),
    "capacity": DocstringEntry("int, optional", 'The most features of the store "table".'),
    "names": DocstringEntry("bool, default=True", "Whether the names of features are kept."),
    "cache": DocstringEntry("str or Path, optional", "A file that keeps the parsed rows."),
    "shuffle": DocstringEntry("bool, default=False", "Whether rows come in random order."),
    "shuffle_memory": DocstringEntry("int, optional", "Bytes for shuffling; 1 GB by default."),
    "start.weight": DocstringEntry("str, optional", "The column of the weights of rows."),
    "start.format": DocstringEntry(
        '{"json", "vw", "svmlight"}, default="json"', "What rows are like, and names mean."
    ),
    "label": DocstringEntry('str, default="label"', "The column of the labels."),
    "text": DocstringEntry("list of str", "Columns to split into words and pairs of words."),
    "categorical": DocstringEntry("list of str", "Columns whose values are categories."),
    "numeric": DocstringEntry("list of str", "Columns whose values are numbers."),
    "ignore": DocstringEntry("list of str", "Columns that are not used."),
    "cross": DocstringEntry("list of tuples", "Columns whose values are combined."),
    "ngram": DocstringEntry("int or dict, optional", "The longest n-grams of texts; 2 by default."),
    "skips": DocstringEntry("int or dict, optional", "How many words n-grams may leave out."),
}
ITSELF = DocstringEntry("self", "The estimator itself.")
RETURNS = {
    **dict.fromkeys(("fit", "partial_fit", "fit_stream", "start", "remember"), ITSELF),
    **dict.fromkeys(("learn_one", "learn_many"), ITSELF),
    "predict": DocstringEntry("array of shape (n_rows,)", "A label, or a number, for each row."),
    "predict_one": DocstringEntry("label or float", "None, if no class is known yet."),
    "predict_many": DocstringEntry("list", "A label, or a number, for each row."),
    "decision_function": DocstringEntry(
        "array of shape (n_rows,) or (n_rows, n_classes)", "Scores."
    ),
    **dict.fromkeys(
        ("predict_proba", "predict_proba_many", "predict_log_proba"),
        DocstringEntry("array of shape (n_rows, n_classes)", "In the order of `classes_`."),
    ),
    "predict_proba_one": DocstringEntry("dict", "The probability of each class, by its label."),
    "load": DocstringEntry("estimator", "With the parameters that it was trained with."),
}


def describe_methods(cls: C) -> C:
    """Class decorator: docstrings of public methods get the sections that they do not have."""
    for name in dir(cls):
        method = inspect.getattr_static(cls, name)
        function: Any = getattr(method, "__func__", getattr(method, "fn", method))
        is_ours = inspect.isfunction(function) and function.__module__.startswith("rarefy.")
        if name.startswith("_") or not is_ours:
            continue
        add_sections(function, _sections(cls, name, function))
    return cls


def _sections(cls: type, name: str, function: Any) -> dict[str, list[str]]:
    """What is known of a method."""
    given = [each for each in inspect.signature(function).parameters if each in PARAMETERS]
    related = SEE_ALSO.get(name, {}).items()
    example = EXAMPLES.get(function.__qualname__, EXAMPLES.get(name))
    return {
        "Parameters": [_parameter(name, each) for each in given],
        "Returns": [RETURNS[name].text] if name in RETURNS else [],
        "Raises": [each.text for each in RAISES.get(name, ())],
        "See Also": [f"{other} : {why}" for other, why in related if _exists(cls, other)],
        "Examples": [example] if example else [],
    }


def _exists(cls: type, name: str) -> bool:
    return name.startswith("rarefy.") or hasattr(cls, name)


def _parameter(method: str, name: str) -> str:
    described = PARAMETERS.get(f"{method}.{name}", PARAMETERS[name])
    return described.under(f"{name} : {described.kind}")
