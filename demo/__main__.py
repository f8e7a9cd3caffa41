"""The demo: `python -m demo` from the root of the repository, or `make demo`."""

import time
from pathlib import Path

from rich.console import Console
from rich.live import Live

from demo.compare import SETTINGS, compile_rules, l1_path, outcome, race
from demo.data import make_corpus
from demo.picture import draw
from demo.tables import comparison_table, running_table, verdict, verdict_on_paths

PICTURE = Path("demo.png")


def main() -> None:
    console = Console(highlight=False)
    start = time.perf_counter()
    with console.status("Writing texts …"):
        corpus = make_corpus()
    n_informative = len(corpus.rare) + len(corpus.frequent) + len(corpus.small_unit)
    console.print(
        f"{len(corpus.y_train):,} made-up texts to learn, {len(corpus.y_test):,} to test on; "
        f"{corpus.n_features:,} features, of which {n_informative:,} tell the class: "
        f"{len(corpus.rare):,} rare ones (about 1 row in 300 to 3,000), {len(corpus.frequent)} "
        f"frequent ones, {len(corpus.small_unit)} frequent ones in small units."
    )
    with console.status("Compiling six rules (cached for the next time) …"):
        compile_rules(corpus)
    with Live(console=console, refresh_per_second=8) as live:
        contestants = race(
            corpus, on_progress=lambda rules: live.update(running_table(rules, corpus))
        )
    console.print()
    outcomes = [outcome(contestant, corpus) for contestant in contestants]
    console.print(comparison_table(outcomes, corpus))
    for sentence in verdict(outcomes, corpus):
        console.print(sentence)
    with console.status("Following each rule from weak to strong l1 …"):
        paths = {setting.rule: list(l1_path(corpus, setting)) for setting in SETTINGS}
    console.print(verdict_on_paths(paths, corpus))
    by_rule = {contestant.setting.rule: contestant for contestant in contestants}
    draw(paths, by_rule["ftprl"], by_rule["ftpfrl"], corpus, PICTURE)
    console.print(f"Picture: {PICTURE.resolve()}")
    console.print(f"{time.perf_counter() - start:.0f} s in all")


if __name__ == "__main__":
    main()
