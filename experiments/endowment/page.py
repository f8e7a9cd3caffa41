"""The page: what was done, what came of it, and what follows."""

from itertools import product
from statistics import mean, median

from experiments.comparison import LOWER, SIGNIFICANT, Comparison, Tally
from experiments.endowment.curves import Curves
from experiments.endowment.learning import Setting
from experiments.endowment.plan import AS_PRINTED, AS_WRITTEN, AWARE, OGD, TARGET_ZEROS
from experiments.endowment.published import TABLE_5_3, TABLE_5_4, growth_of_divestiture
from experiments.endowment.study import (
    SPARSE_GAMMA,
    Measure,
    Study,
    accuracy,
    expected,
    test_flips,
    training_flips,
    zeros,
)
from experiments.endowment.tables import (
    best_gamma_table,
    claims_table,
    data_table,
    flip_table,
    gamma_table,
    hindsight_table,
    loss_table,
    own_claims_table,
    side_by_side,
    sparse_table,
    step_table,
)
from experiments.endowment.verdicts import own_claims, thesis_claims

SPARSE_SHARE = 0.3
HEAD = """<!-- Written by `make endowment`; to change it, change experiments/endowment/. -->
# The experiments of the endowment chapter, reproduced

If training gives more weight to examples that the model already predicts correctly (an
*endowment*),
does the model lose fewer of its correct answers later, and at what price? In E-OGD, an example
that is
predicted correctly when it arrives counts 1 + γ times (T5.6); otherwise it is OGD.
The thesis, T, compares the two in tables 5.3 and 5.4 and in figure 5.1, on test sets in which some
rows are replaced by training examples.

[Endowment](../explanation/endowment.md) explains endowments and the losses. `make endowment` runs
everything on two cores and writes this page."""


def page(study: Study, all_curves: list[Curves]) -> str:
    sections = (
        HEAD,
        verdicts(study, all_curves),
        which_gamma(study),
        data_and_protocol(study),
        meaning_of_r(),
        table_of_the_thesis(study, OGD, "5.3"),
        table_of_the_thesis(study, AWARE, "5.4"),
        why_not(study),
        other_settings(study),
        rounds(all_curves),
        sparse(study),
    )
    return "\n\n".join(sections) + "\n"


def verdicts(study: Study, all_curves: list[Curves]) -> str:
    return f"""## Verdicts

In short:

- With the same η, E-OGD always has the lower divestiture loss. With an η of its own, its loss is
  lower in most comparisons, by about as much as published, and higher in none.
- The thesis says that this outweighs the higher expected loss, so that the cumulative loss is
  lower. That holds for importance-aware updates if most test rows are replaced, as the thesis's
  numbers suggest. With plain updates, most differences are not significant. With as few rows
  replaced as the thesis's text says, it does not hold.
- It could not be reproduced for the hinge loss with plain updates. The advantage grows with γ for
  importance-aware updates only, and again only if most test rows are replaced.
- Sparse rules stay sparse with an endowment, with slightly fewer zeros, and their divestiture
  losses fall like OGD's.

There is one comparison for each data set and share ρ of replaced test rows. The counts are better /
not significant / worse, followed by the median change. "Better" and "worse" are differences
with p <
{SIGNIFICANT} in a paired test over {len(study.plan.seeds)} seeds; by chance alone, one in twenty
would be. A claim *holds mostly* if at least half of the comparisons are better and none is
worse. γ is 1 unless stated.

In the thesis's tables, r seems to be the share of test rows that were *not* replaced
([see below](#what-r-is)). So each claim is tested twice: with ρ = r, as the text says, and with ρ =
1 − r.

{claims_table(thesis_claims(study))}

Other claims, for ρ = r and ρ = 1 − r together (those on the figure, and on the sparse rules, for
ρ = 0.3, and for 0.3 and 0.95, on fewer data sets):

{own_claims_table(own_claims(study, all_curves))}"""


def mean_over_datasets(study: Study, template: Setting, gamma: float, measure: Measure) -> float:
    return mean(
        float(study.values(d, study.usual(d, template)._replace(gamma=gamma), measure).mean())
        for d in study.plan.datasets
    )


