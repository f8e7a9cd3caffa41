"""F1 where one class is rare: the default, balanced classes, and a threshold that was found.

Rows are split in four parts learned and one part predicted, five times. The threshold is found on
a quarter of what is learned, by a model of the other three; it is then that of a model of all.
"""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold, train_test_split

from experiments.data import (
    Labelled,
    criteo,
    newsgroups,
    rcv1,
    reuters,
    svmlight,
    with_share,
)
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


def data_sets() -> Iterator[tuple[str, Labelled]]:
    X, y = svmlight("sms-spam", "unigram.svm.xz")
    yield "sms-spam, 13 % spam", (X, y > 0)
    yield "sms-spam, 3 % spam", with_share(X, y > 0, SHARE)
    X, topics = reuters()
    yield "reuters, crude", (X, topics == "crude")
    yield "reuters, interest", (X, topics == "interest")
    X, names = newsgroups()
    yield "newsgroups, sci.space", (X, names == "sci.space")
    X, y = rcv1()
    yield "rcv1, 10 % positive", with_share(X, y > 0, 0.1)
    X, y = svmlight("a9a", "a9a.svm.xz")
    yield "a9a, 3 % positive", with_share(X, y > 0, SHARE)
    X, y = criteo()
    yield "criteo, 22 % clicks", (X, y)
    yield "made, 3 % positive", made()


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


LEARNERS = {
    "default": lambda X, y: SparseOnlineClassifier().fit(X, y),
    "balanced": lambda X, y: SparseOnlineClassifier(class_weight="balanced").fit(X, y),
    "threshold": with_found_threshold,
    "balanced, threshold": lambda X, y: with_found_threshold(X, y, class_weight="balanced"),
    "SGD": lambda X, y: SGDClassifier(random_state=0).fit(X, y),
    "logistic regression": lambda X, y: LogisticRegression(max_iter=300).fit(X, y),
    "... balanced": lambda X, y: LogisticRegression(max_iter=300, class_weight="balanced").fit(
        X, y
    ),
}


def f1_of(learner: Any, X: Any, y: Any) -> float:
    X = X.tocsr()
    X.indices, X.indptr = (part.astype(np.int32) for part in (X.indices, X.indptr))
    folds = StratifiedKFold(N_SPLITS, shuffle=True, random_state=1)
    scores = [
        f1_score(y[held], learner(X[learned], y[learned]).predict(X[held]))
        for learned, held in folds.split(np.zeros(len(y)), y)
    ]
    return float(np.mean(scores))


def main() -> None:
    warnings.simplefilter("ignore")
    print("| data | positive |", " | ".join(LEARNERS), "|")
    print("|---|---|" + "---|" * len(LEARNERS))
    for name, (X, y) in data_sets():
        found = [f"{f1_of(learner, X, y):.3f}" for learner in LEARNERS.values()]
        print(f"| {name} | {100 * np.mean(y):.1f} % |", " | ".join(found), "|", flush=True)


if __name__ == "__main__":
    main()
