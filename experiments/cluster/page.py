# ruff: noqa: E501
"""docs/results/cluster.md, from what was measured."""

from collections.abc import Mapping
from typing import Any

from benchmarks.tables import markdown_table

ROWS = (8, 64, 512, 4096, 32768)
WORKERS = (1, 2, 4, 16, 64, 1024)
PUBLISHED = {"VW": 2.1e12 / (70 * 60 * 1000) / 1e6}  # million values per second and node
ROW_NUMBERS = {"1e+09": "10⁹", "1e+10": "10¹⁰"}


def page(found: Mapping[str, Any]) -> str:
    shards = [k for k in found["losses"][str(found["sizes"][0])][0] if k != "1"]
    return f"""<!-- Written by `python -m experiments.cluster` from experiments/measured/cluster.json;
to measure again, remove that file. -->
# Clusters: when do more machines help?

What does learning [on a cluster](../how-to/cluster.md) cost, and how long would large data take? Processor time and
bytes were measured in one process that plays all parts. A model of time then estimates what this means for machines that
are not at hand. The estimate was not compared with a real cluster.

## What was measured

{found["n_rows"]:,} synthetic rows (a million features with Zipf frequencies), the least of three runs. In a round, each shard
has one *turn*, and exchanges with the driver what is known about each feature of its rows: a *meeting* of a shard and a
feature.

{markdown_table(["what", "cost"], cost_rows(found["costs"]))}

The costs were fitted to runs with {" and ".join(map(str, found["fitted"]))} shards. Measured / by the model:

{markdown_table(["shards", "meetings, millions", "bytes, millions", "driver, s", "workers, s"], check_rows(found["checks"]))}

A shard learns at least 1,024 rows of a round, so with so few rows larger numbers of shards do the same.

How many meetings there are depends on how many features rows share. Different features in n consecutive rows, on average:

{markdown_table(["n", *(f"{n:,}" for n in ROWS)], sharing_rows(found["sparsities"]))}

## How long it would take

The model: workers read ahead; learning, sending and merging wait for each other. The driver has 10 Gbit/s, and a wave of
tasks takes a millisecond. Hours, by data, rows and workers:

{markdown_table(["data", "rows", "one core", *(f"{k:,} workers" for k in WORKERS[1:])], time_rows(found["times"]))}

![Times as fast as one core, by workers](img/cluster-times.svg)

- The driver is the limit: it merges what every shard has learned about every feature of its rows. So workers help most
  where features repeat often (news), and least where they are many (made rows): there, tens of workers are slower than one
  core.
- A few workers do not learn in shards if features are many ([rounds](../how-to/shards.md#shards)): rows come to the driver,
  which learns them. That is slower than one core that reads and learns; a few workers pay only for data like news.
- The larger a round, the more often features repeat within a shard, and the less travels. So a round may have 2²¹ values
  for each shard.
- The workers of a sweep never wait for each other.

For comparison, what others have published of real clusters. Vowpal Wabbit with AllReduce learned 17 billion rows with 2.1
trillion values in 70 minutes on 1,000 nodes ([Agarwal et al. 2014](https://jmlr.org/papers/v15/agarwal14a.html)): {PUBLISHED["VW"]:.1f}
million values per second and node, over several passes. Angel's FTRL makes a pass over 350 million rows of 1.7 billion
features in 8.7 minutes with 250 processes. One core here reads and learns {1e-6 / (found["costs"]["read"] + found["costs"]["serial"]):.0f} million values per second, in one pass
and without a network. So a cluster pays where data are too large for one machine to read, and not before.

## What it costs in accuracy

Log-loss on 65,536 other rows, above that of the model without shards; mean over {found["seeds"]} synthetic data sets of each size:

{markdown_table(["rows", "without shards", *(f"{k} shards" for k in shards)], loss_rows(found["losses"], shards))}

![Log-loss above that without shards, by rows](img/cluster-losses.svg)

For 10⁹ rows and more, no accuracy was measured. There, a round is at most a sixteenth of the rows before it, as here.
"""


def cost_rows(costs: Mapping[str, float]) -> list[list[str]]:
    return [
        ["read a feature of a row (svmlight), on a worker", f"{1e9 * costs['read']:.0f} ns"],
        [
            "find out which features a shard meets, per feature of a row",
            f"{1e9 * costs['meet']:.0f} ns",
        ],
        ["learn a feature of a row, in a shard", f"{1e9 * costs['learn']:.0f} ns"],
        ["… without shards", f"{1e9 * costs['serial']:.0f} ns"],
        ["a turn, on the worker", f"{1e3 * costs['worker_turn']:.1f} ms"],
        ["a meeting, on the driver", f"{1e9 * costs['driver']:.0f} ns"],
        ["a meeting, bytes there and back", f"{costs['n_bytes']:.0f}"],
        [
            "learn a feature of a row that comes to the driver",
            f"{1e9 * costs['in_order']:.0f} ns",
        ],
        ["… bytes", f"{costs['in_order_bytes']:.0f}"],
    ]


def check_rows(checks: Mapping[str, Mapping[str, list[float]]]) -> list[list[str]]:
    rows = []
    for shards, of in sorted(checks.items(), key=lambda item: int(item[0])):
        counts = [f"{m / 1e6:.2f} / {s / 1e6:.2f}" for m, s in (of["meetings"], of["bytes"])]
        times = [f"{m:.2f} / {s:.2f}" for m, s in (of["driver"], of["workers"])]
        rows.append([shards, *counts, *times])
    return rows


def sharing_rows(sparsities: Mapping[str, list[Any]]) -> list[list[str]]:
    rows = []
    for name, (entries, n_rows, distinct) in sparsities.items():
        known = dict(zip(map(int, n_rows), distinct, strict=True))
        cells = [f"{known[n]:,.0f}" if n in known else "–" for n in ROWS]
        rows.append([f"{name}, {entries:.0f} features a row", *cells])
    return rows


def time_rows(times: Mapping[str, Mapping[str, Mapping[str, float]]]) -> list[list[str]]:
    return [
        [name, title, *(f"{of[n_rows][str(k)]:.2f}" for k in WORKERS)]
        for name, of in times.items()
        for n_rows, title in ROW_NUMBERS.items()
    ]


def loss_rows(
    losses: Mapping[str, list[Mapping[str, float]]], shards: list[str]
) -> list[list[str]]:
    rows = []
    for n_rows, of in losses.items():
        alone = sum(one["1"] for one in of) / len(of)
        gaps = [sum(one[k] - one["1"] for one in of) / len(of) for k in shards]
        cells = [f"{gap:+.4f}".replace("-", "−") for gap in gaps]
        rows.append([f"{int(n_rows):,}", f"{alone:.4f}", *cells])
    return rows
