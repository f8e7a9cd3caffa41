"""`rarefy train` against VW, both from files to a model file, start-up included."""

import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from benchmarks.tables import markdown_table
from benchmarks.texts import (
    click_rows,
    click_rows_for_vw,
    number_rows,
    word_rows,
    write_rows,
    write_times,
)
from rarefy.engine.task import Task
from rarefy.parameters.build import make_loss, make_rule
from rarefy.readers import read
from rarefy.stores.table_store import TableStore
from rarefy.streams.run import Run
from rarefy.streams.stream_model import StreamModel

REPEATS = 3
GIB = 1 << 30
BITS = 22
PASSES = 10
CLICK_TIMES = 25

# A small process of its own, because a child's peak memory counts what its parent has.
LAUNCHER = """
import os, subprocess, sys, time
start = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stderr=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
print(time.perf_counter() - start, usage.ru_maxrss / 1024)
sys.exit(status != 0)
"""
VW = [sys.executable, "-m", "vowpalwabbit", "--quiet", "--ftrl", "--l1", "1"]
VW += ["--loss_function", "logistic", "-b", str(BITS)]
VW += ["--holdout_off"]  # otherwise it may stop before the last pass
OURS = [sys.executable, "-m", "rarefy", "train", "--quiet", "--rule", "ftrl", "--l1", "1"]
HASHED = ["-b", str(BITS)]


def run(command: list[str], repeats: int = REPEATS) -> tuple[float, float]:
    """Seconds and peak memory (MiB) of a command, the fastest of several runs."""
    launch = [sys.executable, "-c", LAUNCHER, *command]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}  # as when a package is installed
    results = []
    for _ in range(repeats):
        printed = subprocess.run(launch, check=True, capture_output=True, env=environment).stdout
        seconds, memory = map(float, printed.split())
        results.append((seconds, memory))
    return min(results)


class Contest:
    """Commands on one job, all compared with the first."""

    def __init__(self, folder: Path, title: str) -> None:
        self.folder = folder
        self.title = title
        self.times: dict[str, tuple[float, float]] = {}

    def vw(self, data: Path, *more: str, name: str = "VW", repeats: int = REPEATS) -> None:
        command = [*VW, "-f", str(self.folder / "vw.model"), "-d", str(data), *more]
        self.times[name] = run(command, repeats)

    def ours(self, name: str, data: Path, *more: str, repeats: int = REPEATS) -> None:
        command = [*OURS, "-o", str(self.folder / "rarefy.model"), str(data), *more]
        self.times[name] = run(command, repeats)

    def table(self) -> str:
        peer = next(iter(self.times.values()))[0]
        rows = [
            [name, f"{seconds:.2f}", f"{peer / seconds:.2f}", f"{memory:.0f}"]
            for name, (seconds, memory) in self.times.items()
        ]
        return f"{self.title}:\n\n" + markdown_table(["", "s", "times as fast", "MiB"], rows)


def numbers(folder: Path) -> list[str]:
    text = write_rows(folder / "rows.vw", number_rows(" | "), GIB)
    svmlight = write_rows(folder / "rows.svm", number_rows(" "), GIB)
    once = Contest(folder, "1 GiB of `index:value`, one pass")
    once.vw(text)
    once.ours("rarefy, VW text", text, *HASHED)
    once.ours("rarefy, svmlight", svmlight, *HASHED)
    once.ours("rarefy, svmlight, store array", svmlight, "--store", "array")
    once.ours("rarefy, svmlight, store table", svmlight, "--store", "table")

    again = Contest(folder, "The same from the row cache, which was there before")
    vw_cache = ["--cache_file", str(folder / "vw.cache")]
    rows = [*HASHED, "--cache", str(folder / "rows.arrow")]
    subprocess.run([*VW, "-d", str(text), *vw_cache], check=True, capture_output=True)
    subprocess.run([*OURS, "-o", str(folder / "m"), str(text), *rows], check=True)
    often = Contest(folder, f"{PASSES} passes over it")
    for contest, passes, repeats in ((again, 1, 5), (often, PASSES, 2)):
        contest.vw(text, *vw_cache, "--passes", str(passes), repeats=repeats)
        contest.ours("rarefy", text, *rows, "--passes", str(passes), repeats=repeats)

    small = Contest(folder, "10 MB of the same")
    ten = write_rows(folder / "small.vw", number_rows(" | ")[:2000], 10_000_000)
    small.vw(ten)
    small.ours("rarefy, VW text", ten, *HASHED)
    return [once.table(), again.table(), often.table(), small.table()]


