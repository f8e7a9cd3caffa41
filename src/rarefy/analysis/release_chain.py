"""A stream replayed as a chain of releases: a model is shipped every N rows.

Every model is judged by the rows that come before the next one is shipped, which none of the models
has learned by then; so is what is lost from one release to the next.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse

from rarefy.analysis import lessons
from rarefy.analysis.release_methods import (
    Rows,
    learning_on,
    retrained,
    taught,
    updated,
    with_hysteresis,
    with_parameters,
)
from rarefy.analysis.release_records import DEFAULTS, METHODS, OF_PROBABILITIES, Chain, Release
from rarefy.checks import check_number, check_whole, choose, is_number
from rarefy.errors import ConfigError, InputError
from rarefy.estimators import SparseOnlineClassifier
from rarefy.estimators.checked_input import has_own_labels
from rarefy.estimators.matrices import check_importance
from rarefy.parameters.entry import MOST_PASSES
from rarefy.streams.design_matrix import to_matrix
from rarefy.updating.choice import Limits

FEWEST_RELEASES = 2


def releases(
    X: Any,
    y: Any = None,
    *,
    every: int,
    methods: Sequence[str] = tuple(METHODS),
    max_negative: float = DEFAULTS.max_negative,
    anchor: float = DEFAULTS.anchor,
    endowment: float = DEFAULTS.endowment,
    distillation: float = DEFAULTS.distillation,
    trust: float = DEFAULTS.trust,
    focal: float = DEFAULTS.focal,
    dissonance: float = DEFAULTS.dissonance,
    hysteresis: float = DEFAULTS.hysteresis,
    holdout: float = DEFAULTS.holdout,
    passes: int = DEFAULTS.passes,
    sample_weight: Any = None,
    **parameters: Any,
) -> list[Chain]:
    """Replay rows in their order, and ship a model every so many rows.

    Parameters
    ----------
    X : matrix or Reader
        The rows in the order in which they came. Those of a reader are read into memory.
    y : array-like, optional
        Labels; a reader has its own.
    every : int
        After how many rows a model is shipped. There must be rows for two releases, and some after
        them.
    methods : sequence of str
        How each model follows from the previous one: "plain" (it is trained further), "retrained"
        (trained from scratch on all rows so far, in random order), "endowment" (as plain, with an
        endowment), "dissonance" (as plain; rows that the previous model gets right count more),
        "distillation" (as plain, on labels mixed with the probabilities of the previous model),
        "damped" (the same where the previous model is right, and on damped labels elsewhere),
        "focal" (as plain, on the label and the probabilities of the previous model, which count six
        times where it is right), "hysteresis" (as plain, but the previous answer stays where the
        new one does not lead by enough; predicting then takes all models so far), "update"
        (`rarefy.update` within the budget; where it finds no better model, the old one stays, and
        the rows are learned with those of the next release), "replay" (the same, with all earlier
        rows replayed), "anchor" (with an anchor).
    max_negative, anchor, holdout : float
        Those of `rarefy.update`.
    passes : int
        That of `rarefy.update`; all other methods learn each row once.
    endowment : float
        That of the method "endowment".
    distillation : float
        The share of the previous model's probabilities, for "distillation" and "damped".
    trust : float
        What share of a label is left where the previous model is wrong, for "damped".
    focal : float
        How much the previous model's probabilities count beside the label, for "focal".
    dissonance : float
        How much more rows count that the previous model gets right, for "dissonance".
    hysteresis : float
        By how much the score of a new answer has to lead, for "hysteresis".
    sample_weight : array-like, optional
        Weights of the rows; a reader has its own.
    **parameters
        Those of SparseOnlineClassifier, of all models.

    Returns
    -------
    list of Chain
        One for each method, in their order: `releases`, each with `accuracy`, `lost_rate`,
        `won_rate`, `churn`, `n_weights`, `n_changed` and `n_models`; means of these; and
        `lost_at_the_end`, the answers that the last model has lost since the first.

    Raises
    ------
    ConfigError
        If a parameter is unknown or invalid.
    InputError
        If there are too few rows, or they cannot be read.

    See Also
    --------
    update : One release within a budget for lost answers.
    flips : Answers that change between two models.

    Examples
    --------
    >>> import numpy as np, rarefy
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(3000, 20))
    >>> y = X @ random.normal(size=20) + 2.0 * random.normal(size=3000) > 0.0
    >>> plain, careful = rarefy.releases(
    ...     X, y, every=500, methods=["plain", "update"], max_negative=0.05
    ... )
    >>> len(plain.releases), careful.mean("lost_rate") < plain.mean("lost_rate")
    (5, True)
    """
    for method in methods:
        choose("methods", method, METHODS)
    if not methods:
        raise ConfigError(f"methods: at least one of {', '.join(METHODS)} is expected.")
    check_whole("every", every, 1, 1 << 40)
    Limits(max_negative).check()
    if not isinstance(holdout, float) or not 0.0 < holdout < 1.0:
        raise ConfigError(f"holdout={holdout!r}: a share between 0 and 1 is expected.")
    check_whole("passes", passes, 1, MOST_PASSES)
    if not (is_number(distillation) and 0.0 <= distillation < 1.0):
        raise ConfigError(f"distillation={distillation!r}: a share from 0 to below 1 is expected.")
    check_number("trust", trust, 1.0)
    for name, value in (("focal", focal), ("dissonance", dissonance), ("hysteresis", hysteresis)):
        check_number(name, value)
    if parameters.get("loss", "logistic") != "logistic":
        for method in methods:
            if method in OF_PROBABILITIES:
                raise _refused(method, "it needs the probabilities of loss='logistic'.")
    unknown = [name for name in parameters if name in ("shuffle", "refit")]
    if unknown:
        raise ConfigError(f"{unknown[0]}: rows are learned in their order.")
    model = SparseOnlineClassifier(**{**parameters, "passes": 1, "shuffle": False})
    rows = _rows(X, y, sample_weight)
    ends = [*range(every, len(rows.y), every)]
    if len(ends) < FEWEST_RELEASES:
        raise InputError(
            f"every={every}: {len(rows.y):,} rows are too few for two releases with rows after "
            f"them. Give a smaller number, or more rows."
        )
    how = {"max_negative": max_negative, "holdout": holdout, "passes": passes}

    def _taught(lesson: Any, *knobs: float) -> Iterator[Any]:
        return taught(model, rows, ends, lambda before, X, y: lesson(before, X, y, *knobs))

    shipped: dict[str, Callable[[], Iterator[Any]]] = {
        "plain": lambda: learning_on(model, rows, ends),
        "retrained": lambda: retrained(model, rows, ends),
        "endowment": lambda: learning_on(with_parameters(model, endowment=endowment), rows, ends),
        "dissonance": lambda: _taught(lessons.dissonant, dissonance),
        "distillation": lambda: _taught(lessons.distilled, distillation),
        "damped": lambda: _taught(lessons.damped, distillation, trust),
        "focal": lambda: _taught(lessons.focal, focal),
        "hysteresis": lambda: with_hysteresis(learning_on(model, rows, ends), hysteresis),
        "update": lambda: updated(model, rows, ends, how),
        "replay": lambda: updated(model, rows, ends, how, replays=True),
        "anchor": lambda: updated(model, rows, ends, {**how, "anchor": anchor}),
    }
    begun = [_begun(method, shipped[method]()) for method in methods]
    return [_chain(*each, rows, ends) for each in zip(methods, begun, strict=True)]


def _begun(method: str, shipped: Iterator[Any]) -> Iterator[Any]:
    """The models with the first of them learned, so that what cannot be done is told at once."""
    try:
        first = next(shipped)
    except ConfigError as error:
        raise _refused(method, str(error)) from error
    return chain([first], shipped)


def _refused(method: str, why: str) -> ConfigError:
    return ConfigError(f"the method {method}: {why} Name others (methods=..., --method).")


def _rows(X: Any, y: Any, sample_weight: Any) -> Rows:
    if has_own_labels(X, y, sample_weight):
        read = to_matrix(X)
        return Rows(read.X, read.y, read.sample_weight)
    X = sparse.csr_array(X)
    if len(y) != X.shape[0]:
        raise InputError(f"X has {X.shape[0]:,} rows, and y {len(y):,} labels.")
    return Rows(X, np.asarray(y), check_importance(sample_weight, len(y)))


def _chain(method: str, shipped: Iterator[Any], rows: Rows, ends: Sequence[int]) -> Chain:
    found: list[Release] = []
    models: list[Any] = []  # the first, and the last so far
    judged = rows
    for number, model in enumerate(shipped):
        judged = rows.part(slice(ends[number], (*ends, None)[number + 1]))
        found.append(
            _release(number + 1, ends[number], models[-1] if models else None, model, judged)
        )
        models = [*models[:1], model]
    at_the_end = _changes(models[0], models[-1], judged)
    return Chain(method, found, at_the_end["lost_rate"], at_the_end["won_rate"])


def _release(number: int, n_learned: int, before: Any, model: Any, judged: Rows) -> Release:
    if not judged.importance.any():
        raise InputError(f"the rows after the first {n_learned:,} have no weight.")
    compared = ("lost_rate", "won_rate", "churn", "n_changed")
    changes = dict.fromkeys(compared) if before is None else _changes(before, model, judged)
    return Release(
        number=number,
        n_learned=n_learned,
        n_rows=len(judged.y),
        is_new=model is not before,
        accuracy=judged.share(model.predict(judged.X) == judged.y),
        n_weights=model.n_nonzero_,
        n_models=getattr(model, "n_models_", 1),
        **changes,
    )


def _changes(before: Any, model: Any, judged: Rows) -> dict[str, Any]:
    old, new = before.predict(judged.X), model.predict(judged.X)
    was_right, is_right = old == judged.y, new == judged.y
    return {
        "lost_rate": judged.share(was_right & ~is_right),
        "won_rate": judged.share(~was_right & is_right),
        "churn": judged.share(old != new),
        "n_changed": int((model.sparse_coef_ != before.sparse_coef_).nnz),
    }
