"""The page: docs/results/peers.md."""

import math
from collections import Counter
from collections.abc import Sequence
from itertools import product

import numpy as np

from benchmarks.tables import markdown_table
from experiments.peers.data import SOURCES, task
from experiments.peers.frontier import Frontier, Lead, frontier, leads, leads_of_chosen
from experiments.peers.methods import METHODS
from experiments.peers.plan import OURS, OURS_WIDE, Plan
from experiments.peers.work import Outcomes

SHOWN = (10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 20_000, 100_000)
SHARES_OF_THE_BEST = (0.9, 0.97, 1.0)  # of the way from guessing to the best accuracy of all

INTRODUCTION = """# Accuracy against model size, compared with other tools

How accurate can a model with a given number of weights be? Every tool was run with {n_points}
settings on each data set (one of our rows has more, as stated there) and judged by {n_folds}-fold
cross-validation with the same folds for all. A tool is shown by its *frontier*: its most accurate
models for each number of weights, joined by straight lines over the logarithm of that number.
Models below a line between two others are left out. `make peers` runs the comparison and writes
this page.

**rarefy**, in bold, is a mixture of settings: small models come from a refit of `scale-free`
(`refit_features`), models of middle size from a refit or `ftrl`, and large ones from `scale-free`
without a refit. The mixture was chosen among about thirty-five, by how often other tools were
clearly ahead on these same data sets, while each other tool had one version. So its figures are too
good. Our other rows use a single rule each, with the same number of settings.

"""

RULES_OF_THE_GAME = """## How it was run

{table_of_methods}

- Penalties cover the range from almost no weights to most of them. Online learners make {passes}
  passes, River one.
- LIBLINEAR is called through scikit-learn with its own tolerance and number of iterations.
  LIBLINEAR and VW penalise the intercept. No intercept is counted as a weight.
- Larger data sets are samples of {most_rows:,} rows. Texts are 0/1 features, one for each word; the
  rows of rcv1 are tf-idf of unit length.
- A *lead* is the difference of two frontiers at the same number of weights, and is called clear if
  it is more than its standard error over the folds. Where there is none, about one lead in five is
  called clear by chance.
- The best of {n_points} settings looks a little better than it would on new data, for all tools
  alike; the best of more settings looks better still.

{table_of_data}
"""


VERDICT = """## Verdict

Of {n_all} comparisons of a peer with rarefy, at 1, 2, 5, 10, 20, ... weights, the peer is clearly
ahead in {n_clear}.

{lost}
At how many numbers of weights rarefy is clearly ahead:

{table}

"""

WIDE_VERDICT = """### A wide sweep

The other tools train one model at a time. A sweep trains all its settings side by side, so a user
would try several rules and step sizes at once. Compared with *rarefy, wide sweep*, which has
{n_tries} settings, other tools are clearly ahead in {n_clear} of {n_all} comparisons.
{listed}
The best of more settings looks better than it is. To remove this advantage, choose for every fold
the setting that was best in the other folds, for all tools: other tools are then clearly ahead in
{n_clear_chosen} of {n_all_chosen} comparisons.

"""

RANGES = (
    (1, 100, "Fewer than 100 weights"),
    (100, 1_000, "100 to 999"),
    (1_000, 10**9, "1,000 and more"),
)

ADVICE = """## When to use which

In how many columns of the tables above each tool is the most accurate:

{all_tools}
The same for online learners without a refit, as needed for rows that can be read only once:

{online}
A refit reads the rows a second time, and the rows, with the kept features only, must fit in memory.
LIBLINEAR needs all rows in memory, and has no step size to choose. The verdict says where each of
them is ahead.

"""


def page(plan: Plan, outcomes: Outcomes) -> str:
    frontiers = {key: frontier(found) for key, found in outcomes.items()}
    parts = [
        INTRODUCTION.format(**plan._asdict()),
        verdicts(plan, frontiers),
        verdict_on_wide_sweep(plan, outcomes, frontiers),
        "## Accuracy by number of weights\n\nIn percent, with the standard error over the folds "
        "for rarefy; a dash: the tool has no model as small.\n\n",
    ]
    for dataset in plan.datasets:
        parts.append(
            f"### {dataset}\n\n![accuracy against weights kept](img/peers-{dataset}.svg)\n\n"
            f"{accuracy_table(dataset, frontiers)}\n\n"
        )
    parts.append("## Weights needed for a given accuracy\n\n" + weights_text(plan, frontiers))
    parts.append(advice(plan, frontiers))
    parts.append(
        RULES_OF_THE_GAME.format(
            table_of_methods=method_table(plan),
            table_of_data=data_table(plan),
            **plan._asdict(),
        )
    )
    return "".join(parts)


