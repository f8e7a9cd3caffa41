"""What a new process pays: importing, and the first fit with an empty and with a filled cache."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

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


def seconds_of_command(*arguments: str | Path) -> float:
    """The best of several runs of `rarefy`, from the shell's point of view."""
    command = [sys.executable, "-m", "rarefy", *map(str, arguments)]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}  # as when a package is installed
    times = []
    for _ in range(9):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, env=environment)
        times.append(time.perf_counter() - start)
    return min(times)


def commands() -> str:
    """What a command takes that has next to nothing to do, once its loops have been compiled."""
    with tempfile.TemporaryDirectory() as folder:
        rows, model = Path(folder, "rows.svm"), Path(folder, "rows.model")
        rows.write_text("1 1:1 2:3\n-1 2:1 3:4\n1 1:1\n-1 3:2\n")
        train = seconds_of_command("train", rows, "-o", model)
        predict = seconds_of_command("predict", model, rows)
        inspect = seconds_of_command("inspect", model)
    return (
        f"Of four rows, `rarefy train` takes {train:.2f} s, `predict` {predict:.2f} s and "
        f"`inspect` {inspect:.2f} s, the start of Python included (aim: a fifth of a second).\n\n"
    )


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
    text += commands()
    text += "First `fit` and `predict` of a process, in seconds (promised: at most 3 and 0.5):\n\n"
    return text + markdown_table(["rule", "empty cache", "filled cache"], rows)
