"""The demo: `python -m demo` from the root of the repository, or `make demo`."""

import time
from pathlib import Path

from rich.console import Console
from rich.live import Live

from demo.compare import DEFAULT, SETTINGS, compile_rules, l1_path, outcome, race
from demo.data import Corpus, make_corpus
from demo.next_steps import commands, write_rows
from demo.picture import draw
from demo.tables import comparison_table, running_table, verdict, verdict_on_paths

PICTURE, ROWS = Path("demo.png"), Path("demo.vw")


def main() -> None:
    console = Console(highlight=False)
    start = time.perf_counter()
    with console.status("Generating texts …"):
        corpus = make_corpus()
    console.print(introduction(corpus))
    with console.status(f"Compiling {len(SETTINGS)} rules (cached for the next time) …"):
        compile_rules(corpus)
    with Live(console=console, refresh_per_second=8) as live:
        contestants = race(
            corpus, on_progress=lambda rules: live.update(running_table(rules, corpus))
        )
    outcomes = [outcome(contestant, corpus) for contestant in contestants]
    console.print()
    console.print(comparison_table(outcomes, corpus))
    with console.status("Training each rule with weak to strong l1 …"):
        paths = {setting.rule: list(l1_path(corpus, setting)) for setting in SETTINGS}
    for sentence in (*verdict(outcomes), verdict_on_paths(paths, corpus)):
        console.print("-", sentence)
    by_rule = {contestant.setting.rule: contestant for contestant in contestants}
    draw(paths, by_rule["ftprl"], by_rule[DEFAULT.rule], corpus, PICTURE)
    write_rows(corpus, ROWS)
    console.print(f"\nPicture: {PICTURE}. Took {time.perf_counter() - start:.0f} s.")
    console.print(f"\nNext, train on some of these texts yourself ({ROWS}), or on your own file:\n")
    for command in commands(ROWS):
        console.print(f"    {command}", soft_wrap=True)
    console.print("\nTo read next: docs/tutorials/first-model.md; README.md lists the rest.")


def introduction(corpus: Corpus) -> str:
    n_informative = len(corpus.rare) + len(corpus.frequent) + len(corpus.small_unit)
    return (
        f"{len(corpus.y_train):,} synthetic texts for training and {len(corpus.y_test):,} for "
        f"testing. Of {corpus.n_features:,} words, {n_informative:,} depend on the class: "
        f"{len(corpus.rare):,} rare ones (in one of 300 to 3,000 texts), {len(corpus.frequent)} "
        f"frequent ones, and {len(corpus.small_unit)} frequent ones measured in small units "
        f"(a count of 1 is written as 0.01 or 0.001)."
    )


if __name__ == "__main__":
    main()
