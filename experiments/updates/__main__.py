"""Run the experiments and write the tables of docs/results/updates.md: `make updates`."""

import time
from pathlib import Path
from typing import Any

import click

from benchmarks.data import REAL_DATA
from experiments import data as shared_data
from experiments.digest import digest_of
from experiments.records import Records
from experiments.updates import data, methods, methods_page, page, pictures, releases
from experiments.updates.methods import Outcome
from experiments.updates.releases import Fate, Promise

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"
KEPT = ROOT / "build" / "updates"  # where what came of updates is kept
N_ORDERS, N_CHAINS = 10, 100
FEWER = {"news": 10}  # chains, where twenty classes take their time
N_COMPARED, FEWER_COMPARED, FIRST_COMPARED = 20, {"news": 3}, 100  # orders; those before are trials


def read(key: Any, value: Any) -> tuple[Any, Any]:
    kind, name, seed = key
    if kind == "promises":
        return (kind, name, seed), [Promise(*each) for each in value]
    if kind == "methods":
        outcomes = {m: [Outcome(*each) for each in of_method] for m, of_method in value.items()}
        return (kind, name, seed), outcomes
    fates = {method: [Fate(*each) for each in of_method] for method, of_method in value.items()}
    return (kind, name, seed), fates


@click.command()
@click.option("--orders", default=N_ORDERS, show_default=True, help="Orders of the rows.")
@click.option("--chains", default=N_CHAINS, show_default=True, help="Updates with a promise.")
@click.option("--compared", default=N_COMPARED, show_default=True, help="Orders for all methods.")
@click.option("--only", multiple=True, help="Data sets; all by default.")
@click.option("--part", type=click.Choice(["methods", "budgets"]), help="One of two sections.")
def main(orders: int, chains: int, compared: int, only: tuple[str, ...], part: str | None) -> None:
    """Updates by each method, on texts in several orders. Stopped, it goes on where it was."""
    names = only or tuple(data.SOURCES)
    absent = [name for name in names if not (REAL_DATA / data.SOURCES[name][0]).is_dir()]
    if absent:
        raise click.ClickException(f"no data for {', '.join(absent)} in {REAL_DATA}.")
    KEPT.mkdir(parents=True, exist_ok=True)
    text = RESULTS / "updates.md"
    if part != "budgets":
        n_orders = {name: min(compared, FEWER_COMPARED.get(name, compared)) for name in names}
        seeds = {name: range(FIRST_COMPARED, FIRST_COMPARED + n_orders[name]) for name in names}
        known = _known(methods, releases)
        found = {
            name: _found(known, "methods", methods.compared, name, seeds[name]) for name in names
        }
        pictures.draw_methods(found, RESULTS / "img" / "updates-methods.svg")
        methods_page.write(found, text)
    if part != "methods":
        known = _known(releases)
        n_chains = {name: min(chains, FEWER.get(name, chains)) for name in names}
        updates = {
            name: _found(known, "update", releases.update, name, range(orders)) for name in names
        }
        kept = {
            name: _found(known, "promises", releases.promises, name, range(n_chains[name]))
            for name in names
        }
        pictures.draw(updates, RESULTS / "img" / "updates.svg")
        page.write(updates, kept, text)


def _known(*modules: Any) -> Records[Any, Any]:
    """What came of runs of this code."""
    digest = digest_of((shared_data, data, *modules))
    return Records(KEPT / f"runs-{digest}.jsonl", read)


def _found(known: Records[Any, Any], kind: str, work: Any, name: str, seeds: range) -> list[Any]:
    start = time.perf_counter()
    for seed in seeds:
        if (kind, name, seed) not in known:
            known.keep({(kind, name, seed): work(data.load(name), seed)})
    click.echo(f"{kind}, {name}: {time.perf_counter() - start:.0f} s", err=True)
    return [known[kind, name, seed] for seed in seeds]


if __name__ == "__main__":
    main()
