"""The tables on data sets that the papers do not have."""

from benchmarks.tables import markdown_table
from experiments.comparison import HIGHER, Comparison
from experiments.reproduction.beyond import Beyond, Pair
from experiments.reproduction.claims import AT_BEST, Finding, shown_p
from experiments.reproduction.data import SOURCES, load
from experiments.reproduction.study import CHOICES
from experiments.reproduction.tables import accuracy_and_zeros, percent, unseen


def data_table(beyond: Beyond) -> str:
    plan = beyond.study.plan
    rows = []
    for name in beyond.datasets:
        source = SOURCES[name]
        X, y = load(name, 0, plan.n_rows)
        _, all_labels = source.rows(0)
        rows.append(
            [name, source.title, f"{len(all_labels):,}", f"{len(y):,}", f"{X.shape[1]:,}",
             f"{X.nnz:,}", f"{X.nnz / len(y):.0f}", f"{unseen(X, y, plan.protocol.folds):.0%}",
             f"{percent(beyond.guesses(name).mean())} %", plan.shuffles[name]]
        )  # fmt: skip
    header = ["", "what it is", "rows at hand", "rows", "features", "non-zeros", "non-zeros a row",
              "unseen", "guessing", "shuffles"]  # fmt: skip
    return markdown_table(header, rows)


def rules_table(beyond: Beyond, choice: str) -> str:
    """Accuracy and zeros of every rule on every data set, in italics if no better than guessing."""
    study = beyond.study
    over_guessing = {name: beyond.over_guessing(name, choice) for name in beyond.datasets}

    def cell(method: str, name: str) -> str:
        text = accuracy_and_zeros(study.chosen(study.case(name, method), CHOICES[choice]))
        return text if over_guessing[name][method].sign == HIGHER else f"*{text}*"

    rows = [
        [method, *(cell(method, name) for name in beyond.datasets)]
        for method in study.plan.beyond_methods
    ]
    return markdown_table(["", *beyond.datasets], rows)


def shown(comparison: Comparison) -> str:
    points = f"{100 * comparison.difference:+.1f}"
    return f"{f'**{points}**' if comparison.sign else points} ({shown_p(comparison.p)})"


def cells(finding: Finding) -> list[str]:
    return [*map(shown, finding.comparisons), finding.counts, finding.points, finding.verdict]


def comparisons_table(beyond: Beyond) -> str:
    rows = [
        ["" if k else arrow(pair), choice, *cells(beyond.finding(pair, choice))]
        for pair in beyond.pairs
        for k, choice in enumerate(CHOICES)
    ]
    header = ["", "l1 chosen for", *beyond.datasets, "better / cannot be told / worse", "points",
              "verdict"]  # fmt: skip
    return markdown_table(header, rows)


def zeros_table(beyond: Beyond) -> str:
    rows = [
        [arrow(pair), *cells(beyond.finding(pair, AT_BEST[0], "zeros"))] for pair in beyond.pairs
    ]
    header = ["", *beyond.datasets, "more / cannot be told / fewer", "points", "verdict"]
    return markdown_table(header, rows)


def both_table(beyond: Beyond) -> str:
    rows = []
    for pair in beyond.pairs:
        for k, choice in enumerate(CHOICES):
            there, here = beyond.papers_finding(pair, choice), beyond.finding(pair, choice)
            known = [there.counts, there.points] if there.comparisons else ["not learned", ""]
            rows.append(["" if k else arrow(pair), choice, *known, here.counts, here.points])
    header = ["", "l1 chosen for", "papers' sets", "points", "these sets", "points"]
    return markdown_table(header, rows)


def arrow(pair: Pair) -> str:
    return " → ".join(pair)


def sums_table(beyond: Beyond) -> str:
    """How all comparisons came out, and those in place of each plain rule."""
    rows = []
    for plain in (None, *beyond.plain):
        row = ["all" if plain is None else f"in place of {plain}"]
        for choice in CHOICES:
            here = beyond.together(choice, plain)
            there = beyond.papers_together(choice, plain).counts
            row += [here.counts, word(here), there]
        rows.append(row)
    header = [text for choice in CHOICES for text in (choice, "verdict", "papers' sets")]
    return markdown_table(["", *header], rows)


def standings_table(beyond: Beyond) -> str:
    """How far the rules are behind, for each choice of l1."""
    found = {
        choice: {standing.method: standing for standing in beyond.standings(choice)}
        for choice in CHOICES
    }
    rows = []
    for method in beyond.study.plan.beyond_methods:
        row = [method]
        for standings in found.values():
            _, behind, most, where, zeros = standings[method]
            row += [f"{behind:.1f} ({where}: {most:.1f})", percent(zeros)]
        rows.append(row)
    header = [text for choice in CHOICES for text in (choice, "zeros")]
    return markdown_table(["", *header], rows)


def word(finding: Finding) -> str:
    """The verdict, without the sets that are against it."""
    return finding.verdict.split(";")[0]
