"""The sections of the page."""

from collections.abc import Sequence

from benchmarks.tables import markdown_table
from experiments.comparison import SIGNIFICANT
from experiments.reproduction import news
from experiments.reproduction.checks import CLOSE, SHARES
from experiments.reproduction.defaults import Defaults, Judged
from experiments.reproduction.gravity import ETAS, FOLDS, PERIODS, Trades, truncated
from experiments.reproduction.methods import ALL_Q, RDA, SCALE_FREE, number
from experiments.reproduction.names import AWARE, THESIS, TOP, Kept
from experiments.reproduction.pictures import intensities
from experiments.reproduction.plan import (
    LARGEST_STEP,
    SCALE_FREE_STEPS,
    SCAN_FOLDS,
    SMALLEST_STEP,
    TARGET_ZEROS,
)
from experiments.reproduction.published import S4, T4_7, PublishedTable
from experiments.reproduction.runs import STEPS_PER_DECADE, l1_of
from experiments.reproduction.study import CHOICES, Study
from experiments.reproduction.tables import (
    LISTED,
    against_published,
    all_methods_table,
    data_table,
    defaults_table,
    fewest_table,
    gravity_table,
    l1_table,
    names_table,
    open_differences_table,
    open_table,
    percent,
    published_names_table,
    zeros_table,
)

NOTES = {
    "T4.3": "The thesis prints the share of zeros in brackets, although it describes it as that of "
    "non-zeros.",
    "T4.9": "The slides say that the norm of subgradients wins on five of six sets, the thesis on "
    "four.",
    "S3": "After ± is the deviation over folds. H prints the same figures (H2).",
}


VALUES_IN_WORDS = {"counts": "counted", "unit": "0/1 in rows of unit length"}


def default_parameters(study: Study, defaults: Defaults) -> str:
    plan = study.plan
    any_rule, sparse_rule = defaults.best(), defaults.best(least_zeros=TARGET_ZEROS)
    usual = defaults.present(SCALE_FREE)
    etas = ", ".join(f"{protocol.eta0:g}" for protocol in plan.default_protocols)
    l1s = f"{l1_of(min(plan.default_steps)):.0e} to {l1_of(max(plan.default_steps)):.0e}"
    own_l1s = f"{l1_of(min(SCALE_FREE_STEPS)):.2g} to {l1_of(max(SCALE_FREE_STEPS)):.2g}"
    values = " and ".join(VALUES_IN_WORDS[values] for values in plan.default_values)
    protocol = plan.default_protocols[0]
    return f"""## What to take as defaults

Which single setting is best for all data sets? Each setting is trained
in {protocol.passes} pass with the {protocol.loss} loss, with
{protocol.folds} folds, on {", ".join(plan.defaults)}, with words {values}; eta0 is {etas}, l1 from
{l1s} (scale-free: {own_l1s}). For each data
set and each kind of values, its accuracy is compared with that of the best setting. The figures are
points behind the best, on average (in brackets: on the worst data set).

- Best: {_in_words(any_rule)}
- Best with at least {TARGET_ZEROS:.0%} zeros on average: {_in_words(sparse_rule)}
- The default of rarefy, or the nearest point of this grid: {_in_words(usual)}

{defaults_table(study, defaults)}

The papers' rules need different step sizes and penalties for rows of unit length and for counts, so
no single setting suits both. [scale-free](../reference/rules.md#scale-free), the default rule, was
made to solve this. All of these data are texts. A [sweep](../how-to/sweep.md) over l1 gains more
than any default."""


def _in_words(judged: Judged | None) -> str:
    if judged is None:
        return "none of them has so many."
    setting, behind, most, zeros = judged
    return f"{setting.words}: {behind:.1f} ({most:.1f}) points behind, {percent(zeros)} % zeros."


