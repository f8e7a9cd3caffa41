"""The tools, all with the settings that they come with."""

import re
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier, SGDRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rarefy import SparseOnlineClassifier, SparseOnlineRegressor

SEED = 0
MOST_ROWS_OF_RIVER = 5_000
MOST_UPDATES_OF_RIVER = 5_000_000  # entries times classes


class Answer(NamedTuple):
    """What was predicted, and what the model cost.

    A target or the number of a class for each row; for two classes scores of the second; the
    probabilities of all classes, where the tool has them.
    """

    predicted: NDArray[Any]
    scores: NDArray[Any] | None
    probabilities: NDArray[Any] | None
    n_weights: int
    seconds: float


Run = Callable[[Any, NDArray[Any], Any, bool], Answer]  # X, y, X to predict, is it regression?


def estimated(
    X: Any,
    y: NDArray[Any],
    X_held: Any,
    is_regression: bool,
    classifier: Callable[[], Any],
    regressor: Callable[[], Any],
    scaled: bool = False,
) -> Answer:
    """By an estimator with scikit-learn's methods."""
    scaler = [StandardScaler(with_mean=not sparse.issparse(X))] if scaled else []
    model = make_pipeline(*scaler, regressor() if is_regression else classifier())
    start = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - start
    scores = None if is_regression else model.decision_function(X_held)
    found = model.predict_proba(X_held) if hasattr(model, "predict_proba") else None
    return Answer(model.predict(X_held), scores, found, np.count_nonzero(model[-1].coef_), seconds)


def vowpal_wabbit(X: Any, y: NDArray[Any], X_held: Any, is_regression: bool) -> Answer:
    """Its time is for reading text, too."""
    from vowpalwabbit import Workspace

    n_classes = 0 if is_regression else int(y.max()) + 1
    logistic = ["--loss_function", "logistic"]
    answering = ["--probabilities"] if n_classes > 2 else []
    if is_regression:
        options, labels = [], y
    elif n_classes == 2:
        options, labels = logistic, 2 * y - 1
    else:
        options, labels = [*logistic, "--oaa", str(n_classes)], y + 1
    with TemporaryDirectory() as folder:
        learned, held, model, weights, answers = (
            Path(folder, name) for name in ("learned", "held", "model", "weights", "answers")
        )
        learned.write_text(vw_text(X, labels))
        held.write_text(vw_text(X_held, np.ones(X_held.shape[0], dtype=int)))
        files = ["-d", learned, "-f", model, "--readable_model", weights]
        start = time.process_time()
        Workspace(arg_list=["--quiet", *map(str, files), *options, *answering]).finish()
        seconds = time.process_time() - start
        files = ["-d", held, "-i", model, "-p", answers]
        Workspace(arg_list=["--quiet", "-t", *map(str, files), *answering]).finish()
        lines = answers.read_text().splitlines()
        n_weights = len(re.findall(r"^\d+:", weights.read_text(), re.MULTILINE))
    if n_classes > 2:
        found = np.array([[float(one.split(":")[1]) for one in line.split()] for line in lines])
        return Answer(found.argmax(axis=1), None, found, n_weights, seconds)
    values = np.array([float(line) for line in lines])
    if is_regression:
        return Answer(values, None, None, n_weights, seconds)
    found = np.column_stack([expit(-values), expit(values)])
    return Answer((values > 0.0).astype(int), values, found, n_weights, seconds)


def vw_text(X: Any, labels: NDArray[Any]) -> str:
    return "".join(
        f"{label!r} | {' '.join(f'{name}:{value!r}' for name, value in row.items())}\n"
        for label, row in zip(labels.tolist(), as_dicts(X), strict=True)
    )


def as_dicts(X: Any) -> Iterator[dict[int, float]]:
    X = sparse.csr_array(X)
    for begin, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        yield dict(zip(X.indices[begin:end].tolist(), X.data[begin:end].tolist(), strict=True))


def river(
    X: Any, y: NDArray[Any], X_held: Any, is_regression: bool, scaled: bool = False
) -> Answer:
    """One row at a time, and few rows: it is slow."""
    from river import compose, linear_model, preprocessing

    n_classes = 0 if is_regression else int(y.max()) + 1
    if is_regression:
        own = linear_model.LinearRegression()
    elif n_classes == 2:
        own = linear_model.LogisticRegression()
    else:
        own = linear_model.SoftmaxRegression()
    model = compose.Pipeline(*([preprocessing.StandardScaler()] if scaled else []), own)
    some = rows_for_river(X, n_classes)
    targets = (y[some] == 1 if n_classes == 2 else y[some]).tolist()
    rows = list(as_dicts(X[some]))
    start = time.process_time()
    for row, target in zip(rows, targets, strict=True):
        model.learn_one(row, target)
    seconds = time.process_time() - start
    of_classes = own.weights.values() if n_classes > 2 else [own.weights]
    n_weights = sum(weight != 0.0 for weights in of_classes for weight in weights.values())
    if is_regression:
        values = np.array([model.predict_one(row) for row in as_dicts(X_held)])
        return Answer(values, None, None, n_weights, seconds)
    found = np.zeros((X_held.shape[0], n_classes))
    for number, row in enumerate(as_dicts(X_held)):
        for label, probability in model.predict_proba_one(row).items():
            found[number, int(label)] = probability
    scores = found[:, 1] if n_classes == 2 else None
    return Answer(found.argmax(axis=1), scores, found, n_weights, seconds)


def rows_for_river(X: Any, n_classes: int) -> NDArray[np.int64]:
    """A sample, in the order in which the rows are."""
    n_entries = X.nnz if sparse.issparse(X) else X.size
    affordable = MOST_UPDATES_OF_RIVER * X.shape[0] // (n_entries * max(1, n_classes - 1))
    most = min(MOST_ROWS_OF_RIVER, affordable)
    return np.sort(np.random.default_rng(SEED).permutation(X.shape[0])[:most])


class Method(NamedTuple):
    title: str
    run: Run
    package: str = "rarefy"  # that it needs
    takes_sparse: bool = True


OURS, SGD, VW, SCALED_BATCH = "rarefy", "SGD", "VW", "scaled batch"
SGD_OF_BOTH: dict[str, Any] = {
    "classifier": partial(SGDClassifier, random_state=SEED),
    "regressor": partial(SGDRegressor, random_state=SEED),
}
BATCH: dict[str, Any] = {"classifier": LogisticRegression, "regressor": Ridge}
METHODS = {
    OURS: Method(
        "rarefy",
        partial(estimated, classifier=SparseOnlineClassifier, regressor=SparseOnlineRegressor),
    ),
    SGD: Method("SGD", partial(estimated, **SGD_OF_BOTH)),
    "scaled SGD": Method("SGD, scaled", partial(estimated, **SGD_OF_BOTH, scaled=True)),
    "batch": Method("LR / Ridge", partial(estimated, **BATCH)),
    SCALED_BATCH: Method("LR / Ridge, scaled", partial(estimated, **BATCH, scaled=True)),
    VW: Method("VW", vowpal_wabbit, "vowpalwabbit"),
    "River": Method("River", river, "river"),
    "scaled River": Method(
        "River, scaled", partial(river, scaled=True), "river", takes_sparse=False
    ),
}


def at_hand() -> list[str]:
    """The methods whose packages are installed."""
    return [name for name, method in METHODS.items() if find_spec(method.package)]
