"""Run benchmarks and write docs/results/benchmarks.md, which benchmarks/RESULTS.md links to.

`make bench` measures all; `python -m benchmarks one sweeps` only these sections, and the others of
the page stay. A section is what its function returns, after the date and the load of the machine.
"""

import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import click

from benchmarks import (
    one,
    one_call,
    refits,
    rules,
    serving,
    serving_memory,
    shards,
    startup,
    streams,
    sweeps,
    tuning,
    width,
)
from benchmarks.data import svmlight, zipf_rows
from benchmarks.tables import RESULTS, page_with

REAL = [
    (("imdb", "unigram-train.svm.xz"), "IMDB reviews"),
    (("amazon-books", "ub6000.svm.xz"), "Amazon book reviews"),
    (("20newsgroups", "bydate-train.svm.xz"), "20 newsgroups (one class against the rest)"),
]


def speeds() -> str:
    return "\n\n".join(_speeds())


def _speeds() -> Iterator[str]:
    for n_features in (1_000_000, 50_000):
        yield rules.compare(zipf_rows(200_000, n_features))
    for path, name in REAL:
        dataset = svmlight(*path, name=name)
        if dataset is None:
            print(f"{name}: skipped, the data is not at hand")
            continue
        yield rules.compare(dataset)


def single_rows() -> str:
    return f"{one.measure()}\n\n{one_call.measure()}"


SECTIONS: dict[str, tuple[str, Callable[[], str]]] = {
    "startup": ("Start-up", startup.measure),
    "rules": ("Speed of the rules", speeds),
    "width": ("Time against the number of features", width.measure),
    "one": ("One example at a time", single_rows),
    "shards": ("Shards", shards.measure),
    "serving": ("A service that learns", serving.measure),
    "memory": ("Memory of a service", serving_memory.measure),
    "sweeps": ("A grid in one pass", sweeps.measure),
    "refits": ("Refits", refits.measure),
    "tuning": ("Models that tune themselves", tuning.measure),
    "streams": ("From text to a model", streams.measure),
}


def circumstances() -> str:
    """When, and how busy the machine was: with more to do than cores, times are noise."""
    load, n_cores = os.getloadavg()[0], len(os.sched_getaffinity(0))
    return f"Measured on {datetime.now(UTC):%Y-%m-%d}, at a load of {load:.1f} on {n_cores} cores."


@click.command()
@click.argument("names", nargs=-1, type=click.Choice([*SECTIONS]))
def main(names: tuple[str, ...]) -> None:
    for name in names or SECTIONS:
        title, measure = SECTIONS[name]
        before = circumstances()
        text = f"{before}\n\n{measure()}"
        print(text)
        titles = [title for title, _ in SECTIONS.values()]
        RESULTS.write_text(page_with(RESULTS.read_text(), title, text, titles))


if __name__ == "__main__":
    main()