def words(folder: Path) -> list[str]:
    text = write_rows(folder / "words.vw", word_rows(), GIB)
    contest = Contest(folder, "1 GiB of words in VW's text, one pass")
    contest.vw(text)
    contest.ours("rarefy", text, *HASHED)
    contest.ours("rarefy, store table", text, "--no-names")
    contest.ours("rarefy, store table, names kept", text)
    return [contest.table()]


def clicks(folder: Path) -> list[str]:
    header, rows = click_rows()
    text = write_times(folder / "clicks.csv", rows, CLICK_TIMES, header)
    for_vw = write_times(folder / "clicks.vw", click_rows_for_vw(), CLICK_TIMES)
    n_rows = CLICK_TIMES * len(rows)
    contest = Contest(folder, f"{n_rows:,} clicks: 12 categorical columns and one cross")
    contest.vw(for_vw, "-q", "bc", name="VW, its own text")
    contest.ours("rarefy, CSV", text, *HASHED, "--cross", "c1,c2")
    contest.ours("rarefy, CSV, store table", text, "--cross", "c1,c2")
    rates = ", ".join(f"{name} {n_rows / time:,.0f}" for name, (time, _) in contest.times.items())
    return [contest.table(), f"Examples per second, start-up included: {rates}."]


def table_bytes(folder: Path) -> list[str]:
    """Memory of the exact table, for each feature that carries state and for each weight kept."""
    path = write_rows(folder / "words.vw", word_rows(), GIB // 8)
    rows = []
    for rule in ("fobos", "frda", "ftrl"):
        store = TableStore()
        model = StreamModel(Task(*make_rule(rule), make_loss("logistic")), store)
        for _ in Run(model, read(path)).steps():
            pass
        n_bytes, n_weights = store.n_bytes + model.learner.state.nbytes, len(model.kept().weights)
        n_features = store.n_features
        rows.append(
            [rule, f"{n_features:,}", f"{n_bytes / n_features:.0f}", f"{n_weights:,}",
             f"{n_bytes / n_weights:.0f}"]
        )  # fmt: skip
    header = ["rule", "features in the table", "bytes each", "weights kept", "bytes each"]
    title = "Memory of the store table, names included, default l1, 128 MiB of words"
    return [f"{title}:\n\n" + markdown_table(header, rows)]


def large(folder: Path) -> list[str]:
    text = write_rows(folder / "large.vw", number_rows(" | "), 5 * GIB)
    svmlight = write_rows(folder / "large.svm", number_rows(" "), 5 * GIB)
    contest = Contest(folder, "5 GiB of `index:value`")
    contest.vw(text, repeats=2)
    contest.ours("rarefy, VW text", text, *HASHED, repeats=2)
    contest.ours("rarefy, svmlight", svmlight, *HASHED, repeats=2)
    contest.ours("rarefy, VW text, store table", text, "--store", "table", repeats=1)
    return [contest.table()]


def measure() -> str:
    if find_spec("vowpalwabbit") is None:
        return "Skipped: VW is not installed."
    runs = f"{REPEATS} runs (one pass from the cache: 5)"
    parts = [f"ftrl, logistic loss, {BITS} bits, best of {runs}:"]
    for job in (numbers, words, clicks, table_bytes, large):
        with tempfile.TemporaryDirectory() as name:
            parts += job(Path(name))
    return "\n\n".join(parts)
