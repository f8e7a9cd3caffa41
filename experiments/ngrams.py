# ruff: noqa: E501
"""What pairs and triples of words are worth, and what they cost.

`python -m experiments.ngrams` writes docs/results/ngrams.md. Texts are learned in one pass, in two
orders, with default settings; what they cost is the processor time of whole commands.
"""

import json
import lzma
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import rarefy
from benchmarks.data import REAL_DATA
from benchmarks.tables import markdown_table
from experiments.records import RESULTS, Records, head_of_page

ORDERS = (0, 1)
TEST_SHARE = 0.25
REPEATS = 3
WORDS = "words"
KINDS: dict[str, dict[str, int]] = {
    WORDS: {"ngram": 1},
    "words and pairs (default)": {},
    "triples, too": {"ngram": 3},
    "pairs, one word skipped": {"ngram": 2, "skips": 1},
}
OURS = [sys.executable, "-m", "rarefy", "train", "--quiet", "--rule", "ftrl", "--l1", "1"]
VW = [sys.executable, "-m", "vowpalwabbit", "--quiet", "--ftrl", "--l1", "1", "--loss_function"]
VW += ["logistic", "-b", "22"]
PAIRS, HASHED = ["--ngram", "2"], ["-b", "22"]
COMMANDS = {
    "words": ([*OURS, *HASHED], VW),
    "words and pairs": ([*OURS, *HASHED, *PAIRS], [*VW, *PAIRS]),
    "words, exact names": (OURS, None),
    "words and pairs, exact names": ([*OURS, *PAIRS], None),
}
Key = tuple[str, str]
Texts = list[tuple[str, str]]  # label and text


class Accuracy(NamedTuple):
    learned: int  # texts
    accuracy: list[float]  # by order
    weights: list[int]


def lines_of(*path: str) -> list[list[str]]:
    text = lzma.decompress(REAL_DATA.joinpath(*path).read_bytes()).decode()
    return [line.split("\t") for line in text.removesuffix("\n").split("\n")]


def imdb(part: str) -> Texts:
    return [(label, text) for label, _, text in lines_of("imdb", f"{part}.tsv.xz")]


def reviews() -> Texts:
    return [(label, text) for label, _, text in lines_of("movie-reviews", "reviews.tsv.xz")]


def messages() -> Texts:
    lines = lines_of("sms-spam", "SMSSpamCollection.tsv.xz")
    return [(label, " ".join(text)) for label, *text in lines]


def halves(texts: Texts, order: int) -> tuple[Texts, Texts]:
    """What is learned, in that order, and what is predicted."""
    mixed = [texts[n] for n in np.random.default_rng(order).permutation(len(texts))]
    n_test = int(TEST_SHARE * len(texts))
    return mixed[n_test:], mixed[:n_test]


def imdb_halves(order: int) -> tuple[Texts, Texts]:
    learned = imdb("train")
    mixed = np.random.default_rng(order).permutation(len(learned))
    return [learned[n] for n in mixed], imdb("test")


DATA: dict[str, Callable[[int], tuple[Texts, Texts]]] = {
    "IMDB": imdb_halves,
    "film reviews": lambda order: halves(reviews(), order),
    "SMS": lambda order: halves(messages(), order),
}


def found_in(data: str, kind: str, folder: Path) -> Accuracy:
    found = Accuracy(0, [], [])
    for order in ORDERS:
        learned, judged = DATA[data](order)
        for name, texts in (("learned", learned), ("judged", judged)):
            rows = (json.dumps({"label": label, "text": text}) for label, text in texts)
            (folder / f"{name}.jsonl").write_text("\n".join(rows) + "\n")
        model = rarefy.train(folder / "learned.jsonl", text=["text"], **KINDS[kind])
        metrics = rarefy.evaluate(model, rarefy.read(folder / "judged.jsonl"))
        found.accuracy.append(metrics["accuracy"])
        found.weights.append(model.n_nonzero_)
    return found._replace(learned=len(learned))


def processor_time(command: list[str]) -> float:
    """Seconds of the processor, the least of some runs."""
    found = []
    for _ in range(REPEATS):
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            raise RuntimeError(command)
        found.append(usage.ru_utime + usage.ru_stime)
    return min(found)


def times_of(name: str, folder: Path) -> tuple[float, ...]:
    """Of rarefy, and of VW where it can do the same."""
    file = folder / "imdb.vw"
    if not file.exists():
        lines = (
            f"{label} | {' '.join(re.findall(r'[a-z0-9]+', text.lower()))}\n"
            for label, text in imdb("train")
        )
        file.write_text("".join(lines))
    ours, theirs = COMMANDS[name]
    found = [processor_time([*ours, str(file), "-o", str(folder / "our.model")])]
    if theirs:
        found.append(processor_time([*theirs, "-d", str(file), "-f", str(folder / "vw.model")]))
    return tuple(found)


def read(key: Any, value: Any) -> tuple[Key, Any]:
    kind = tuple(key)
    return kind, tuple(value) if kind[0] == "time" else Accuracy(*value)


def page(records: Mapping[Key, Any]) -> str:
    rows = []
    for data in DATA:
        cells = []
        for kind in KINDS:
            one = records[data, kind]
            weights = np.mean(one.weights) / np.mean(records[data, WORDS].weights)
            cells.append(f"{100.0 * np.mean(one.accuracy):.1f} ({weights:.1f})")
        rows.append([f"{data}, {records[data, WORDS].learned:,}", *cells])
    times = []
    for name in COMMANDS:
        ours, *theirs = records["time", name]
        times.append([name, f"{ours:.1f}", f"{theirs[0]:.1f}" if theirs else ""])
    return f"""{head_of_page("ngrams")}# N-grams: what pairs and triples of words are worth

How much accuracy do [n-grams](../reference/text.md#n-grams) add, and what do they cost?

## Accuracy and size

Accuracy on held-out texts in %, with the default settings, in one pass, mean over {len(ORDERS)} orders of the rows; in
brackets, how many times as many weights the model keeps as with words alone:

{markdown_table(["texts to learn", *KINDS], rows)}

## Time

Seconds of processor time to learn {records["IMDB", WORDS].learned:,} IMDB reviews from a file, with `ftrl` in both tools, the
least of {REPEATS} runs. Features are hashed to 22 bits, except where their exact names are kept:

{markdown_table(["", "rarefy", "Vowpal Wabbit"], times)}
"""


def main() -> None:
    records = Records.of_page("ngrams", read)
    with tempfile.TemporaryDirectory() as folder:
        for data in DATA:
            for kind in KINDS:
                if (data, kind) not in records:
                    records.keep({(data, kind): found_in(data, kind, Path(folder))})
                    print(data, kind, records[data, kind], flush=True)
        for name in COMMANDS:
            if ("time", name) not in records:
                records.keep({("time", name): times_of(name, Path(folder))})
                print(name, records["time", name], flush=True)
    (RESULTS / "ngrams.md").write_text(page(records))


if __name__ == "__main__":
    main()
