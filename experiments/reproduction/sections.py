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

One setting for all data, as the default parameters of an estimator are. Each setting is learned
in {protocol.passes} pass with the {protocol.loss} loss, as the estimators do by default, with
{protocol.folds} folds, on {", ".join(plan.defaults)}, with words {values}; eta0 is {etas}, l1 from
{l1s} (scale-free: {own_l1s}). How far it is behind the best of all settings is taken for each data
set and each kind of values, in points of accuracy, and averaged (in brackets: where it is most
behind).

- Least behind of all: {_in_words(any_rule)}
- Least behind with at least {TARGET_ZEROS:.0%} zeros on average: {_in_words(sparse_rule)}
- The library's own default, or what is nearest to it in this grid: {_in_words(usual)}

{defaults_table(study, defaults)}

The papers' rules need other steps and penalties for rows of unit length than for counts, so that
no one setting suits both; [scale-free](rules.md#scale-free) was made for that, and is the default
of classifiers. These are texts; a [sweep](sweep.md) over l1 is worth more than any default."""


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

The papers' reviews are other subsets of the same collection: with 4,465 and 3,586 rows they are
between the two versions here, whose rows overlap with theirs, and with each other. In the smaller
one, words and pairs are those of the collection's authors; in the larger one they were cut anew.
Electronics and kitchen, the thesis's two other sets, are not at hand. The papers' news subsets are
not at hand either. Here {news.POSTS_PER_GROUP} posts are drawn from each of these groups (related
ones for ob, unrelated ones for sb), without stop words and words in fewer than
{news.FEWEST_POSTS} posts, and not stemmed. Each draw takes the place of a shuffle:

{draws}

reut20 is the stories with exactly one topic, of the 20 most frequent topics.

As in the papers: {protocol.loss} loss (S15 with several classes), η = {protocol.eta0:g}/√t,
{protocol.passes} passes, {protocol.folds} folds, counts of words, no intercept, every rule with
the l1 that is best for it. All of it by `rarefy.sweep`, which learns the models side by side; a
shuffle puts the rows in another order and draws other folds.

- **l1** is a power of 10^(1/{STEPS_PER_DECADE}). A scan over {decades:g} decades with
  {SCAN_FOLDS} folds says where to look. Then points are added until the chosen ones have
  neighbours on both sides that were tried, as far as from {l1_of(SMALLEST_STEP):.0e} to
  {l1_of(LARGEST_STEP):.0e}. Is a chosen l1 at one of these ends? {at_ends(study, plan.datasets)}
- **Zeros** are weights that are zero at the end, of all features of the data set, averaged over
  the folds. Those of features that do not occur in the training rows of a fold count, too: the
  column *unseen* has their share.
- **Accuracy** is that of the folds by which l1 was chosen, as in the papers, so all of it is a
  little too good. ± is the deviation over folds.
- **The published shares of zeros.** For RDA on books S has {accurate.zeros:.1f} % zeros and an
  accuracy of {accurate.accuracy:.1f} %, the thesis {small.zeros:.1f} % and {small.accuracy:.1f} %,
  with the same protocol. So the two chose l1 differently, and both choices are given here.

The l1 that were chosen, for the highest accuracy / with at least {TARGET_ZEROS:.0%} zeros:

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

The accuracy of a rule hardly changes over a wide range of l1. These are the shares of zeros, in per
cent, between which it is within a standard error of the best:

{zeros_table(study)}

![Accuracy against zeros](img/reproduction-paths.svg)

Further up and further to the right is better; each point is an l1."""


def left_open(study: Study) -> str:
    plan = study.plan
    return f"""## What the papers leave open

Order of the rows, values of the features, intercept: the papers do not say, or do not agree (H has
tf-idf for news, the thesis counts). Here other readings are tried on {plan.open_dataset}, l1 chosen
anew for each. Accuracy, and zeros in brackets, l1 chosen for accuracy:

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
(That models of one size are compared was settled after a first look at the smaller set, where each
model had its own best l1: the feature-aware one kept half as many weights then, and fewer rare
ones.)

These are features that are among the {TOP} strongest of one model and not of the other
({LISTED} at most). In brackets: the number of reviews that have it; then its weight, and in
brackets that in the other model.

{tables}

The thesis's own examples, with their weights here (its counts may be of occurrences and not of
reviews; for two of them the slides have the counts the other way round):

{published_names_table(kept)}

![Kept weights and occurrences](img/reproduction-rare.svg)

With q = ∞ the penalty of a feature grows with the largest of its subgradients, and not with their
number, so that it does not look at frequency as such; with q = 2 it does ([rules.md](rules.md))."""


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

L's appendix lists the data sets and gives no results, so there are no figures to set these
against; its claims are those of the paper that it belongs to (JMLR 10, 2009, pages 777–801).
Truncation every K = {periods} rounds, without a threshold; constant η, the best of
{", ".join(map(str, ETAS))} without truncation; logistic loss, or squared loss and R² for housing
and zoo. Rounding has the same η and K. The batch solution is LIBLINEAR's, or the lasso. Numbers
are scaled to deviation 1, words are 0/1 features; {FOLDS} folds of equal size, for
each of {study.plan.uci_shuffles} shuffles. Some rows are left out so that learning ends with a
truncation: otherwise the last gradients would count as features. Of *ad* only the first 998 rows
are at hand, with all the ads. The longer K was added when the results for the shorter one had been
seen.

![Accuracy against features kept](img/reproduction-gravity.svg)

With the same penalty, the accuracy (or R²) of truncated gradient differs from that of the batch
solution, and the share of features that it keeps, on average by: {gaps}. Between two truncations
every gradient makes weights that are not zero, and a truncation takes away only those below η K
times the gravity. So features that are not needed survive by noise, the more of them the shorter K
is.

The share of features that is enough to be at most 1 or 3 points behind the best of all:

{fewest_table(trades, (CLOSE, 3 * CLOSE))}

Accuracy or R² in per cent with at most {", ".join(f"{share:.0%}" for share in SHARES)} of the
features:

{gravity_table(trades)}"""