def which_gamma(study: Study) -> str:
    largest = max(study.plan.gammas)

    def change(template: Setting, gamma: float, measure: Measure) -> str:
        """In per cent."""
        after = mean_over_datasets(study, template, gamma, measure)
        return f"{100 * (after / mean_over_datasets(study, template, 0.0, measure) - 1):+.0f} %"

    def points(template: Setting, gamma: float) -> str:
        after = mean_over_datasets(study, template, gamma, accuracy)
        before = mean_over_datasets(study, template, 0.0, accuracy)
        return f"{round(100 * (after - before), 2) + 0.0:+.2f}"  # and no -0.00

    loss = expected(0.05)
    return f"""## Which γ to take

**γ = 1 with `importance="aware"`.** With the step η that is best without an endowment, on average
over the data sets, this changes the share of training examples that were predicted correctly when
they arrived but wrongly at the end by {change(AWARE, 1.0, training_flips)}, the accuracy by
{points(AWARE, 1.0)} points, and the expected logistic loss by {change(AWARE, 1.0, loss)}. (The
first is significant on some of the data sets only: see the table.) With plain updates the changes
are {change(OGD, 1.0, training_flips)}, {points(OGD, 1.0)} points and {change(OGD, 1.0, loss)}. A
larger γ loses slightly fewer and costs more: γ = {largest:g} gives
{change(AWARE, largest, training_flips)}, {points(AWARE, largest)} points and
{change(AWARE, largest, loss)} if importance-aware, and {change(OGD, largest, training_flips)},
{points(OGD, largest)} points and {change(OGD, largest, loss)} if plain, where steps 1 + γ times
as long overshoot.

- An endowment makes models overconfident, because they learn less from their mistakes. In the
  tables below, confidence grows with γ; in a calibrated model it would equal the accuracy. So, if
  labels are noisy (a9a, criteo), the expected loss grows from γ = 0.5 or 1 on. If you need
  probabilities, use no endowment, or calibrate them afterwards.
- If you know the cost of a lost answer, do not use a larger γ than that, unless updates are
  importance-aware: see the tables of the best γ below.
- An endowment protects examples that were learned. For rows that were never learned (test rows
  that were right after half of the training) it hardly helps ({change(AWARE, 1.0, test_flips)}
  for γ = 1).
- A shorter step does nearly the same: η / 2 without an endowment loses about as few training
  examples as γ = 1, and fewer test rows, but costs a little accuracy and at least as much expected
  loss. The advantages of an endowment are that accuracy does not fall, and that the step does not
  have to be chosen again.

Means over the data sets; η is the one that is best without an endowment, or, in the last rows, a
shorter one without an endowment. In brackets: the number of data sets on which it is better / not
significantly
different / worse than γ = 0. A flip is an answer that was right and is wrong at the end: for a
training example, right when it arrived (as a share of those); for a test row, right after half of
the training (as a share of all).

Plain updates:

{flip_table(study, OGD)}

Importance-aware updates:

{flip_table(study, AWARE)}

![Flips against accuracy](img/endowment-trade-off.svg)

Lower and further to the right is better. Dotted: OGD with steps longer (up) or shorter (down)
than the best one.

The best γ to train with, plain / importance-aware: the one with the lowest cumulative loss, if lost
answers cost the γ of the column. η is chosen for each (on the splits used for choosing); ρ = 0.3:

{best_gamma_table(study, 0.3)}

ρ = 0.95:

{best_gamma_table(study, 0.95)}"""


