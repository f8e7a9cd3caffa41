"""Why a model predicts what it does for one row: the contribution of each feature."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from rarefy.arrays import Floats
from rarefy.errors import InputError
from rarefy.files.model import Model
from rarefy.model.answers import LOSSES_WITH_PROBABILITIES
from rarefy.readers import Reader
from rarefy.readers.batch import Batch
from rarefy.readers.feature_names import texts_by_key
from rarefy.streams.stream_model import StreamModel, predicted_labels

MOST_SHOWN = 20  # features
Rivals = tuple[int, int] | None  # a class and the best of the others, where there are several


class Part(NamedTuple):
    """A feature of a row, and what it adds to the scores.

    Attributes
    ----------
    name : str
        The feature.
    key : int
        Its 64-bit key.
    value : float
        Its value in the row.
    weights, contributions : array
        One for each score; a contribution is value x weight.
    """

    name: str
    key: int
    value: float
    weights: Floats

    @property
    def contributions(self) -> Floats:
        return self.value * self.weights


class Explanation(NamedTuple):
    """Why a row is predicted as it is.

    The intercepts and the contributions of all parts add up to the scores. With two classes there
    is one score, that of the second; with more, one for each class.

    Attributes
    ----------
    location : str
        The row, as path:line.
    scores : array
        One score, or one for each class.
    probabilities : array or None
        As many, if the loss has probabilities.
    label : str or None
        The predicted class; None in regression, where the score is the prediction.
    intercepts : tuple of float
        One for each score.
    parts : list of Part
        The features of the row that have a weight: `name`, `key`, `value`, `weights` and
        `contributions`.
    without_weight : list of str
        The features of the row to which the model gives no weight.
    """

    location: str
    scores: Floats
    probabilities: Floats | None
    label: str | None
    intercepts: tuple[float, ...]
    parts: list[Part]
    without_weight: list[str]

    @property
    def contributions(self) -> Floats:
        """What each part adds to each score, (part, score)."""
        return np.reshape([part.contributions for part in self.parts], (-1, len(self.scores)))

    def __str__(self) -> str:
        """The answer, and what adds up to its score, or, of several classes, to its lead."""
        rivals = rivals_of(self.scores)
        parts = self.strongest_first(rivals).parts
        shown, others = parts[:MOST_SHOWN], parts[MOST_SHOWN:]
        lines = [(part.name, part.contributions) for part in shown]
        if others:
            sums = np.sum([part.contributions for part in others], axis=0)
            lines.append((f"({len(others):,} more)", sums))
        lines.append(("intercept", np.array(self.intercepts)))
        lines.append(("score" if rivals is None else "lead in score", self.scores))
        numbers = decisive(np.array([line for _, line in lines]), rivals)
        rows = [
            f"{number:+12.4f}  {name}" for number, (name, _) in zip(numbers, lines, strict=True)
        ]
        return "\n".join([*([] if self.label is None else [self.label]), *rows])

    def strongest_first(self, rivals: Rivals) -> "Explanation":
        """The explanation with the parts that matter most first."""
        sizes = np.abs(decisive(self.contributions, rivals))
        order = np.argsort(-sizes, kind="stable").tolist()
        return self._replace(parts=[self.parts[n] for n in order])


def rivals_of(scores: Floats, output: int | None = None) -> Rivals:
    """The class of that number, or else the one with the highest score, and the next best."""
    if len(scores) == 1:
        return None
    others = scores.copy()
    chosen = int(others.argmax()) if output is None else output
    others[chosen] = -np.inf
    return chosen, int(others.argmax())


def decisive(numbers: Floats, rivals: Rivals) -> Floats:
    """Of rows of numbers, one a score: what they say for the class in question."""
    found: Floats = numbers[:, 0] if rivals is None else -np.diff(numbers[:, rivals])[:, 0]
    return found


def explain_row(model: Model, reader: Reader, number: int) -> Explanation:
    """Why the row of that number, counted from 1, is predicted as it is."""
    scorer = model.scorer()
    batch = _read_row(scorer, reader, number)
    values = _values_by_key(batch)  # before the store takes the memory of the keys
    store, learner = scorer.store, scorer.learner
    scores = store.scores(learner, store.prepare(batch))
    names = texts_by_key(batch.names, values)
    return explanation_of(model, scorer, batch.location(0), scores, values, names)


def explanation_of(
    model: Model,
    scorer: StreamModel,
    location: str,
    scores: Floats,
    values: Mapping[int, float],
    names: Mapping[int, str],
) -> Explanation:
    """The explanation of a row with these features, by key, and scores, (1, score)."""
    mask = scorer.store.most_keys - 1
    weights = _weights_at(model, {key & mask for key in values})
    return Explanation(
        location,
        scores[0],
        scorer.probabilities(scores)[0] if model.loss in LOSSES_WITH_PROBABILITIES else None,
        None if scorer.task.is_regression else predicted_labels(scorer, scores)[0],
        model.intercepts,
        [
            Part(names[key], key, value, weights[key & mask])
            for key, value in values.items()
            if key & mask in weights
        ],
        [names[key] for key in values if key & mask not in weights],
    )


def explanation_as_json(
    model: Model, explanation: Explanation, output: int | None
) -> dict[str, Any]:
    """All features, in the same order; numbers of several classes are by class."""
    ordered = explanation.strongest_first(rivals_of(explanation.scores, output))

    def numbers(singular: str, plural: str, found: Any) -> dict[str, Any]:
        values = None if found is None else np.asarray(found).tolist()
        if len(explanation.scores) == 1:
            return {singular: None if values is None else values[0]}
        return {plural: None if values is None else dict(zip(model.classes, values, strict=True))}

    return {
        "row": explanation.location,
        "label": explanation.label,
        **numbers("score", "scores", explanation.scores),
        **numbers("probability", "probabilities", explanation.probabilities),
        **numbers("intercept", "intercepts", explanation.intercepts),
        "features": [
            {
                "feature": part.name,
                "key": part.key,
                "value": part.value,
                **numbers("weight", "weights", part.weights),
                **numbers("contribution", "contributions", part.contributions),
            }
            for part in ordered.parts
        ],
        "without_weight": explanation.without_weight,
    }


def _read_row(model: StreamModel, reader: Reader, number: int) -> Batch:
    """One row, read as the model's data was, with the names of its features."""
    n_before = 0
    with model.reading_again(reader, label_needed=False, names_wanted=True) as again:
        for batch in again:
            if number <= n_before + len(batch.labels):
                return _single(batch, number - n_before - 1)
            n_before += len(batch.labels)
    where = f"{' '.join(reader.files)}: " if reader.files else ""  # data frames are no files
    raise InputError(
        f"{where}there is no row {number:,}, counted from 1; the number of rows is {n_before:,}."
    )


