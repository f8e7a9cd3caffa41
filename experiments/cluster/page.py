# ruff: noqa: E501
"""docs/results/cluster.md, from what was measured."""

from collections.abc import Mapping
from typing import Any

from benchmarks.tables import markdown_table

ROWS = (8, 64, 512, 4096, 32768)
WORKERS = (1, 4, 16, 64, 1024)
ROUNDS = {65_536: "65,536 (as they are)", 1 << 20: "2²⁰", 1 << 23: "2²³"}
LONGEST = "1e+09 rows"


def page(found: Mapping[str, Any]) -> str:
    shards = [k for k in found["losses"][str(found["sizes"][0])][0] if k != "1"]
    return f"""<!-- Written by `python -m experiments.cluster` from experiments/measured/cluster.json;
to measure again, remove that file. -->
# Clusters: when do more machines help?

What does learning [on a cluster](../how-to/cluster.md) cost, and how long would large data take? Processor time and
bytes were measured in one process that plays all parts. A model of time then estimates what this means for machines that
are not at hand. The estimate was not compared with a real cluster.

The figures are of shards with earlier [rounds](../how-to/shards.md): since then, fewer than 8 shards learn rows in order
while features are many, and rounds are longer there.

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
tasks takes a millisecond. Hours for 10⁹ rows, by data, rows of a round, and workers:

{markdown_table(["data", "rounds", "one core", *(f"{k:,} workers" for k in WORKERS[1:])], time_rows(found["times"]))}

![Times as fast as one core, by workers and size of rounds](img/cluster-times.svg)

- With many workers and rounds as they are, each shard has few rows, in which most features occur only once or twice. Then as
  much travels as in the rows themselves, and the driver is the limit.
- Workers help with reading. They help more if a row takes long to read, and if its features repeat often (news).
- Larger rounds would help most, but make other models; their accuracy was not measured.
- The workers of a sweep never wait for each other.

## What it costs in accuracy

Log-loss on 65,536 other rows, above that of the model without shards; mean over {found["seeds"]} synthetic data sets of each size:

{markdown_table(["rows", "without shards", *(f"{k} shards" for k in shards)], loss_rows(found["losses"], shards))}

![Log-loss above that without shards, by rows](img/cluster-losses.svg)

For 10⁹ rows and more, nothing was measured. Rounds do not grow beyond 65,536 rows.
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
        [name, title, *(f"{of[f'{LONGEST}, rounds of {most}'][str(k)]:.2f}" for k in WORKERS)]
        for name, of in times.items()
        for most, title in ROUNDS.items()
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
