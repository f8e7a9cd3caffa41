"""Run the experiments and write the tables of docs/updates.md: `make updates`."""

import time
from pathlib import Path
from typing import Any

import click

from benchmarks.data import REAL_DATA
from experiments import data as shared_data
from experiments.digest import digest_of
from experiments.records import Records
from experiments.updates import data, page, pictures, releases
from experiments.updates.releases import Fate, Promise

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "build" / "updates"  # where what came of updates is kept
N_ORDERS, N_CHAINS = 10, 100
FEWER = {"news": 10}  # chains, where twenty classes take their time


def read(key: Any, value: Any) -> tuple[Any, Any]:
    kind, name, seed = key
    if kind == "promises":
        return (kind, name, seed), [Promise(*each) for each in value]
    fates = {method: [Fate(*each) for each in of_method] for method, of_method in value.items()}
    return (kind, name, seed), fates


@click.command()
@click.option("--orders", default=N_ORDERS, show_default=True, help="Orders of the rows.")
@click.option("--chains", default=N_CHAINS, show_default=True, help="Updates with a promise.")
@click.option("--only", multiple=True, help="Data sets; all by default.")
def main(orders: int, chains: int, only: tuple[str, ...]) -> None:
    """Updates by each method, on texts in several orders. Stopped, it goes on where it was."""
    names = only or tuple(data.SOURCES)
    absent = [name for name in names if not (REAL_DATA / data.SOURCES[name][0]).is_dir()]
    if absent:
        raise click.ClickException(f"no data for {', '.join(absent)} in {REAL_DATA}.")
    KEPT.mkdir(parents=True, exist_ok=True)
    digest = digest_of((shared_data, data, releases))
    known: Records[Any, Any] = Records(KEPT / f"runs-{digest}.jsonl", read)
    for name in names:
        start = time.perf_counter()
        for kind, work, n in (
            ("update", releases.update, orders),
            ("promises", releases.promises, min(chains, FEWER.get(name, chains))),
        ):
            for seed in range(n):
                if (kind, name, seed) not in known:
                    known.keep({(kind, name, seed): work(data.load(name), seed)})
        click.echo(f"{name}: {time.perf_counter() - start:.0f} s", err=True)
    updates = {name: [known["update", name, seed] for seed in range(orders)] for name in names}
    kept = {
        name: [
            known["promises", name, seed] for seed in range(min(chains, FEWER.get(name, chains)))
        ]
        for name in names
    }
    pictures.draw(updates, ROOT / "docs" / "img" / "updates.svg")
    page.write(updates, kept, ROOT / "docs" / "updates.md")


if __name__ == "__main__":
    main()
