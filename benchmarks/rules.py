"""One pass of every rule against scikit-learn's SGD with penalty='l1', the same data in memory."""

from typing import Any

from sklearn.linear_model import SGDClassifier

from benchmarks.data import Dataset
from benchmarks.tables import markdown_table
from benchmarks.timing import best_of
from rarefy import SparseOnlineClassifier

L1 = 1e-5
# The third entry is the least ratio to scikit-learn that the project promises.
CASES: list[tuple[str, dict[str, Any], float | None]] = [
    ("fobos, cumulative", {"rule": "fobos", "cumulative": True, "l1": L1}, 2.0),
    ("fobos", {"rule": "fobos", "l1": L1}, None),
    ("fr-comid, q = inf", {"rule": "fr-comid", "l1": L1}, None),
    ("rda", {"rule": "rda", "l1": L1}, None),
    ("frda, q = inf", {"rule": "frda", "l1": L1}, 1.3),
    ("frda, q = 2", {"rule": "frda", "q": 2, "l1": L1}, None),
    ("frda, q = 3", {"rule": "frda", "q": 3, "l1": L1}, None),
    ("ftprl", {"rule": "ftprl", "l1": L1}, None),
    ("ftpfrl, q = inf", {"rule": "ftpfrl", "l1": L1}, 0.7),
    ("fobos, l1 and l2", {"rule": "fobos", "l1": L1, "l2": L1}, None),
    ("ftpfrl, l1 and l2", {"rule": "ftpfrl", "l1": L1, "l2": L1}, None),
    ("adagrad-fobos", {"rule": "adagrad-fobos", "l1": L1}, None),
    ("adagrad-rda", {"rule": "adagrad-rda", "l1": L1}, None),
    ("adagrad-ftprl", {"rule": "adagrad-ftprl", "l1": L1}, None),
    ("adagrad-fobos, q = 2", {"rule": "adagrad-fobos", "q": 2, "l1": L1}, None),
    ("adagrad-rda, q = 2", {"rule": "adagrad-rda", "q": 2, "l1": L1}, None),
    ("adagrad-ftprl, q = 2", {"rule": "adagrad-ftprl", "q": 2, "l1": L1}, None),
    ("ftrl", {"rule": "ftrl"}, None),
    ("scale-free", {"rule": "scale-free"}, None),
    ("scale-free-ftrl", {"rule": "scale-free-ftrl"}, None),
    ("truncated-gradient", {"rule": "truncated-gradient", "l1": L1}, None),
    ("ogd", {"rule": "ogd"}, None),
    ("da", {"rule": "da"}, None),
    ("coin", {"rule": "coin"}, None),
    ("pa1", {"rule": "pa1"}, None),
    ("arow", {"rule": "arow"}, None),
    ("pegasos", {"rule": "pegasos"}, None),
    ("fobos, mean of past weights", {"rule": "fobos", "l1": 1e-5, "average": True}, None),
    ("normalized", {"rule": "normalized"}, None),
    ("normalized, l1", {"rule": "normalized", "l1": L1}, None),
    ("normalized-adagrad", {"rule": "normalized-adagrad"}, None),
    ("eg", {"rule": "eg"}, None),
    ("eg-signed", {"rule": "eg-signed"}, None),
    ("p-norm", {"rule": "p-norm"}, None),
    ("ogd in a ball", {"rule": "ogd", "projection": "l2-ball"}, None),
    ("ogd in a box", {"rule": "ogd", "projection": "box"}, None),
    ("da in a ball", {"rule": "da", "projection": "l2-ball"}, None),
    ("fobos, l1 of a column", {"rule": "fobos", "l1": L1, "l1_of": {0: 0.0}}, None),
    ("rda, groups", {"rule": "rda", "l1": L1, "groups": {"first": range(10)}}, None),
]


def peer() -> SGDClassifier:
    return SGDClassifier(
        penalty="l1",
        alpha=L1,
        learning_rate="invscaling",
        power_t=0.5,
        eta0=1.0,
        max_iter=1,
        tol=None,
        shuffle=False,
        fit_intercept=False,
    )


def compare(dataset: Dataset) -> str:
    """A table of `fit` times for one data set."""
    X, y = dataset.X, dataset.y
    peer_time = best_of(peer().fit, X, y)
    rows: list[list[object]] = [["scikit-learn SGD, l1", f"{peer_time * 1e3:.0f}", "1.00", ""]]
    for name, parameters, promised in CASES:
        once = {"passes": 1, "shuffle": False, **parameters}
        model = SparseOnlineClassifier(loss="hinge", fit_intercept=False, **once)
        model.fit(X[:100], y[:100])  # compiles, or loads what was compiled
        ours = best_of(model.fit, X, y)
        bound = "" if promised is None else f"at least {promised}"
        rows.append([name, f"{ours * 1e3:.0f}", f"{peer_time / ours:.2f}", bound])
    title = f"{dataset.name}, {X.nnz / X.shape[0]:.0f} non-zeros a row, hinge loss, one `fit`:\n\n"
    return title + markdown_table(["", "ms", "times as fast", "promised"], rows)
