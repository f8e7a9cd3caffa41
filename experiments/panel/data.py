"""The data sets: as they come, in raw units, and rearranged in ways that learners find hard."""

from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import datasets
from sklearn.model_selection import KFold, StratifiedKFold

from experiments import data as shared
from experiments.data import Labelled
from experiments.reproduction import uci

N_FOLDS = 5
N_REPEATS = 6
MOST_ROWS = 10_000
SEED = 0
COPIES = 5
LEAST_OF_A_CLASS = 30
DENSE, TEXT, CLICKS, REGRESSION = "small tables", "texts", "clicks", "regression"
ACCURACY, AUC, R2 = "accuracy", "AUC", "R²"


class Task(NamedTuple):
    """Rows, the numbers of their classes or their targets, and their folds."""

    X: Any
    y: NDArray[Any]
    folds: NDArray[np.int64]

    def split(self, fold: int) -> tuple[Any, NDArray[Any], Any, NDArray[Any]]:
        """What is learned, and what is predicted."""
        held = self.folds == fold
        return self.X[~held], self.y[~held], self.X[held], self.y[held]


def as_they_come(y: NDArray[Any]) -> NDArray[np.int64]:
    return np.arange(len(y))


def class_by_class(y: NDArray[Any]) -> NDArray[np.int64]:
    return np.argsort(y, kind="stable")


def in_copies(y: NDArray[Any]) -> NDArray[np.int64]:
    """Each row several times; its copies are in the same fold."""
    return np.repeat(np.arange(len(y)), COPIES)


class Source(NamedTuple):
    kind: str
    title: str
    read: Callable[[], Labelled]
    measure: str = ACCURACY
    rows: Callable[[NDArray[Any]], NDArray[np.int64]] = as_they_come
    most_rows: int = MOST_ROWS
    read_others: Callable[[], Labelled] | None = None  # more rows of the same kind


def of_scikit_learn(name: str) -> Callable[[], Labelled]:
    return lambda: getattr(datasets, f"load_{name}")(return_X_y=True)


def of_uci(name: str) -> Callable[[], Labelled]:
    def read() -> Labelled:
        table, y = uci.read(name)
        return uci.as_numbers(table, standardised=False).toarray(), y.to_numpy()

    return read


def words(*path: str) -> Callable[[], Labelled]:
    return lambda: shared.svmlight(*path)


def diabetes(offset: float = 0.0) -> Labelled:
    X, y = datasets.load_diabetes(return_X_y=True, scaled=False)
    return X, y + offset


def housing_in_other_units() -> Labelled:
    """Prices in dollars; the units of the columns differ by up to a million."""
    X, y = of_uci("housing")()
    return X * 10.0 ** (np.arange(X.shape[1]) % 7 - 3), 1000.0 * y


def linnerud() -> Labelled:
    """Weight, the first of three targets."""
    X, y = datasets.load_linnerud(return_X_y=True)
    return X, y[:, 0]


def alcohol() -> Labelled:
    X, _ = datasets.load_wine(return_X_y=True)
    return X[:, 1:], X[:, 0]


def hundred_classes() -> Labelled:
    return datasets.make_classification(
        4_000, 60, n_informative=30, n_classes=100, n_clusters_per_class=1, class_sep=3.0,
        random_state=SEED,
    )  # fmt: skip


def made_regression() -> Labelled:
    X, y = datasets.make_regression(2_000, 100, n_informative=10, noise=10.0, random_state=SEED)
    return X, y + 1e4


def topics() -> Labelled:
    """Those with at least thirty stories."""
    X, names = shared.reuters()
    counts = Counter(names)
    common = np.array([counts[name] >= LEAST_OF_A_CLASS for name in names])
    return X[common], names[common]


def crude_oil() -> Labelled:
    X, names = shared.reuters()
    return X, names == "crude"


def rare_incomes() -> Labelled:
    X, y = shared.svmlight("a9a", "a9a.svm.xz")
    return shared.with_share(X, y > 0.0, 0.03)