def data_and_protocol(study: Study) -> str:
    plan = study.plan
    protocol = plan.protocol
    decades = (plan.last_scan_step - plan.first_scan_step) / STEPS_PER_DECADE
    accurate, small = (table.figures["books"][RDA] for table in (S4, T4_7))
    draws = "\n".join(
        f"- {name}, {k + 1}: {', '.join(groups)}"
        for name in plan.datasets
        for k, groups in enumerate(news.DRAWS.get(name, ())[: plan.shuffles.get(name, 0)])
    )
    return f"""## Data and protocol

{data_table(study)}

The papers used other subsets of the same reviews. With 4,465 and 3,586 rows, these lie between
the two
versions here, which overlap with them and with each other. The smaller version has the words and
word
pairs of the collection's authors; the larger one was tokenised again. The thesis's other two sets,
electronics and kitchen, and the papers' subsets of the news were not available.
Instead, {news.POSTS_PER_GROUP} posts were drawn from each of these groups (related
ones for ob, unrelated ones for sb), without stop words and words that occur in fewer than
{news.FEWEST_POSTS} posts, and without stemming. Each draw replaces a shuffle:

{draws}

reut20 has the stories that have exactly one topic, for the 20 most frequent topics.

As in the papers: {protocol.loss} loss (S15 with several classes), η = {protocol.eta0:g}/√t,
{protocol.passes} passes, {protocol.folds} folds, counts of words, no intercept, every rule with
the l1 that is best for it. Everything was run with `rarefy.sweep`. A shuffle changes the order
of the
rows and the folds.

- **l1** is a power of 10^(1/{STEPS_PER_DECADE}). A scan over {decades:g} decades with
  {SCAN_FOLDS} folds finds the region. Then points are added until the chosen one has
  neighbours on both sides, within the limits {l1_of(SMALLEST_STEP):.0e} to
  {l1_of(LARGEST_STEP):.0e}. Is a chosen l1 at one of these limits? {at_ends(study, plan.datasets)}
- **Zeros** is the share of features of the data set whose final weight is zero, averaged over
  the folds. Features that do not occur in the training rows of a fold are included; the
  column *unseen* shows their share.
- **Accuracy** is measured on the folds on which l1 was chosen, as in the papers, so it is slightly
  optimistic. ± is the standard deviation over folds.
- **The published shares of zeros.** For RDA on books S has {accurate.zeros:.1f} % zeros and an
  accuracy of {accurate.accuracy:.1f} %, the thesis {small.zeros:.1f} % and {small.accuracy:.1f} %,
  with the same protocol. So they must have chosen l1 in different ways; both are shown here.

The chosen l1, for the highest accuracy / with at least {TARGET_ZEROS:.0%} zeros:

{l1_table(study, plan.datasets)}"""


def at_ends(study: Study, datasets: Sequence[str]) -> str:
    """For which rules and data sets a chosen l1 is the first or last that may be tried."""
    found = [
        f"{case.method} on {case.dataset}"
        for dataset in datasets
        for case in study.main_cases(dataset)
        if any(study.is_at_an_end(case, choose) for choose in CHOICES.values())
    ]
    return f"It is for {', '.join(found)}." if found else "It never is."


def table_of_the_papers(study: Study, table: PublishedTable) -> str:
    known = set(study.plan.methods) | set(study.plan.multiclass_methods)
    if not known & set(table.methods):
        return ""
    note = f" {NOTES[table.number]}" if table.number in NOTES else ""
    return f"""## Table {table.number}: {table.title}

Accuracy in per cent, zeros in brackets.{note}

{against_published(study, table)}"""


def every_rule(study: Study) -> str:
    return f"""## Every rule on every data set

l1 chosen for the highest accuracy; zeros in brackets.

{all_methods_table(study)}

The accuracy of a rule hardly changes over a wide range of l1. The range of zeros, in per cent, over
which it is within one standard error of the best:

{zeros_table(study)}

![Accuracy against zeros](img/reproduction-paths.svg)

Further up and further to the right is better; each point is an l1."""


