"""What a new process pays: importing, and the first fit with an empty and with a filled cache."""

import os
import subprocess
import sys
import tempfile

from benchmarks.tables import markdown_table

IMPORT = "import time; start = time.perf_counter(); {}; print(time.perf_counter() - start)"
FIRST_FIT = """
import time
import numpy as np
from rarefy import SparseOnlineClassifier
X = np.random.default_rng(0).normal(size=(100, 5))
y = X[:, 0] > 0
start = time.perf_counter()
SparseOnlineClassifier({}).fit(X, y).predict(X)
print(time.perf_counter() - start)
"""
RULES = ('"frda"', '"fobos", "hinge", cumulative=True', '"ftpfrl"', '"ftpfrl", l2=1e-5', '"ftrl"')


def seconds(code: str, cache: str | None = None) -> float:
    """The number that the code prints, run in a fresh interpreter."""
    environment = dict(os.environ)
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = cache
    run = [sys.executable, "-c", code]
    return float(subprocess.run(run, env=environment, check=True, capture_output=True).stdout)


def measure() -> str:
    peers = min(seconds(IMPORT.format("import sklearn.linear_model, numba")) for _ in range(5))
    ours = min(
        seconds(IMPORT.format("from rarefy import SparseOnlineClassifier")) for _ in range(5)
    )
    text = (
        f"`from rarefy import SparseOnlineClassifier`: {ours:.2f} s, {ours / peers:.2f} times as "
    )
    text += "long as "
    text += (
        f"`import sklearn.linear_model, numba` ({peers:.2f} s); promised: at most 1.2 times.\n\n"
    )
    rows = []
    for arguments in RULES:
        empty, filled = [], []
        for _ in range(3):
            with tempfile.TemporaryDirectory() as cache:
                empty.append(seconds(FIRST_FIT.format(arguments), cache))
                filled.append(seconds(FIRST_FIT.format(arguments), cache))
        rows.append([arguments.replace('"', ""), f"{min(empty):.2f}", f"{min(filled):.2f}"])
    text += "First `fit` and `predict` of a process, in seconds (promised: at most 3 and 0.5):\n\n"
    return text + markdown_table(["rule", "empty cache", "filled cache"], rows)