SOURCES = {
    "iris": Source(DENSE, "flowers", of_scikit_learn("iris")),
    "wine": Source(DENSE, "chemical analyses", of_scikit_learn("wine")),
    "digits": Source(DENSE, "8 × 8 pixels", of_scikit_learn("digits")),
    "breast cancer": Source(DENSE, "cell nuclei", of_scikit_learn("breast_cancer")),
    "wbc": Source(DENSE, "breast cancer, graded cells", of_uci("wbc")),
    "wpbc": Source(DENSE, "breast cancer, recurrence", of_uci("wpbc")),
    "crx": Source(DENSE, "credit approval", of_uci("crx")),
    "crx, 5 copies": Source(DENSE, "... each row five times", of_uci("crx"), rows=in_copies),
    "zoo": Source(DENSE, "animals", of_uci("zoo")),
    "kr-vs-kp": Source(DENSE, "chess endgames", of_uci("krvskp")),
    "magic04": Source(DENSE, "telescope", of_uci("magic04")),
    "mushroom": Source(DENSE, "edible or not", of_uci("mushroom")),
    "ad": Source(DENSE, "advertisements on web pages", of_uci("ad")),
    "spambase": Source(DENSE, "frequencies of words in e-mails", of_uci("spambase")),
    "spambase, sorted": Source(
        DENSE, "... class by class", of_uci("spambase"), rows=class_by_class
    ),
    "hundred": Source(DENSE, "made, 100 classes", hundred_classes),
    "sms": Source(TEXT, "spam messages", words("sms-spam", "unigram.svm.xz")),
    "sms, sorted": Source(
        TEXT, "... class by class", words("sms-spam", "unigram.svm.xz"), rows=class_by_class
    ),
    "books": Source(TEXT, "reviews, words and pairs", words("amazon-books", "ub6000.svm.xz")),
    "dvd": Source(TEXT, "reviews, words and pairs", words("amazon-dvd", "ub6000.svm.xz")),
    "movies": Source(TEXT, "reviews, words and pairs", words("movie-reviews", "ub.svm.xz")),
    "imdb": Source(
        TEXT,
        "reviews, words",
        words("imdb", "unigram-train.svm.xz"),
        read_others=words("imdb", "unigram-test.svm.xz"),
    ),
    "rcv1": Source(TEXT, "news, tf-idf", shared.rcv1),
    "news20": Source(
        TEXT, "posts", words("news20-multiclass-2000", "news20-multiclass-2000.svm.xz")
    ),
    "reuters": Source(TEXT, "news", topics, most_rows=3_000),
    "reuters, crude": Source(TEXT, "news, 4 % about oil", crude_oil, AUC),
    "criteo": Source(CLICKS, "clicks, a feature for each value of 39 fields", shared.criteo, AUC),
    "a9a": Source(CLICKS, "incomes, 123 indicators", words("a9a", "a9a.svm.xz"), AUC),
    "a9a, 3 %": Source(CLICKS, "... 3 % of them high", rare_incomes, AUC),
    "diabetes": Source(REGRESSION, "progression", diabetes, R2),
    "diabetes + 10⁶": Source(REGRESSION, "... with an offset", lambda: diabetes(1e6), R2),
    "diabetes, 5 copies": Source(
        REGRESSION, "... each row five times", diabetes, R2, rows=in_copies
    ),
    "housing": Source(REGRESSION, "prices", of_uci("housing"), R2),
    "housing, units": Source(REGRESSION, "... in other units", housing_in_other_units, R2),
    "linnerud": Source(REGRESSION, "weights of 20 people", linnerud, R2),
    "alcohol": Source(REGRESSION, "of wines", alcohol, R2),
    "made + 10⁴": Source(REGRESSION, "made, 10 of 100 features matter", made_regression, R2),
}


def task(source: Source) -> Task:
    """A sample in random order, its folds, and then the source's own arrangement."""
    X, y = source.read()
    return arranged(source, X, y, in_random_order(len(y))[: source.most_rows], SEED)


class Fresh(NamedTuple):
    """Tasks for repeats of a comparison, and the samples that they are made of."""

    tasks: list[Task]
    n_samples: int
    are_other_rows: bool  # than those of the panel


def fresh(source: Source) -> Fresh:
    """Other rows of the source, in several orders and folds.

    A sample is as large as the panel's own, and has no row of it, nor of another sample. Where a
    source has too few rows for that, they are those of the panel.
    """
    X, y = (source.read_others or source.read)()
    order = in_random_order(len(y))
    others = order if source.read_others else order[source.most_rows :]
    n_others = min(len(others) // source.most_rows, N_REPEATS)
    samples = [
        (others if n_others else order)[number * source.most_rows :][: source.most_rows]
        for number in range(max(1, n_others))
    ]
    seeds = range(SEED + 1, SEED + 1 + N_REPEATS)
    orders = [
        np.random.default_rng(seed).permutation(samples[seed % len(samples)]) for seed in seeds
    ]
    tasks = [arranged(source, X, y, *one) for one in zip(orders, seeds, strict=True)]
    return Fresh(tasks, len(samples), n_others > 0)


def in_random_order(n_rows: int) -> NDArray[np.int64]:
    return np.random.default_rng(SEED).permutation(n_rows)


def arranged(source: Source, X: Any, y: NDArray[Any], sample: NDArray[np.int64], seed: int) -> Task:
    y = y[sample] if source.measure == R2 else np.unique(y[sample], return_inverse=True)[1]
    X = in_use(sparse.csr_array(X)[sample]) if sparse.issparse(X) else X[sample]
    rows = source.rows(y)
    return Task(X[rows], y[rows], folds_of(y, source.measure, seed)[rows])


def in_use(X: sparse.csr_array) -> sparse.csr_array:
    """Without empty columns, and with indices that every tool takes."""
    X = X[:, np.unique(X.indices)]
    X.sort_indices()
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X


def folds_of(y: NDArray[Any], measure: str, seed: int = SEED) -> NDArray[np.int64]:
    splitter = (KFold if measure == R2 else StratifiedKFold)(
        N_FOLDS, shuffle=True, random_state=seed
    )
    folds = np.empty(len(y), dtype=np.int64)
    for number, (_, held) in enumerate(splitter.split(np.zeros(len(y)), y)):
        folds[held] = number
    return folds
