# ruff: noqa: E501
"""Accuracy and size of models that learn in shards, next to those without.

`python -m experiments.shards` writes docs/results/shards.md.

One pass, 5 folds, the rows in three random orders. Made data have enough rows for 128 shards; a
fifth of them are predicted.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.data import zipf_rows
from benchmarks.tables import markdown_table
from experiments.panel.data import N_FOLDS, SOURCES, folds_of, in_use
from experiments.records import RESULTS, Records, head_of_page
from rarefy import SparseOnlineClassifier
from rarefy.engine import sharding

CHOSEN_ON = ("books", "magic04", "kr-vs-kp", "spambase", "dvd", "imdb", "sms", "mushroom")
CONFIRMED_ON = ("a9a", "criteo", "reuters", "reuters, crude")
SOME = ("books", "a9a", "sms", "kr-vs-kp", "imdb", "reuters, crude")
WITH_ROWS = ("imdb", "a9a", "criteo")  # enough for some rounds in shards
MADE = {"made, 1,000 features": 1_000, "made, 100,000 features": 100_000}
MADE_ROWS = 200_000
ORDERS = (0, 1, 2)
FEW_ROWS, USUAL_ROWS = 64, sharding.FEWEST_OF_A_SHARD  # of a shard in a round, at least

DEFAULT_RULE = "scale-free"
OTHER_RULES = ("scale-free-ftrl", "ftrl", "adagrad-rda")
RULES = (DEFAULT_RULE, *OTHER_RULES)


class Case(NamedTuple):
    """One comparison: models with some numbers of shards, and without."""

    rule: str
    data: str
    fewest_rows: int
    shards: tuple[int, ...]


CASES = (
    *(Case(DEFAULT_RULE, data, FEW_ROWS, (2, 16)) for data in (*CHOSEN_ON, *CONFIRMED_ON)),
    *(Case(rule, data, FEW_ROWS, (2, 16)) for rule in OTHER_RULES for data in SOME),
    *(Case(rule, data, USUAL_ROWS, (2,)) for rule in RULES for data in WITH_ROWS),
    *(Case(rule, data, USUAL_ROWS, (2, 16, 128)) for rule in RULES for data in MADE),
)

Key = tuple[str, str, int, int]  # rule, data, fewest rows, shards


class Outcome(NamedTuple):
    """Of the models of all folds in one order of the rows."""

    accuracy: float
    standard_error: float
    log_loss: float
    n_weights: int
    n_mattering: int  # weights of features that the labels depend on; known of made data


class Data(NamedTuple):
    X: Any
    y: NDArray[Any]
    folds: NDArray[np.int64]
    n_folds: int
    matters: NDArray[np.bool_]  # which features do; of real data, it is not known


def read(key: Any, value: Any) -> tuple[Key, list[Outcome]]:
    return tuple(key), [Outcome(*one) for one in value]


def real(name: str) -> Data:
    """All rows of a source, but a sample of large tasks of many classes."""
    source = SOURCES[name]
    X, y = source.read()
    sample = np.random.default_rng(0).permutation(len(y))
    if len(np.unique(y)) > 20:
        sample = sample[: source.most_rows]
    y = np.unique(y[sample], return_inverse=True)[1]
    X = in_use(sparse.csr_array(X)[sample]) if sparse.issparse(X) else X[sample]
    folds = folds_of(y, source.measure)
    return Data(X, y, folds, N_FOLDS, np.zeros(X.shape[1], bool))


def made(n_features: int) -> Data:
    """Zipf's frequencies, and a label that a tenth of the features explain, with noise."""
    found = zipf_rows(MADE_ROWS, n_features, 32)
    flipped = np.random.default_rng(1).random(MADE_ROWS) < 0.1
    y = np.where(flipped, -found.y, found.y)
    return Data(found.X, y, np.arange(MADE_ROWS) % N_FOLDS, 1, found.weights != 0.0)