def _single(batch: Batch, row: int) -> Batch:
    begin, end = batch.indptr[row : row + 2].tolist()
    return batch._replace(
        indptr=np.array([0, end - begin]),
        keys=batch.keys[begin:end].copy(),
        values=batch.values[begin:end].copy(),
        labels=batch.labels[row : row + 1],
        importance=batch.importance[row : row + 1],
        lines=batch.lines[row : row + 1],
    )


def _values_by_key(batch: Batch) -> dict[int, float]:
    """A feature that occurs twice has the sum of its values; one whose value is zero is absent."""
    values: dict[int, float] = {}
    for key, value in zip(batch.keys.tolist(), batch.values.tolist(), strict=True):
        values[key] = values.get(key, 0.0) + value
    return {key: value for key, value in values.items() if value != 0.0}


def _weights_at(model: Model, keys: set[int]) -> dict[int, Floats]:
    """The weights that the model has for some of these keys, as its store masks them."""
    kept = model.kept
    found: dict[int, Floats] = {}
    for at in np.flatnonzero(np.isin(kept.keys, np.array([*keys], np.uint64))).tolist():
        key = int(kept.keys[at])
        weights = found.setdefault(key, np.zeros(len(model.intercepts)))
        weights[kept.outputs[at]] = kept.weights[at]
    return found