Frontiers = dict[tuple[str, str], Frontier]


def methods_of(dataset: str, frontiers: Frontiers) -> list[str]:
    return [method for of, method in frontiers if of == dataset]


def peers_of(dataset: str, frontiers: Frontiers) -> list[str]:
    return [name for name in methods_of(dataset, frontiers) if not METHODS[name].is_ours]


def clear_leads(dataset: str, peer: str, frontiers: Frontiers) -> tuple[list[Lead], int]:
    """The clear leads of a peer over ours, and how many numbers of weights were compared."""
    found = leads(frontiers[dataset, peer], frontiers[dataset, OURS])
    return [lead for lead in found if lead.is_clear], len(found)


def verdict_on_wide_sweep(plan: Plan, outcomes: Outcomes, frontiers: Frontiers) -> str:
    """Where peers are clearly ahead of a sweep over several rules and steps."""
    on_frontier, chosen, places = Counter[bool](), Counter[bool](), []
    for dataset in plan.datasets:
        ours = dataset, OURS_WIDE
        for peer in peers_of(dataset, frontiers):
            found = leads(frontiers[dataset, peer], frontiers[ours])
            on_frontier.update(lead.is_clear for lead in found)
            title = f"{dataset}, {METHODS[peer].title}"
            places += [
                f"{title} at {lead.n_weights:,} ({_points(lead)})"
                for lead in found
                if lead.is_clear
            ]
            fair = leads_of_chosen(outcomes[dataset, peer], outcomes[ours])
            chosen.update(lead.is_clear for lead in fair)
    n_tries = len(outcomes[plan.datasets[0], OURS_WIDE].weights)
    listed = "".join(f"\n- {place}" for place in places) + "\n" * bool(places)
    return WIDE_VERDICT.format(
        n_tries=n_tries,
        n_points=plan.n_points,
        n_clear=on_frontier[True],
        n_all=on_frontier.total(),
        listed=listed,
        n_clear_chosen=chosen[True],
        n_all_chosen=chosen.total(),
    )


def verdicts(plan: Plan, frontiers: Frontiers) -> str:
    peers = [name for name in plan.methods if not METHODS[name].is_ours]
    rows, lost, n_clear, n_all = [], [], 0, 0
    for dataset in plan.datasets:
        row = [dataset]
        for peer in peers:
            if (dataset, peer) not in frontiers:
                row.append("")
                continue
            clear, compared = clear_leads(dataset, peer, frontiers)
            ours = leads(frontiers[dataset, OURS], frontiers[dataset, peer])
            n_clear, n_all = n_clear + len(clear), n_all + compared
            row.append(f"{sum(lead.is_clear for lead in ours)} of {compared}")
            if clear:
                lost.append(told(dataset, peer, clear))
        rows.append(row)
    table = markdown_table(["", *(METHODS[peer].title for peer in peers)], rows)
    return VERDICT.format(n_all=n_all, n_clear=n_clear, lost="".join(lost), table=table)


def told(dataset: str, peer: str, clear: Sequence[Lead]) -> str:
    """Where a peer is clearly ahead."""
    where = ", ".join(f"{lead.n_weights:,}" for lead in clear)
    most = max(clear, key=lambda lead: lead.mean)
    return (
        f"- {dataset}, {METHODS[peer].title}: at {where} weights, by at most {_points(most)} "
        f"points (at {most.n_weights:,}).\n"
    )


def _points(lead: Lead) -> str:
    return f"{100.0 * lead.mean:.2f} ± {100.0 * lead.error:.2f}"


