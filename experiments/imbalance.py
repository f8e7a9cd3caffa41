# ruff: noqa: E501
"""F1 where one class is rare: the default, balanced classes, and a threshold that was found.

`python -m experiments.imbalance` writes docs/results/imbalance.md.

Rows are split in four parts learned and one part predicted, five times. The threshold is found on
a quarter of what is learned, by a model of the other three; it is then that of a model of all.
"""

import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold, train_test_split
from threadpoolctl import threadpool_limits

from benchmarks.tables import markdown_table
from experiments.data import Labelled, criteo, newsgroups, rcv1, reuters, svmlight, with_share
from experiments.records import RESULTS, Records, head_of_page
from rarefy import SparseOnlineClassifier
from rarefy.model.ranking import Ranking

SHARE = 0.03
N_SPLITS = 5


def made() -> Labelled:
    from scipy import sparse

    X, y = make_classification(
        20_000, 100, n_informative=10, weights=[1.0 - SHARE], flip_y=0.005, random_state=0
    )
    return sparse.csr_array(X), y == 1


def spam() -> Labelled:
    X, y = svmlight("sms-spam", "unigram.svm.xz")
    return X, y > 0


def rare_spam() -> Labelled:
    return with_share(*spam(), SHARE)


def topic(name: str) -> Labelled:
    X, topics = reuters()
    return X, topics == name


def space() -> Labelled:
    X, groups = newsgroups()
    return X, groups == "sci.space"


def rare_rcv1() -> Labelled:
    X, y = rcv1()
    return with_share(X, y > 0, 0.1)


def rare_a9a() -> Labelled:
    X, y = svmlight("a9a", "a9a.svm.xz")
    return with_share(X, y > 0, SHARE)


DATA: dict[str, Callable[[], Labelled]] = {
    "SMS, spam": spam,
    "SMS, rare spam": rare_spam,
    "Reuters, crude": partial(topic, "crude"),
    "Reuters, interest": partial(topic, "interest"),
    "20 newsgroups, sci.space": space,
    "rcv1, fewer positives": rare_rcv1,
    "a9a, fewer positives": rare_a9a,
    "Criteo, clicks": criteo,
    "made": made,
}


def best_threshold(model: Any, X: Any, y: Any) -> float:
    scores = model.decision_function(X)
    return Ranking(scores, y, np.ones(len(y))).best_f1()[1]


def with_found_threshold(X: Any, y: Any, **parameters: Any) -> Any:
    X_fit, X_held, y_fit, y_held = train_test_split(
        X, y, test_size=0.25, stratify=y, random_state=0
    )
    threshold = best_threshold(
        SparseOnlineClassifier(**parameters).fit(X_fit, y_fit), X_held, y_held
    )
    return SparseOnlineClassifier(decision_threshold=threshold, **parameters).fit(X, y)


OURS = {
    "default": lambda X, y: SparseOnlineClassifier().fit(X, y),
    "balanced": lambda X, y: SparseOnlineClassifier(class_weight="balanced").fit(X, y),
    "threshold": with_found_threshold,
    "balanced, threshold": lambda X, y: with_found_threshold(X, y, class_weight="balanced"),
}
THEIRS = {
    "SGD": lambda X, y: SGDClassifier(random_state=0).fit(X, y),
    "logistic regression": lambda X, y: LogisticRegression(max_iter=300).fit(X, y),
    "logistic regression, balanced": lambda X, y: LogisticRegression(
        max_iter=300, class_weight="balanced"
    ).fit(X, y),
}
LEARNERS = OURS | THEIRS
Key = tuple[str, str]  # data set, learner


class Found(NamedTuple):
    share: float  # of positive rows
    f1: list[float]  # by split


def read(key: Any, value: Any) -> tuple[Key, Found]:
    return tuple(key), Found(*value)


def found_by(learner: Any, X: Any, y: Any) -> Found:
    X = X.tocsr()
    X.indices, X.indptr = (part.astype(np.int32) for part in (X.indices, X.indptr))
    folds = StratifiedKFold(N_SPLITS, shuffle=True, random_state=1)
    scores = [
        float(f1_score(y[held], learner(X[learned], y[learned]).predict(X[held])))
        for learned, held in folds.split(np.zeros(len(y)), y)
    ]
    return Found(float(np.mean(y)), scores)


def page(records: Mapping[Key, Found]) -> str:
    rows, best = [], Counter[str]()
    for data in DATA:
        means = {name: float(np.mean(records[data, name].f1)) for name in LEARNERS}
        highest = max(round(means[name], 3) for name in OURS)
        best.update(name for name in OURS if round(means[name], 3) == highest)
        share = f"{records[data, 'default'].share:.1%}".replace("%", " %")
        rows.append([data, share, *(f"{mean:.3f}" for mean in means.values())])
    places = ", ".join(f"*{name}* on {number}" for name, number in best.most_common())
    return f"""{head_of_page("imbalance")}# Rare classes: class weights or a threshold?

Which helps more if one class is rare: class weights, or a decision threshold chosen on held-out rows?
[When one class is rare](../how-to/imbalanced.md) has the advice that follows from this table.

F1 on held-out rows, mean of {N_SPLITS} splits:

{markdown_table(["data", "positive rows", *LEARNERS], rows)}

- *default*: `SparseOnlineClassifier()`.
- *balanced*: `class_weight="balanced"`.
- *threshold*: `decision_threshold` is the one with the best F1 on a quarter of the training rows, for a model of the
  other three quarters.
- *SGD* and *logistic regression*: scikit-learn's `SGDClassifier()` and `LogisticRegression(max_iter=300)`.

The highest F1 of rarefy's four settings, on {len(DATA)} data sets (a tie counts for both): {places}.
"""


def main() -> None:
    warnings.simplefilter("ignore")
    records = Records.of_page("imbalance", read)
    for data, load in DATA.items():
        missing = [name for name in LEARNERS if (data, name) not in records]
        X, y = load() if missing else (None, None)
        for name in missing:
            with threadpool_limits(1):  # many would wait for each other on a busy machine
                records.keep({(data, name): found_by(LEARNERS[name], X, y)})
            print(data, name, records[data, name], flush=True)
    (RESULTS / "imbalance.md").write_text(page(records))


if __name__ == "__main__":
    main()