def left_open(study: Study) -> str:
    plan = study.plan
    return f"""## What the papers leave open

The papers do not specify the order of the rows, the values of the features and the intercept, or
they
disagree (tf-idf for news in H, counts in the thesis). Here are other readings,
tried on {plan.open_dataset}, with l1
chosen for each. Accuracy, with zeros in brackets; l1 chosen for accuracy:

{open_table(study)}

Differences in points, l1 chosen for accuracy / with at least {TARGET_ZEROS:.0%} zeros; bold if p <
{SIGNIFICANT}:

{open_differences_table(study)}"""


def kept_features(study: Study, kept: Kept) -> str:
    models = "; ".join(
        f"{method}: l1 = {model.l1:.1e}, {model.n_kept:,} weights"
        for method, model in kept.models.items()
    )
    tables = "\n\n".join(names_table(kept, aware) for aware in AWARE)
    return f"""## Table T4.8: kept features by name

Models of all rows of {study.plan.names_dataset}. {THESIS} has the l1 of its most accurate models
with at least {TARGET_ZEROS:.0%} zeros, the others one that keeps about as many weights. {models}.
(Models of equal size are compared since a first look at the smaller set. There each model had
its own
best l1, and the feature-aware one kept half as many weights, and fewer rare
ones.)

The tables list features that are among the {TOP} strongest of one model but not of the other
({LISTED} at most). In brackets: the number of reviews with the feature. Then its weight, and in
brackets its weight in the other model.

{tables}

The thesis's examples, with their weights here. (Its counts may be occurrences instead of
reviews, and
the slides swap the counts of two of them.)

{published_names_table(kept)}

![Kept weights and occurrences](img/reproduction-rare.svg)

With q = ∞, the penalty of a feature depends on its largest subgradient and not on how many there
were, so frequency itself does not matter. With q = 2 it does
([The rules](../reference/rules.md))."""


def intensity() -> str:
    rows = [[f"q = {number(q)}", *(f"{r:.3g}" for r in intensities(q, 6))] for q in ALL_Q]
    table = markdown_table(["", *(f"t = {t}" for t in range(1, 7))], rows)
    return f"""## Figure T4.1 and table T4.4: how the penalty of a feature grows

![r against the number of updates](img/reproduction-intensity.svg)

{table}

The same as published: with subgradients of size 1, r is t^(1/q)."""


def truncated_gradient(study: Study, trades: Trades) -> str:
    periods = " and ".join(f"{period:,}" for period in PERIODS)
    gaps = "; ".join(
        f"K = {period:,}: {100 * score:.1f} points and {100 * share:+.0f} points"
        for period in PERIODS
        for score, share in [trades.against_batch(truncated(period))]
    )
    return f"""## L: truncated gradient on the UCI sets

L's appendix lists the data sets but gives no results, so there are no figures to compare with. The
claims are those of the paper it belongs to (JMLR 10, 2009, pages 777–801).
Truncation every K = {periods} rounds, without a threshold; constant η, the best of
{", ".join(map(str, ETAS))} without truncation; logistic loss, or squared loss and R² for housing
and zoo. Rounding has the same η and K. The batch solution is that of LIBLINEAR, or the lasso.
Numbers
are scaled to standard deviation 1, and words are 0/1 features; {FOLDS} folds of equal size, for
each of {study.plan.uci_shuffles} shuffles. Some rows are left out so that training ends with a
truncation: otherwise the weights of the last gradients would count as features. Of *ad* only the
first 998 rows were available, which include all ads. The longer K was added after the results
for the
shorter one were known.

![Accuracy against features kept](img/reproduction-gravity.svg)

With the same penalty, the accuracy (or R²) of truncated gradient differs from that of the batch
solution, and the share of features that it keeps, on average by: {gaps}. Between two truncations
every gradient makes weights non-zero, and a truncation removes only those below η K times the
gravity. So noise keeps features that are not needed, and the shorter K is, the more of
them.

The share of features needed to be at most 1 or 3 points behind the best:

{fewest_table(trades, (CLOSE, 3 * CLOSE))}

Accuracy or R² in per cent with at most {", ".join(f"{share:.0%}" for share in SHARES)} of the
features:

{gravity_table(trades)}"""