def accuracy_table(dataset: str, frontiers: Frontiers) -> str:
    most = max(frontiers[dataset, name].weights[-1] for name in methods_of(dataset, frontiers))
    shown = [budget for budget in SHOWN if budget <= most]
    rows = []
    for name in methods_of(dataset, frontiers):
        found = frontiers[dataset, name]
        cells = [_accuracy(found, budget, with_error=name == OURS) for budget in shown]
        title = METHODS[name].title
        rows.append([f"**{title}**" if name == OURS else title, *cells])
    return markdown_table(["weights", *(f"{budget:,}" for budget in shown)], rows)


def _accuracy(found: Frontier, budget: int, *, with_error: bool) -> str:
    if budget < found.weights[0]:
        return "–"
    values = 100.0 * found.at(budget)
    error = values.std(ddof=1) / math.sqrt(len(values))
    return f"{values.mean():.2f}" + (f" ± {error:.2f}" if with_error else "")


def weights_text(plan: Plan, frontiers: Frontiers) -> str:
    """For every data set, the fewest weights for shares of the best accuracy."""
    parts = [
        "Accuracy as a share of the gain of the best tool over guessing the more frequent class: "
        + ", ".join(f"{share:.0%}" for share in SHARES_OF_THE_BEST)
        + ". The table has the weights (and the share of zeros) needed; a dash: the tool does "
        "not reach it.\n\n"
    ]
    names = [name for name in plan.methods if any(name == method for _, method in frontiers)]
    header = ["", "accuracy", *(METHODS[name].title for name in names)]
    rows = []
    for dataset in plan.datasets:
        made = task(dataset, plan.most_rows, plan.n_folds)
        guessed = max(np.mean(made.y > 0.0), np.mean(made.y < 0.0))
        best = max(frontiers[dataset, m].means[-1] for m in methods_of(dataset, frontiers))
        for share in SHARES_OF_THE_BEST:
            wanted = guessed + share * (best - guessed)
            cells = [
                _weights(frontiers.get((dataset, name)), wanted, made.X.shape[1]) for name in names
            ]
            rows.append([dataset, f"{100.0 * wanted:.2f} %", *cells])
    return "".join(parts) + markdown_table(header, rows) + "\n\n"


def _weights(found: Frontier | None, accuracy: float, n_features: int) -> str:
    fewest = math.inf if found is None else found.fewest(accuracy)
    return "–" if math.isinf(fewest) else f"{fewest:,.0f} ({1.0 - fewest / n_features:.2%})"


def advice(plan: Plan, frontiers: Frontiers) -> str:
    """Which tool for what, as the numbers say."""
    rivals = [name for name in plan.methods if name == OURS or not METHODS[name].is_ours]
    online = [name for name in plan.methods if not METHODS[name].needs_all_rows]
    return ADVICE.format(
        all_tools=wins(plan, rivals, frontiers), online=wins(plan, online, frontiers)
    )


def wins(plan: Plan, names: Sequence[str], frontiers: Frontiers) -> str:
    lines = []
    for low, high, title in RANGES:
        count: Counter[str] = Counter()
        for dataset, budget in product(plan.datasets, SHOWN):
            if low <= budget < high:
                count.update(winner(dataset, budget, names, frontiers))
        text = ", ".join(f"{METHODS[name].title} {n}" for name, n in count.most_common())
        lines.append(f"- {title}: {text or 'none'}.\n")
    return "".join(lines)


def winner(dataset: str, budget: int, names: Sequence[str], frontiers: Frontiers) -> list[str]:
    """The most accurate, if any of them keeps so many weights."""
    found = {name: frontiers[dataset, name] for name in names if (dataset, name) in frontiers}
    if budget > max((one.weights[-1] for one in found.values()), default=0.0):
        return []
    means = {name: one.at(budget).mean() for name, one in found.items() if one.weights[0] <= budget}
    return [max(means, key=lambda name: means[name])] if means else []


def method_table(plan: Plan) -> str:
    rows = [[METHODS[name].title, METHODS[name].grid] for name in plan.methods]
    return markdown_table(["", f"the {plan.n_points} tries"], rows)


def data_table(plan: Plan) -> str:
    rows: list[Sequence[str]] = []
    for name in plan.datasets:
        made = task(name, plan.most_rows, plan.n_folds)
        n_rows, n_features = made.X.shape
        rows.append([name, SOURCES[name].title, f"{n_rows:,}", f"{n_features:,}"])
    return markdown_table(["", "what it is", "rows", "features"], rows)