def outcome(data: Data, rule: str, n_shards: int, order: int) -> Outcome:
    rows = np.random.default_rng(100 + order).permutation(len(data.y))
    right: list[NDArray[Any]] = []
    losses: list[NDArray[Any]] = []
    n_weights = n_mattering = 0
    for fold in range(data.n_folds):
        learned, held = rows[data.folds[rows] != fold], np.flatnonzero(data.folds == fold)
        model = SparseOnlineClassifier(rule=rule, shards=n_shards, passes=1, shuffle=False)
        model.fit(data.X[learned], data.y[learned])
        y, p = data.y[held], model.predict_proba(data.X[held])
        right.append(model.predict(data.X[held]) == y)
        losses.append(-np.log(np.maximum(p[range(len(y)), model.classes_.searchsorted(y)], 1e-15)))
        n_weights += model.n_nonzero_
        n_mattering += int(data.matters[(model.coef_ != 0.0).any(axis=0)].sum())
    told = np.concatenate(right).astype(float)
    error = told.std() / math.sqrt(len(told))
    loss = float(np.concatenate(losses).mean())
    return Outcome(float(told.mean()), float(error), loss, int(n_weights), n_mattering)


def mean(outcomes: Iterable[Outcome]) -> Outcome:
    return Outcome(*np.mean(list(outcomes), axis=0).tolist())


class Compared(NamedTuple):
    """A case as tables show it: what is not of the model without shards is by number of shards."""

    accuracy: float  # without shards
    by_order: float  # its standard deviation over orders, in standard errors
    differences: dict[int, float]  # of the accuracy, in standard errors
    kept: dict[int, float]  # share of the weights
    losses: dict[int, float]  # differences of the log-loss


def compared(records: Mapping[Key, list[Outcome]], case: Case) -> Compared:
    by_shards = {n: records[case.rule, case.data, case.fewest_rows, n] for n in (1, *case.shards)}
    alone, error = mean(by_shards[1]), mean(by_shards[1]).standard_error
    means = {n: mean(by_shards[n]) for n in case.shards}
    return Compared(
        alone.accuracy,
        float(np.std([one.accuracy for one in by_shards[1]], ddof=1)) / error,
        {n: (one.accuracy - alone.accuracy) / error for n, one in means.items()},
        {n: one.n_weights / alone.n_weights for n, one in means.items()},
        {n: one.log_loss - alone.log_loss for n, one in means.items()},
    )


def signed(number: float, digits: int = 2) -> str:
    return f"{number:+.{digits}f}".replace("-", "−")


def cells(found: Compared) -> list[str]:
    return [
        f"{found.accuracy:.1%}".replace("%", " %"),
        f"{found.by_order:.2f}",
        *(signed(one) for one in found.differences.values()),
        ", ".join(f"{one:.3f}" for one in found.kept.values()),
    ]


def columns(*shards: int) -> list[str]:
    kept = f"weights kept: {', '.join(map(str, shards))} shards"
    return ["accuracy without shards", "by order", *(f"{n} shards" for n in shards), kept]


def range_of(numbers: Iterable[float]) -> str:
    low, high = min(found := list(numbers)), max(found)
    return f"{low:.2f}" if f"{low:.2f}" == f"{high:.2f}" else f"{low:.2f} to {high:.2f}"


def default_rule(records: Mapping[Key, list[Outcome]]) -> str:
    cases = [case for case in CASES if (case.rule, case.fewest_rows) == (DEFAULT_RULE, FEW_ROWS)]
    found = {case.data: compared(records, case) for case in cases}
    stars = {data: "*" if data in CONFIRMED_ON else "" for data in found}
    table = markdown_table(
        ["", *columns(2, 16)], [[stars[data] + data, *cells(one)] for data, one in found.items()]
    )
    worst = {n: signed(min(one.differences[n] for one in found.values())) for n in (2, 16)}
    kept = range_of(share for one in found.values() for share in one.kept.values())
    loss = max(change for one in found.values() for change in one.losses.values())
    return f"""{table}

At worst, the accuracy differs by {worst[2]} standard errors with 2 shards and by {worst[16]} with 16; {kept} of the weights are
kept, and the log-loss is higher by {loss:.4f} at most. The aim was −0.5, and weights within 10 %."""


