"""The section of the page on data sets that the papers do not have."""

import numpy as np

from experiments.comparison import HIGHER, LOWER, SIGNIFICANT, Tally
from experiments.reproduction.beyond import Beyond, Standing
from experiments.reproduction.beyond_tables import (
    arrow,
    both_table,
    comparisons_table,
    data_table,
    rules_table,
    standings_table,
    sums_table,
    word,
    zeros_table,
)
from experiments.reproduction.claims import AT_BEST, AT_SPARSE, SAME, Finding
from experiments.reproduction.plan import TARGET_ZEROS
from experiments.reproduction.sections import at_ends
from experiments.reproduction.study import CHOICES
from experiments.reproduction.tables import l1_table

TITLE = "On data that the papers never saw"


def in_short(beyond: Beyond) -> str:
    counts = ", ".join(
        f"{finding.counts} of {len(finding.comparisons)} with l1 chosen for {choice}"
        for choice in CHOICES
        for finding in [beyond.together(choice)]
    )
    return f"""The verdicts are about the papers' data. On {len(beyond.datasets)} sets that the
papers did not use, feature-aware rules are more accurate / not significantly different / less
accurate than plain ones in {counts}: [see there](#{TITLE.lower().replace(" ", "-")})."""


def section(beyond: Beyond) -> str:
    study, plan = beyond.study, beyond.study.plan
    least = f"at least {TARGET_ZEROS:.0%}"
    dense = ", ".join(beyond.too_dense(AT_SPARSE[0], TARGET_ZEROS))
    reached = f"Not reached by {dense}." if dense else "Every rule reaches that on every set."
    return f"""## {TITLE}

The papers' data are reviews and news. Here the same rules learn with the same
[protocol](#data-and-protocol) from {len(plan.beyond)} sets on which the papers did not test them
(rcv1 is in L's list and in chapter 5 of the thesis, for other rules; here it is a small part).
Values are those of the files, so they are not always word counts. If a set has more than
{plan.n_rows:,} rows, each shuffle samples that many. Features are those that occur in these rows.
*Unseen* features do not occur in the training rows of a fold; *guessing* always predicts the
more frequent class.

{data_table(beyond)}

Accuracy in per cent, zeros in brackets, l1 chosen for the highest accuracy; in italics: not
significantly more accurate than guessing:

{rules_table(beyond, AT_BEST[0])}

The same, l1 chosen for the highest accuracy with {least} zeros. {reached}

{rules_table(beyond, AT_SPARSE[0])}

![Accuracy against zeros](img/reproduction-beyond.svg)

Further up and further to the right is better; each point is an l1. Between points far apart
nothing was tried. The chosen l1, for the highest accuracy / with {least} zeros:

{l1_table(study, plan.beyond)}

Is a chosen l1 at a limit of the search? {at_ends(study, plan.beyond)}

### Plain and feature-aware, set by set

The accuracy of the second rule minus that of the first, in points, with p in brackets, bold if p <
{SIGNIFICANT}. The verdict is on the claim that it is more accurate, by
[the same rules](#how-to-read-the-verdicts). AdaGrad adapts the step of each feature, and not its
penalty.

{comparisons_table(beyond)}

With features of 0/1 and q = ∞, FR-COMID has the same penalty for all features, like COMID.
Identical
in all folds: {", ".join(beyond.identical()) or "no two rules"}.

The share of zeros in points, l1 chosen for the highest accuracy; the verdict is on the claim that
the second rule has more. It hardly varies over folds, so small differences are significant; if
accuracy is the same over a wide range of l1, it depends more on the choice of l1 than on the
rule.

{zeros_table(beyond)}

### Compared with the papers' sets

Number of sets on which the second rule is better / not significantly different / worse, and the
mean
difference in points of accuracy:

{both_table(beyond)}

### What a user may conclude

Comparisons in which a feature-aware rule is better / not significantly different / worse than its
plain form:

{sums_table(beyond)}

Points behind the most accurate rule of each set, on average (and on the worst set), and the mean
share of zeros in per cent:

{standings_table(beyond)}

{conclusions(beyond)}"""