def data_and_protocol(study: Study) -> str:
    plan = study.plan
    return f"""## Data and protocol

None of the thesis's five data sets was available in its original form. Of *rcv1* there is a small
part. *news20* is the same collection of posts with other features (147,018 words instead of
1,335,191) and another split; its two classes follow the description of news20.binary (comp, sci and
misc.forsale against the rest), which could not be checked. *algebra*, *BtA* (8 and 19 million rows)
and *webspam-t* are missing, and nothing here is as large. a9a and criteo resemble algebra and
BtA in
kind: categories as 0/1 features, noisy labels, unequal classes.

{data_table(plan.datasets)}

As in the thesis: one pass, η_t = η/√t, no intercept, no projection, η from 10³ to 1.91·10⁻³ by
halves, each method with the η of its lowest cumulative loss (T5.34), for each γ and each ρ. Texts
have 1 for each word that occurs (rcv1: values of the file), and rows are scaled to unit length, as
is usual in LIBSVM's collection.

Not as in the thesis:

- The thesis seems to have chosen η by the losses that it reports. Here it is chosen on
  {len(plan.tuning_seeds)} splits of the data and everything is measured on {len(plan.seeds)}
  others. A split is the data in random order, a quarter of it for testing; all methods see the
  same splits and the same replaced rows.
- The thesis does not say what γ its tables are for. γ = 1 is assumed: it gives divestiture losses
  of about the published size relative to the expected ones.
- Means have their standard errors over the splits. Differences are tested by a paired t-test with
  the correction of Nadeau and Bengio (2003) for splits that share rows; bold: p < {SIGNIFICANT}.

Changed after a look at results: a first run had 10 of these seeds, 3 splits for
choosing, and p < 0.01. With p < 0.01 on the present runs four verdicts change: with the same η,
"fewer training examples lost" with importance-aware updates becomes mostly undecided (3 / 4 / 0),
and the lower divestiture loss with plain ones holds mostly (41 / 1 / 0); with ρ = 1 − r, γ = 8
becomes mostly undecided with plain updates, and γ = 4 holds mostly with importance-aware ones.
The share of zeros asked of sparse models was lowered from 90 % to {TARGET_ZEROS:.0%}, and the
grid of l1 set, on one split, because not every rule reached more."""


def meaning_of_r() -> str:
    to_a_tenth, to_three_tenths = (
        median(column) for column in zip(*growth_of_divestiture(), strict=True)
    )
    return f"""## What r is

T5.5 says that a share r of the test rows was replaced by training examples, with r = 0.05, 0.1
and 0.3. The divestiture loss is a sum over replaced rows, divided by the number of all rows
(T5.34): from r = 0.05 to 0.1 it would double, and to 0.3 be six times as large. In tables 5.3 and
5.4 it falls, to {to_a_tenth:.3f} and {to_three_tenths:.3f} times (medians of the 20 columns). The
ratios of the shares that stay are 0.90/0.95 = {0.90 / 0.95:.3f} and 0.70/0.95 =
{0.70 / 0.95:.3f}. The expected losses of news20 and rcv1 grow with r as well, although training
examples have the lower losses. So the printed numbers are those of test sets of which a share 1 −
r was replaced, and ρ = 1 − r is what they are compared with here. With so many replaced, the
divestiture loss is a large part of the cumulative one, and with ρ = r a small one: whether E-OGD
wins depends on it."""


def table_of_the_thesis(study: Study, template: Setting, number: str) -> str:
    published = {"5.3": TABLE_5_3, "5.4": TABLE_5_4}[number]
    kind = "plain updates" if template == OGD else "importance-aware updates"
    return f"""## Table {number}: {kind}

All losses are in 10⁻². Published and own figures, γ = 1, logistic loss; the rows are not the same
(see above), so what to compare is the change from OGD to E-OGD.

{side_by_side(study, template, published)}

All data sets, ρ = r:

{loss_table(study, template, AS_WRITTEN)}

ρ = 1 − r:

{loss_table(study, template, AS_PRINTED)}"""


