# ruff: noqa: E501
"""docs/results/cluster.md, from what was measured."""

import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks.tables import markdown_table
from experiments.cluster.fitting import Found, costs_of, runs_of, sparsity_of
from experiments.cluster.ray_runs import N_PROCESSES, Took
from experiments.cluster.simulation import (
    Cluster,
    Costs,
    Exchange,
    exchange,
    meetings_of_round,
    round_of,
    seconds,
    shards_of_round,
)
from experiments.cluster.travel import FEW_ROWS, SHORT_ROUNDS, Spent, short_rounds
from experiments.records import head_of_page
from rarefy.engine.round_size import MOST_ROUNDS
from rarefy.engine.sharding import FEWEST_OF_A_SHARD

DATA = ("made", "clicks", "news")
CHECKED = ("few", "many")
COUNTED = (8, 64, 512, 4096, 32768)  # rows
WORKERS = (1, 2, 4, 8, 16, 64, 256, 1024)
SHOWN = (1, 2, 4, 8, 16, 64, 1024)
TITLES = {10**9: "10⁹", 10**10: "10¹⁰"}
BILLION = 10**9
SOME = (4, 16, 64, 1024)  # workers that are told of first
MANY = 64  # workers whose limit is told
BUSY = 0.8  # share of the time from which on waiting hardly matters
EXPECTED = 1.5  # factor within which the model should be
WIDTH = 124
IN_PROSE = {"made": "made rows"}
SWEEPS = "The workers of a sweep never wait for each other."
PUBLISHED = {"VW": 2.1e12 / (70 * 60 * 1000) / 1e6}  # million values per second and node


def read(key: Any, value: Any) -> tuple[Any, Any]:
    return tuple(key), value


def page(found: Found) -> str:
    costs, made = costs_of(found), sparsity_of(found, "made")
    n_runs, n_rows = found["scale",]["n_runs"], found["scale",]["n_rows"]
    return f"""{head_of_page("cluster")}# Clusters: when do more machines help?

{paragraph(worth(found), gains_in_short(found), off_in_short(found))}

Processor time and bytes were measured on a machine with {N_PROCESSES} cores. A model of time estimates from them what larger clusters
would take. No real cluster was at hand.

## What was measured

{n_rows:,} synthetic rows ({made.n_features:,.0f} features with Zipf frequencies), in one process that plays all parts, the least of
three runs. In a round, a shard exchanges with the driver what is known about each feature of its rows: a *meeting* of a shard
and a feature. What [Ray](../how-to/cluster.md) itself takes was measured with {N_PROCESSES} processes, which read the same files with and
without keeping the rows, and with tasks that do nothing.

{markdown_table(["what", "cost"], cost_rows(costs))}

## Checked against runs

Rows with about {sparsity_of(found, "few").entries:.0f} features each in svmlight files were learned by {N_PROCESSES} processes on Ray, which was running already. They
share {N_PROCESSES} cores with the driver and with other programs; the model gets the cores that these left. The fastest of {n_runs} runs:

{markdown_table(["features", "rows", "cores left", "measured, s", "model, s", "measured / model"], run_rows(found))}

{paragraph(off_in_detail(found), "None of these runs was used to fit the costs.", busy(found))}

Processor time on Ray, next to that of one process without shards, which neither merges nor copies rows into a store:

{markdown_table(["features", "rows", "on Ray, s", "one process, s", "times as much"], work_rows(found))}

## Meetings and bytes, for up to 128 shards

Counted in one process, and by the model. The costs were fitted to the runs with {made.n_features:,.0f} features.

{markdown_table(["features", "shards", "that learn, at most", "meetings, millions: counted / model", "MB: counted / model"], exchange_rows(found))}

A shard learns {FEWEST_OF_A_SHARD:,} rows of a round at least, and while the number of rows doubles, there are {MOST_ROUNDS} rounds at most. As
rows count once for each shard, no more than {MOST_ROUNDS} shards learn then. More do only in longer runs, when rounds have reached
their greatest length. So, to see more of them at work, there are {SHORT_ROUNDS} *short rounds* in that time, and a shard learns {FEW_ROWS} rows
at least.

In a round that begins after {found["scale",]["counted_at"]:,} rows, the features of each shard were counted in rows drawn for it, without
learning them:

{markdown_table(["shards", "that learn", "rows of each", "meetings, millions: counted / model", "MB by the model"], long_rows(found))}

{exchange_in_short(found)}

## How features are extrapolated

How many meetings there are depends on how many features rows share. *Made* are the synthetic rows, *clicks* is a
sample of Criteo, and *news* one of RCV1, whose {sparsity_of(found, "news").n_features:,.0f} words are known. Different features in n consecutive rows,
on average:

{markdown_table(["n", *(f"{n:,}" for n in COUNTED)], sharing_rows(found))}

Beyond the rows at hand, the last slope goes on, on logarithmic scales, until all features that exist have been met:

{markdown_table(["data", "counted up to", "features that exist", "assumed after 10⁹ rows", "after 10¹⁰"], extrapolation_rows(found))}

{extrapolated_in_short(found)}

## How long it would take

The model: workers read ahead; learning, sending and merging wait for each other. Each process has a core, the driver has
10 Gbit/s, and tasks and Ray's store take as long as here; the store's time for what travels is the driver's. Hours, by
data, rows and workers:

{markdown_table(["data", "rows", "one core", *(f"{k:,} workers" for k in SHOWN[1:])], time_rows(found))}

![Times as fast as one core, by workers](img/cluster-times.svg)

{bullets(limit(found), in_order(found), learning(found), error(found), SWEEPS)}

For comparison, what others have published of real clusters. Vowpal Wabbit with AllReduce learned 17 billion rows with 2.1
trillion values in 70 minutes on 1,000 nodes ([Agarwal et al. 2014](https://jmlr.org/papers/v15/agarwal14a.html)): {PUBLISHED["VW"]:.1f}
million values per second and node, over several passes. Angel's FTRL makes a pass over 350 million rows of 1.7 billion
features in 8.7 minutes with 250 processes. One core here reads and learns {1e-6 / (costs.read + costs.serial):.0f} million values per second, in one pass
and without a network.

## What it costs in accuracy

Log-loss on 65,536 other rows, above that of the model without shards; mean over {found["scale",]["n_seeds"]} synthetic data sets of each size:

{markdown_table(["rows", "without shards", *(f"{k} shards" for k in shards_of(found))], loss_rows(found))}

![Log-loss above that without shards, by rows](img/cluster-losses.svg)

{losses_in_short(found)}
"""