def other_rules(records: Mapping[Key, list[Outcome]]) -> str:
    rows = []
    for rule in OTHER_RULES:
        cases = [case for case in CASES if (case.rule, case.fewest_rows) == (rule, FEW_ROWS)]
        found = [compared(records, case) for case in cases]
        row = [f"`{rule}`"]
        for n in (2, 16):
            changes = [one.differences[n] for one in found]
            row.append(f"{signed(float(np.mean(changes)))}, {signed(min(changes))}")
        row += [range_of(one.kept[n] for one in found) for n in (2, 16)]
        rows.append(row)
    head = ["", "2 shards: mean, worst", "16 shards: mean, worst"]
    return markdown_table([*head, "weights kept with 2", "with 16"], rows)


def usual_rows(records: Mapping[Key, list[Outcome]], *shards: int) -> str:
    cases = [case for case in CASES if (case.fewest_rows, case.shards) == (USUAL_ROWS, shards)]
    rows = [[f"`{case.rule}`", case.data, *cells(compared(records, case))] for case in cases]
    return markdown_table(["", "", *columns(*shards)], rows)


def kept_of_made(records: Mapping[Key, list[Outcome]]) -> str:
    cases = [case for case in CASES if case.data in MADE]
    kept = range_of(share for case in cases for share in compared(records, case).kept.values())
    return f"Of the weights, {kept} are kept (aim: within 10 %)."


def noise(records: Mapping[Key, list[Outcome]]) -> str:
    """Which weights are missing where features are few."""
    data = next(iter(MADE))
    rows = []
    for n in (1, 2, 16, 128):
        found = mean(records[DEFAULT_RULE, data, USUAL_ROWS, n])
        others = found.n_weights - found.n_mattering
        rows.append(["none" if n == 1 else str(n), f"{found.n_mattering:.0f}", f"{others:.0f}"])
    return markdown_table(
        ["shards", "weights of features that matter", "weights of the other features"], rows
    )


def page(records: Mapping[Key, list[Outcome]]) -> str:
    return f"""{head_of_page("shards")}# Shards: accuracy and size

What learning [in shards](../how-to/shards.md) costs in accuracy. What it gains in time is measured in
[Benchmarks](benchmarks.md#shards).

One pass, {N_FOLDS} folds, the rows in three random orders. Differences to the model without shards are in standard errors of the
accuracy. "By order" is how much the model without shards varies with the order of the rows (a standard deviation).

## The default rule, with few rows for each shard

A shard learns {USUAL_ROWS:,} rows of a round at least. With that, most of these data sets would be learned in order, so the minimum
is {FEW_ROWS} in this table, which is harder. The constants of shards were chosen on the first eight data sets, and confirmed on
those with a star; how often a row counts, and how long rounds are, was changed after all had been looked at.

{default_rule(records)}

## Other rules, with few rows for each shard

On {", ".join(SOME)}, with {FEW_ROWS} rows for a shard at least:

{other_rules(records)}

With as few rows as that, these rules do not always meet the aim, which is why a shard learns {USUAL_ROWS:,} rows at least.

## With the minimum as it is

The real data sets with the most rows have enough for some rounds of 2 shards:

{usual_rows(records, 2)}

Made data have {MADE_ROWS * 4 // 5:,} rows to learn, of about 30 features, one in ten of which matters. With 128 shards, 7 at most find enough
rows in a round:

{usual_rows(records, 2, 16, 128)}

{kept_of_made(records)} With 1,000 features, shards drop weights of features that do
not matter (`{DEFAULT_RULE}`):

{noise(records)}
"""


def main() -> None:
    records: Records[Key, list[Outcome]] = Records.of_page("shards", read)
    for case in CASES:
        keys = [(case.rule, case.data, case.fewest_rows, n) for n in (1, *case.shards)]
        missing = [key for key in keys if key not in records]
        if not missing:
            continue
        data = made(MADE[case.data]) if case.data in MADE else real(case.data)
        sharding.FEWEST_OF_A_SHARD = case.fewest_rows
        for key in missing:
            found = [outcome(data, case.rule, key[-1], order) for order in ORDERS]
            records.keep({key: found})
            print(key, mean(found), flush=True)
    (RESULTS / "shards.md").write_text(page(records))


if __name__ == "__main__":
    main()