def why_not(study: Study) -> str:
    return f"""## What could not be reproduced, and why

- *Cumulative loss with ρ = r.* The divestiture loss is then a few per cent of the cumulative one,
  while E-OGD's expected loss on noisy data (a9a, criteo) is several per cent higher. So the result
  depends on the meaning of r.
- *The size of E-OGD's advantage, with plain updates.* Its mean is better on most data sets for ρ =
  1 − r. But with such long steps, the final model varies so much from split to split that most
  differences are not significant. The thesis reports no standard errors. That it may have chosen η
  on the rows on which it compares does not explain it. The change of the
  cumulative loss, in per cent, on the splits on which η was chosen / on others (γ = 1):

{hindsight_table(study)}

- *Hinge loss, plain updates.* T5.5.1 has E-OGD ahead "in most datasets"; here it is behind on the
  texts. The slope of the hinge loss is the same for all examples within the margin, right or
  wrong, so right ones get steps 1 + γ times as long as mistakes, far beyond the margin. The best η
  of E-OGD is then smaller, and it learns less from mistakes. (The slope of the logistic loss
  is at most 1/2 for right examples and up to 1 for mistakes, which leaves room for an endowment.)
  Importance-aware updates stop at the margin. With them E-OGD is seldom behind. But if steps are so
  long that each reaches the margin whatever the weight, E-OGD is the same as
  OGD.
- *Larger γ, plain updates.* The advantage does not grow with γ on texts, because steps 1 + γ times
  as long overshoot with the logistic loss, too. With importance-aware updates and ρ = 1 − r it
  does.

The chosen steps η (γ = 1, logistic loss; 10³ is the end of the thesis's grid, so the best η of
importance-aware updates may be larger):

{step_table(study)}"""


def other_settings(study: Study) -> str:
    return f"""## Other losses and other γ

Change of the cumulative loss from OGD to E-OGD, in per cent, each with its own η. ρ = 0.3:

{gamma_table(study, 0.3)}

ρ = 0.95:

{gamma_table(study, 0.95)}"""


def rounds(all_curves: list[Curves]) -> str:
    lower = "; ".join(
        f"{curves.dataset}: {curves.lower_share('divestiture'):.0%} and "
        f"{curves.lower_share('cumulative'):.0%}"
        for curves in all_curves
    )
    return f"""## Figure 5.1: round by round

![Losses as learning goes on](img/endowment-rounds.svg)

The thesis's figure is for BtA. Bands are standard errors. The share of the moments at which E-OGD
has the lower mean divestiture loss, and the lower mean cumulative loss: {lower}. That the
difference of the expected losses shrinks, and that of the divestiture losses grows, is in the
table of verdicts (the second half of the rounds against the first)."""


def sparse(study: Study) -> str:
    cases = list(product(study.plan.sparse_datasets, study.sparse_templates()))

    def compared(measure: Measure) -> list[Comparison]:
        return [
            study.compare(
                dataset, *study.same_step_pair(dataset, rule, SPARSE_GAMMA, SPARSE_SHARE), measure
            )
            for dataset, rule in cases
        ]

    def before_and_after(measure: Measure) -> str:
        found = compared(measure)
        before, after = mean(c.before.mean() for c in found), mean(c.after.mean() for c in found)
        return f"{100 * before:.1f} % to {100 * after:.1f} %"

    fewer_zeros = Tally(LOWER, compared(zeros)).count(LOWER)
    largest_fall = max(float((c.before - c.after).mean()) for c in compared(zeros))
    return f"""## Sparse rules

The thesis leaves open how to combine endowments with penalties. Here each rule has the η and l1
with the lowest cumulative loss among those that give at least {TARGET_ZEROS:.0%} zeros on the
splits used for choosing; zeros are counted among the weights of features that occurred in
training (OGD has next to none). γ = {SPARSE_GAMMA:g}, logistic loss, ρ = {SPARSE_SHARE:g}.

{sparse_table(study, SPARSE_SHARE)}

Models stay sparse, with slightly fewer zeros, and keep more answers. With the η and l1 that are
best
without an endowment, an endowment changes the share of zeros
from {before_and_after(zeros)} on average (fewer in {fewer_zeros} of
{len(cases)} cases, by {100 * largest_fall:.1f} points at most) and the accuracy from
{before_and_after(accuracy)}, and the divestiture loss falls (table of verdicts). It counteracts
the shrinkage of the penalty, so on texts the expected loss often falls, too. If the cumulative loss
is higher with the η and l1 chosen for each rule, the endowed rule just missed
the {TARGET_ZEROS:.0%} zeros and got the next l1 of a coarse grid, with many more zeros than asked
for."""