def conclusions(beyond: Beyond) -> str:
    protocol = beyond.study.plan.protocol
    n = sum(len(beyond.together(choice).comparisons) for choice in CHOICES)
    lines = [
        *(awareness(beyond, choice) for choice in CHOICES),
        *(advice(beyond, plain) for plain in beyond.plain),
        *(leaders(beyond, choice) for choice in CHOICES),
        sizes(beyond),
        guessing(beyond),
        f"Of {n} comparisons about {SIGNIFICANT * n:.0f} would be significant by chance if there "
        f"were no differences. All of this is for the {protocol.loss} loss, {protocol.passes} "
        f"passes, a tuned l1, and η = {protocol.eta0:g}/√t, which was not tuned: it may "
        "suit one rule better than another. [Defaults](#what-to-take-as-defaults) and "
        "[other tools](peers.md) are other questions.",
    ]
    return "\n".join(f"- {line}" for line in lines)


def awareness(beyond: Beyond, choice: str) -> str:
    verdict = word(beyond.together(choice)).replace("mostly undecided", "is mostly undecided")
    groups = "; ".join(
        f"{words}: {', '.join(map(arrow, pairs))}"
        for words, pairs in beyond.by_outcome(choice).items()
        if pairs
    )
    sets = ", ".join(f"{name} {beyond.on(name, choice).counts}" for name in beyond.datasets)
    return (
        f"**{_capital(choice)}: that feature-aware rules are more accurate {verdict}.** "
        f"{_capital(groups)}. By data set, better / not significant / worse: {sets}."
    )


def advice(beyond: Beyond, plain: str) -> str:
    found = "; ".join(f"{choice}, {effect(beyond.together(choice, plain))}" for choice in CHOICES)
    return f"A feature-aware rule in place of {plain}: {found}."


def effect(finding: Finding) -> str:
    """What a user may expect of a rule that stands in for another."""
    tally = Tally(HIGHER, finding.comparisons)
    better, worse, n = tally.count(HIGHER), tally.count(LOWER), len(finding.comparisons)
    if better == worse == 0:
        return "makes no significant difference"
    if worse == 0:
        return f"gains in {better} of {n} comparisons, and never loses"
    if better == 0:
        return f"loses in {worse} of {n} comparisons, and never gains"
    often = {HIGHER: "more often than", SAME: "as often as", LOWER: "less often than"}
    return f"gains {often[int(np.sign(better - worse))]} it loses ({better} and {worse} of {n})"


def leaders(beyond: Beyond, choice: str) -> str:
    """The rule that is least behind, and the first of each kind."""
    standings = beyond.standings(choice)
    aware = {after for _, after in beyond.aware_pairs}
    first_aware = next(standing for standing in standings if standing.method in aware)
    first_plain = next(standing for standing in standings if standing.method in beyond.plain)
    return (
        f"{_capital(choice)}: least behind on average is {_behind(standings[0])}; of the "
        f"feature-aware rules it is {_behind(first_aware)}, of the plain ones "
        f"{_behind(first_plain)}."
    )


def _behind(standing: Standing) -> str:
    return f"{standing.method} ({standing.behind:.1f} points)"


def sizes(beyond: Beyond) -> str:
    found = "; ".join(
        f"{choice}, {beyond.size_of_awareness(choice):.1f} and "
        f"{beyond.spread_of_plain_rules(choice):.1f}"
        for choice in CHOICES
    )
    return (
        "Points between a plain rule and its feature-aware form, and between the best and the "
        f"worst plain rule of a set (medians): {found}."
    )


def guessing(beyond: Beyond) -> str:
    ahead = ", ".join(
        f"{name} {100 * max(c.difference for c in found.values()):.1f}"
        for name in beyond.datasets
        for found in [beyond.over_guessing(name, AT_BEST[0])]
    )
    return (
        f"Points by which the most accurate rule is ahead of guessing: {ahead}. Where these are "
        "few, rules can hardly differ."
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
