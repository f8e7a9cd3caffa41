"""`rarefy train` against VW, both from a text file of 1 GB to a model file, start-up included."""

import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from benchmarks.data import zipf_rows
from benchmarks.tables import markdown_table
from benchmarks.timing import REPEATS

N_BYTES = 1 << 30
BITS = 22


def write_text(folder: Path) -> dict[str, Path]:
    """The same rows in both formats: 20,000 of them, over and over until the file is full."""
    dataset = zipf_rows(20_000, 1_000_000)
    X, labels = dataset.X, dataset.y.astype(int)
    values = np.random.default_rng(0).random(X.nnz).round(4)
    features = [f"{i}:{value}" for i, value in zip(X.indices, values, strict=True)]
    rows = [" ".join(features[X.indptr[n] : X.indptr[n + 1]]) for n in range(X.shape[0])]
    paths = {}
    for name, between in (("svmlight", " "), ("vw", " | ")):
        text = "".join(f"{y}{between}{row}\n" for y, row in zip(labels, rows, strict=True)).encode()
        paths[name] = folder / f"rows.{name}"
        with paths[name].open("wb") as file:
            while file.tell() < N_BYTES:
                file.write(text)
    return paths


# A small process of its own, because a child's peak memory counts what its parent has.
LAUNCHER = """
import os, subprocess, sys, time
start = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stderr=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
print(time.perf_counter() - start, usage.ru_maxrss / 1024)
sys.exit(status != 0)
"""


def run(command: list[str]) -> tuple[float, float]:
    """Seconds and peak memory (MiB) of a command, the fastest of several runs."""
    launch = [sys.executable, "-c", LAUNCHER, *command]
    results = []
    for _ in range(REPEATS):
        printed = subprocess.run(launch, check=True, capture_output=True).stdout
        seconds, memory = map(float, printed.split())
        results.append((seconds, memory))
    return min(results)


def measure() -> str:
    if find_spec("vowpalwabbit") is None:
        return "Skipped: VW is not installed."
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = write_text(folder)
        vw = [sys.executable, "-m", "vowpalwabbit", "--quiet", "--ftrl", "--l1", "1"]
        vw += ["--loss_function", "logistic", "-b", str(BITS), "-f", str(folder / "vw.model")]
        ours = [sys.executable, "-m", "rarefy.cli", "train", "--rule", "ftrl", "--l1", "1"]
        ours += ["-b", str(BITS), "-o", str(folder / "rarefy.model")]
        times = {
            "VW": run([*vw, "-d", str(paths["vw"])]),
            "rarefy, VW text": run([*ours, str(paths["vw"])]),
            "rarefy, svmlight": run([*ours, str(paths["svmlight"])]),
        }
    peer = times["VW"][0]
    rows = [
        [name, f"{seconds:.2f}", f"{peer / seconds:.2f}", f"{memory:.0f}"]
        for name, (seconds, memory) in times.items()
    ]
    text = f"ftrl, logistic loss, {BITS} bits, 1 GiB of text, one pass:\n\n"
    return text + markdown_table(["", "s", "times as fast", "MiB"], rows)