def paragraph(*sentences: str, indent: str = "") -> str:
    text = " ".join(one for one in sentences if one)
    return textwrap.fill(
        text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def bullets(*points: str) -> str:
    return "\n".join(paragraph(f"- {one}", indent="  ") for one in points)


def cost_rows(costs: Costs) -> list[list[str]]:
    def ns(seconds: float) -> str:
        return f"{1e9 * seconds:.0f} ns"

    return [
        ["read a feature of a row (svmlight), on a worker", ns(costs.read)],
        ["find out which features a shard meets, per feature of a row", ns(costs.meet)],
        ["learn a feature of a row, in a shard", ns(costs.learn)],
        ["… without shards", ns(costs.serial)],
        ["a meeting, on the driver", ns(costs.driver)],
        ["a meeting, bytes there and back", f"{costs.n_bytes:.0f}"],
        ["learn a feature of a row that comes to the driver", ns(costs.in_order)],
        ["… bytes", f"{costs.in_order_bytes:.0f}"],
        ["bytes that the driver is told of a row", f"{costs.outline_bytes:.0f}"],
        ["bytes kept by workers per feature of a row that was read", f"{costs.row_bytes:.0f}"],
        ["… and that a shard has numbered", f"{costs.met_bytes:.0f}"],
        ["a byte in Ray's store, all processes together", f"{1e9 * costs.store:.1f} ns"],
        ["a task of Ray, all processes together", f"{1e3 * costs.task:.1f} ms"],
        ["until a wave of tasks is over", f"{1e3 * costs.wave:.1f} ms"],
        ["a run on Ray with a few hundred rows", f"{costs.start:.2f} s"],
    ]


def expected(found: Found, name: str, n_rows: int, took: Took) -> float:
    """Seconds on Ray by the model, on the cores that were left."""
    here = Cluster(N_PROCESSES, network=float("inf"), n_cores=took.n_cores)
    return seconds(sparsity_of(found, name), costs_of(found), here, n_rows)


def checks(found: Found) -> dict[tuple[str, int], tuple[Took, float]]:
    """What was measured on Ray, and what the model says."""
    runs = {key[1:]: Took(*value) for key, value in found.items() if key[0] == "on ray"}
    return {(name, n): (took, expected(found, name, n, took)) for (name, n), took in runs.items()}


def factors(found: Found) -> list[float]:
    """Measured by expected."""
    return [took.seconds / model for took, model in checks(found).values()]


def run_rows(found: Found) -> list[list[str]]:
    rows = []
    for (name, n_rows), (took, model) in checks(found).items():
        times = [f"{one:.2f}" for one in (took.seconds, model, took.seconds / model)]
        rows.append([features_of(found, name), f"{n_rows:,}", f"{took.n_cores:.1f}", *times])
    return rows


def work_rows(found: Found) -> list[list[str]]:
    rows = []
    for (name, n_rows), (took, _) in checks(found).items():
        work, alone = took.of_processors, Took(*found["one process", name, n_rows]).of_processors
        times = [f"{work:.2f}", f"{alone:.2f}", f"{work / alone:.1f}"]
        rows.append([features_of(found, name), f"{n_rows:,}", *times])
    return rows


def told_as(name: str) -> str:
    return IN_PROSE.get(name, name)


def features_of(found: Found, name: str) -> str:
    return f"{sparsity_of(found, name).n_features:,.0f}"


def span(numbers: Iterable[float], digits: int = 1) -> str:
    told = [f"{one:.{digits}f}" for one in sorted(numbers)]
    return told[0] if told[0] == told[-1] else f"{told[0]} to {told[-1]}"


def listed(parts: Sequence[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def off_by(found: Found) -> float:
    """The factor by which the model is wrong at worst."""
    return max(max(one, 1 / one) for one in factors(found))


def off_in_short(found: Found) -> str:
    return f"Runs with {N_PROCESSES} processes took {span(factors(found))} times as long as the model says."


def off_in_detail(found: Found) -> str:
    """By how much the model is wrong, and in which direction."""
    worst = max(factors(found), key=lambda one: max(one, 1 / one))
    way = "optimistic" if worst > 1 else "pessimistic"
    told = f"At worst, the model is too {way} by a factor of {off_by(found):.1f}."
    if off_by(found) > EXPECTED:
        told += " The hours below are to be read with that in mind."
    return told


def busy(found: Found) -> str:
    """What the check cannot tell, as there is always something to do for two cores."""
    shares = [
        took.of_processors / took.seconds / took.n_cores for took, _ in checks(found).values()
    ]
    told = f"The processes used {span((100 * min(one, 1.0) for one in shares), 0)} % of the cores left to them"
    if min(shares) > BUSY:
        return f"{told}, so this checks the work that the model assumes, but hardly how long processes wait for each other."
    return f"{told}."


def exchanges(found: Found) -> list[tuple[str, Spent, Exchange]]:
    """Runs in one process, and what the model says of them."""
    told = [("made", run) for run in runs_of(found, "spent").values()]
    rows = [(n, run, exchange(sparsity_of(found, n), run.n_shards, run.rows)) for n, run in told]
    with short_rounds():
        few = sparsity_of(found, "few")
        return rows + [
            ("few", run, exchange(few, run.n_shards, run.rows))
            for run in runs_of(found, "short rounds").values()
        ]


def exchange_rows(found: Found) -> list[list[str]]:
    rows = []
    for name, run, model in exchanges(found):
        note = ", short rounds" if name == "few" else ""
        met = f"{run.meetings / 1e6:.2f} / {model.meetings / 1e6:.2f}"
        n_bytes = f"{run.n_bytes / 1e6:,.0f} / {model.n_bytes(costs_of(found)) / 1e6:,.0f}"
        cells = [str(run.n_shards), f"{model.most_learning:.0f}", met, n_bytes]
        rows.append([features_of(found, name) + note, *cells])
    return rows


def exchange_in_short(found: Found) -> str:
    """How far off the model is."""
    told = [(run, model) for name, run, model in exchanges(found) if name == "few"]
    n_bytes = [run.n_bytes / model.n_bytes(costs_of(found)) for run, model in told]
    met = [run.meetings / model.meetings for run, model in told]
    met += [counted / model for _, _, counted, model in long_rounds(found)]
    return paragraph(
        f"There are {span(met, 2)} times as many meetings as the model says.",
        f"With short rounds, {span(n_bytes, 2)} times as many bytes travel.",
    )


def long_rounds(found: Found) -> list[tuple[int, tuple[int, int], int, float]]:
    """Shards; how many learn, and how many rows; meetings counted, and by the model."""
    made, rounds = sparsity_of(found, "made"), []
    for k in sorted(key[1] for key in found if key[0] == "long round"):
        n_learning, n_rows, met = found["long round", k]
        length = round_of(made, k, found["scale",]["counted_at"]).n_rows
        rounds.append((k, (n_learning, n_rows), met, meetings_of_round(made, n_learning, length)))
    return rounds


def long_rows(found: Found) -> list[list[str]]:
    n_bytes = costs_of(found).n_bytes
    return [
        [
            f"{k}",
            *(f"{n:,}" for n in sizes),
            f"{met / 1e6:.2f} / {model / 1e6:.2f}",
            f"{model * n_bytes / 1e6:,.0f}",
        ]
        for k, sizes, met, model in long_rounds(found)
    ]


def sharing_rows(found: Found) -> list[list[str]]:
    rows = []
    for name in DATA:
        data = sparsity_of(found, name)
        known = dict(zip(data.rows.astype(int).tolist(), data.distinct.tolist(), strict=True))
        cells = [f"{known[n]:,.0f}" if n in known else "–" for n in COUNTED]
        rows.append([f"{name}, {data.entries:.0f} features a row", *cells])
    return rows


def extrapolation_rows(found: Found) -> list[list[str]]:
    rows = []
    for name in DATA:
        data = sparsity_of(found, name)
        known = f"{data.n_features:,.0f}" if data.n_features < float("inf") else "unknown"
        assumed = [f"{data.features(n):,.0f}" for n in TITLES]
        rows.append([name, f"{data.rows[-1]:,.0f} rows", known, *assumed])
    return rows


def extrapolated_in_short(found: Found) -> str:
    """From how few rows, as the reader may overlook it."""
    of = {name: sparsity_of(found, name) for name in DATA}
    times = [f"{BILLION / one.rows[-1]:,.0f} times ({name})" for name, one in of.items()]
    unknown = [name for name, one in of.items() if one.n_features == float("inf")]
    return paragraph(
        f"So a billion rows are {listed(times)} as many as were looked at.",
        f"The hours of {listed(unknown)} below rest on a number of features that nobody has counted."
        if unknown
        else "",
    )


def times_of(found: Found) -> dict[str, dict[int, dict[int, float]]]:
    """Hours, by data, rows and workers."""
    costs = costs_of(found)
    return {
        name: {
            n: {k: seconds(sparsity_of(found, name), costs, Cluster(k), n) / 3600 for k in WORKERS}
            for n in TITLES
        }
        for name in DATA
    }


def time_rows(found: Found) -> list[list[str]]:
    return [
        [name, title, *(f"{of[n][k]:.2f}" for k in SHOWN)]
        for name, of in times_of(found).items()
        for n, title in TITLES.items()
    ]


def relative(found: Found) -> dict[str, dict[int, float]]:
    """Times for a billion rows, of that of one core, by data and workers."""
    return {
        name: {k: of[BILLION][k] / of[BILLION][1] for k in WORKERS[1:]}
        for name, of in times_of(found).items()
    }


def worth(found: Found) -> str:
    """With which data more workers gain more than the model may be wrong."""
    limit = 1 / off_by(found)
    gains = {
        name: [k for k in SHOWN[1:] if k <= MANY and of[k] < limit]
        for name, of in relative(found).items()
    }
    some = [f"{told_as(name)} (from {of[0]} on)" for name, of in gains.items() if of]
    others = [told_as(name) for name, of in gains.items() if not of]
    if not some:
        return f"For a single pass, not even {MANY} workers are clearly faster than one core."
    if not others:
        return f"For a single pass, workers are faster than one core: {listed(some)}."
    return (
        f"For a single pass, up to {MANY} workers are clearly faster than one core with {listed(some)}, but not "
        f"with {listed(others)}."
    )


def gains_in_short(found: Found) -> str:
    of = relative(found).values()
    told = [f"{k:,} workers {span((one[k] for one in of), 2)} times" for k in SOME]
    return f"By a model of time, a billion rows take {listed(told)} as long as one core."


def limit(found: Found) -> str:
    """What would be, if the driver's work were free."""
    costs, told, factors = costs_of(found), [], []
    free = costs._replace(driver=0.0, n_bytes=0.0, in_order=0.0, in_order_bytes=0.0)
    for name in DATA:
        data = sparsity_of(found, name)
        usual, short = (
            seconds(data, one, Cluster(MANY), BILLION) / 3600.0 for one in (costs, free)
        )
        told.append(f"{short:.2f} hours instead of {usual:.2f} ({name})")
        factors.append(usual / short)
    what = (
        "The driver is the limit" if min(factors) > 2.0 else "The driver works while workers wait"
    )
    return (
        f"{what}: it merges what every shard has learned about every feature of its rows. If this took no "
        f"time, {MANY} workers would need {listed(told)} for 10⁹ rows."
    )


def in_order(found: Found) -> str:
    """With how many workers no shards learn."""
    few = {
        name: [
            str(k)
            for k in WORKERS[1:]
            if round_of(sparsity_of(found, name), k, BILLION).is_in_order
        ]
        for name in DATA
    }
    told = [f"{listed(of)} workers ({name})" for name, of in few.items() if of]
    return (
        "A few workers do not learn in shards if features are many ([rounds](../how-to/shards.md#shards)): rows come to the "
        f"driver, which learns them. After 10⁹ rows, {listed(told) if told else 'none of these'} do so."
    )


def learning(found: Found) -> str:
    """How many of many shards learn."""
    made, k = sparsity_of(found, "made"), WORKERS[-1]
    told = []
    for n, title in TITLES.items():
        n_learning = shards_of_round(k, round_of(made, k, n).n_rows, n)
        told.append(f"{n_learning:.0f} after {title} rows")
    return (
        f"Of {k:,} shards, only {listed(told)} learn in a round (made): with more, its rows would count for more than all "
        f"before it. The other workers only read."
    )


def error(found: Found) -> str:
    """What the check means for the table."""
    return (
        f"In the runs above, the model was off by a factor of up to {off_by(found):.1f}; differences smaller than that mean "
        f"nothing. Networks, and more than {N_PROCESSES} processes, were not checked at all."
    )


def losses_of(found: Found) -> dict[int, list[dict[int, float]]]:
    """Log-losses by number of shards, of data sets by size."""
    of: dict[int, list[dict[int, float]]] = {}
    for key, value in found.items():
        if key[0] == "losses":
            of.setdefault(key[1], []).append({int(k): loss for k, loss in value})
    return of


def shards_of(found: Found) -> list[int]:
    return [k for k in next(iter(losses_of(found).values()))[0] if k != 1]


def loss_rows(found: Found) -> list[list[str]]:
    rows = []
    for n_rows, of in losses_of(found).items():
        alone = sum(one[1] for one in of) / len(of)
        gaps = [sum(one[k] - one[1] for one in of) / len(of) for k in shards_of(found)]
        cells = [f"{gap:+.4f}".replace("-", "−") for gap in gaps]
        rows.append([f"{n_rows:,}", f"{alone:.4f}", *cells])
    return rows


def losses_in_short(found: Found) -> str:
    """What these rows do not tell."""
    are_same = all(one[16] == one[128] for of in losses_of(found).values() for one in of)
    return paragraph(
        f"With 128 shards, the models are those with 16: of so few rows, at most {MOST_ROUNDS} shards learn, as above."
        if are_same
        else "",
        "For 10⁹ rows and more, no accuracy was measured. There, a round is at most a sixteenth of the rows before it, as here.",
    )
