"""Run all benchmarks and write docs/results/benchmarks.md: `make bench`."""

from benchmarks import (
    one,
    refits,
    rules,
    serving,
    shards,
    startup,
    streams,
    sweeps,
    tuning,
    width,
)
from benchmarks.data import svmlight, zipf_rows
from benchmarks.tables import write_results

REAL = [
    (("imdb", "unigram-train.svm.xz"), "IMDB reviews"),
    (("amazon-books", "ub6000.svm.xz"), "Amazon book reviews"),
    (("20newsgroups", "bydate-train.svm.xz"), "20 newsgroups (one class against the rest)"),
]


def main() -> None:
    sections = [("Start-up", startup.measure())]
    print(sections[-1][1])
    speed = []
    for n_features in (1_000_000, 50_000):
        speed.append(rules.compare(zipf_rows(200_000, n_features)))
        print(speed[-1])
    for path, name in REAL:
        dataset = svmlight(*path, name=name)
        if dataset is None:
            print(f"{name}: skipped, the data is not at hand")
            continue
        speed.append(rules.compare(dataset))
        print(speed[-1])
    sections.append(("Speed of the rules", "\n\n".join(speed)))
    sections.append(("Time against the number of features", width.measure()))
    print(sections[-1][1])
    sections.append(("One example at a time", one.measure()))
    print(sections[-1][1])
    sections.append(("Shards", shards.measure()))
    print(sections[-1][1])
    sections.append(("A service that learns", serving.measure()))
    print(sections[-1][1])
    sections.append(("A grid in one pass", sweeps.measure()))
    print(sections[-1][1])
    sections.append(("Refits", refits.measure()))
    print(sections[-1][1])
    sections.append(("Models that tune themselves", tuning.measure()))
    print(sections[-1][1])
    sections.append(("From text to a model", streams.measure()))
    print(sections[-1][1])
    write_results(sections)


if __name__ == "__main__":
    main()
