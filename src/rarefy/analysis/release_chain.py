"""A stream replayed as a chain of releases: a model is shipped every N rows.

Every model is judged by the rows that come before the next one is shipped, which none of the models
has learned by then; so is what is lost from one release to the next.
"""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from rarefy.analysis.shipped import (
    DEFAULT_ANCHOR,
    DEFAULT_BUDGET,
    DEFAULT_DISTILLATION,
    DEFAULT_ENDOWMENT,
    METHODS,
    Chain,
    Release,
)
from rarefy.arrays import Floats
from rarefy.checks import check_whole, choose
from rarefy.errors import ConfigError, InputError
from rarefy.estimators import SparseOnlineClassifier
from rarefy.estimators.matrices import check_importance
from rarefy.estimators.soft_rows import soft_targets
from rarefy.estimators.update_models import update
from rarefy.parameters.entry import MOST_PASSES
from rarefy.readers import Reader
from rarefy.streams.design_matrix import to_matrix
from rarefy.updating.choice import Limits
from rarefy.updating.safe_update import DEFAULT_HOLDOUT, DEFAULT_PASSES

FEWEST_RELEASES = 2


class _Rows(NamedTuple):
    X: Any
    y: Any
    importance: Floats

    def part(self, chosen: Any) -> "_Rows":
        return _Rows(self.X[chosen], self.y[chosen], self.importance[chosen])

    def share(self, chosen: Any) -> float:
        """Of some of the rows, by weight."""
        return float(self.importance[chosen].sum() / self.importance.sum())


def releases(
    X: Any,
    y: Any = None,
    *,
    every: int,
    methods: Sequence[str] = tuple(METHODS),
    max_negative: float = DEFAULT_BUDGET,
    anchor: float = DEFAULT_ANCHOR,
    endowment: float = DEFAULT_ENDOWMENT,
    distillation: float = DEFAULT_DISTILLATION,
    holdout: float = DEFAULT_HOLDOUT,
    passes: int = DEFAULT_PASSES,
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
        After how many rows a model is shipped. There must be rows for two releases, and some behind
        them.
    methods : sequence of str
        By what each model follows from the one before: "plain" (it learns on), "retrained" (learned
        anew from all rows so far, in random order), "endowment" (as plain, with an endowment),
        "distillation" (as plain, from labels mixed with the probabilities of the model before),
        "update" (`rarefy.update` within the budget; where it finds no better model, the old one
        stays, and the rows are learned with those that come next), "replay" (the same, with all
        rows before learned once more), "anchor" (with an anchor).
    max_negative, anchor, holdout : float
        Those of `rarefy.update`.
    passes : int
        That of `rarefy.update`; all other methods learn each row once.
    endowment : float
        That of the method "endowment".
    distillation : float
        The share of the probabilities of the model before, for the method "distillation".
    sample_weight : array-like, optional
        Weights of the rows; a reader has its own.
    **parameters
        Those of SparseOnlineClassifier, of all models.

    Returns
    -------
    list of Chain
        One for each method, in their order: `releases`, each with `accuracy`, `lost_rate`,
        `won_rate`, `churn`, `n_weights` and `n_changed`; means of these; and `lost_at_the_end`, the
        answers that the last model has lost since the first.

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
    if not isinstance(distillation, float) or not 0.0 <= distillation < 1.0:
        raise ConfigError(f"distillation={distillation!r}: a share from 0 to below 1 is expected.")
    if "distillation" in methods and parameters.get("loss", "logistic") != "logistic":
        raise ConfigError("methods: distillation needs the probabilities of loss='logistic'.")
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
    shipped = {
        "plain": lambda: _learning_on(model, rows, ends),
        "retrained": lambda: _retrained(model, rows, ends),
        "endowment": lambda: _learning_on(_with(model, endowment=endowment), rows, ends),
        "distillation": lambda: _distilled(model, rows, ends, distillation),
        "update": lambda: _updated(model, rows, ends, how),
        "replay": lambda: _updated(model, rows, ends, how, replays=True),
        "anchor": lambda: _updated(model, rows, ends, {**how, "anchor": anchor}),
    }
    return [_chain(method, shipped[method](), rows, ends) for method in methods]


def _rows(X: Any, y: Any, sample_weight: Any) -> _Rows:
    if isinstance(X, Reader):
        if y is not None or sample_weight is not None:
            raise InputError("y and sample_weight are for matrices; a reader has its own.")
        read = to_matrix(X)
        return _Rows(read.X, read.y, read.sample_weight)
    if y is None:
        raise InputError("y=None: labels are needed.")
    X = sparse.csr_array(X)
    if len(y) != X.shape[0]:
        raise InputError(f"X has {X.shape[0]:,} rows, and y {len(y):,} labels.")
    return _Rows(X, np.asarray(y), check_importance(sample_weight, len(y)))


def _with(model: SparseOnlineClassifier, **parameters: Any) -> SparseOnlineClassifier:
    return SparseOnlineClassifier(**{**model.get_params(), **parameters})


def _learn(model: SparseOnlineClassifier, rows: _Rows, chosen: Any) -> SparseOnlineClassifier:
    part = rows.part(chosen)
    classes = np.unique(rows.y)
    model.partial_fit(part.X, part.y, classes=classes, sample_weight=part.importance)
    return model


def _learning_on(
    model: SparseOnlineClassifier, rows: _Rows, ends: Sequence[int]
) -> Iterator[SparseOnlineClassifier]:
    model = _with(model)
    for begin, end in pairwise([0, *ends]):
        yield deepcopy(_learn(model, rows, slice(begin, end)))


def _retrained(
    model: SparseOnlineClassifier, rows: _Rows, ends: Sequence[int]
) -> Iterator[SparseOnlineClassifier]:
    for number, end in enumerate(ends):
        yield _learn(_with(model), rows, np.random.default_rng(number).permutation(end))


def _distilled(
    model: SparseOnlineClassifier, rows: _Rows, ends: Sequence[int], share: float
) -> Iterator[SparseOnlineClassifier]:
    live = _learn(_with(model), rows, slice(0, ends[0]))
    yield live
    for begin, end in pairwise(ends):
        new = rows.part(slice(begin, end))
        targets = share * live.predict_proba(new.X)
        targets[np.arange(len(new.y)), np.searchsorted(live.classes_, new.y)] += 1.0 - share
        soft = soft_targets(new.X, targets, classes=live.classes_, sample_weight=new.importance)
        live = deepcopy(live).partial_fit(soft.X, soft.y, sample_weight=soft.sample_weight)
        yield live


def _updated(
    model: SparseOnlineClassifier,
    rows: _Rows,
    ends: Sequence[int],
    how: dict[str, Any],
    *,
    replays: bool = False,
) -> Iterator[SparseOnlineClassifier]:
    live, learned = _learn(_with(model), rows, slice(0, ends[0])), ends[0]
    yield live
    for end in ends[1:]:
        new = rows.part(slice(learned, end))
        how["replay"] = rows.part(slice(0, learned)) if replays else ()
        found = update(live, new.X, new.y, sample_weight=new.importance, **how)
        if found.model is not None:
            live, learned = found.model, end
        yield live


def _chain(
    method: str, shipped: Iterator[SparseOnlineClassifier], rows: _Rows, ends: Sequence[int]
) -> Chain:
    found: list[Release] = []
    models: list[SparseOnlineClassifier] = []  # the first, and the last so far
    judged = rows
    for number, model in enumerate(shipped):
        judged = rows.part(slice(ends[number], (*ends, None)[number + 1]))
        found.append(
            _release(number + 1, ends[number], models[-1] if models else None, model, judged)
        )
        models = [*models[:1], model]
    at_the_end = _changes(models[0], models[-1], judged)
    return Chain(method, found, at_the_end["lost_rate"], at_the_end["won_rate"])


def _release(number: int, n_learned: int, before: Any, model: Any, judged: _Rows) -> Release:
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
        **changes,
    )


def _changes(before: Any, model: Any, judged: _Rows) -> dict[str, Any]:
    old, new = before.predict(judged.X), model.predict(judged.X)
    was_right, is_right = old == judged.y, new == judged.y
    return {
        "lost_rate": judged.share(was_right & ~is_right),
        "won_rate": judged.share(~was_right & is_right),
        "churn": judged.share(old != new),
        "n_changed": int((model.sparse_coef_ != before.sparse_coef_).nnz),
    }
