"""The section `Methods compared` of docs/results/updates.md."""

from collections.abc import Iterable, Iterator

from experiments.updates.judging import (
    SIGNIFICANT,
    Compared,
    Orders,
    as_accurate_table,
    at_a_third_table,
    column,
    header,
    n_orders,
    row,
)
from experiments.updates.methods import (
    ANCHOR,
    DISTILLED,
    ENDOWMENT,
    KNOBS,
    N_ORDERS,
    PASSES,
    WEAK_ANCHOR,
)


def lines(compared: Compared, more: Iterable[str]) -> Iterator[str]:
    """The section, with what else belongs to it at its end."""
    yield f"""`make updates` writes this section. Collections and models are those of
[below](#measured), in other random orders: {n_orders(compared)}. Half of the rows of
each collection, the same in every order, are only used to choose the knob of a method, when they
are in the test; the other half only judge. So no knob is chosen by rows that judge it. What to
compare was settled by trials on orders before these, and by rows to choose by only.

![Accuracy over lost answers along the knob of each method, by data set](img/updates-methods.svg)

The knob furthest towards the old model at which the mean accuracy is not below that of learning on
by more than a standard error of the difference, order by order. Lost answers, compared with those
of learning on; in brackets, the difference in accuracy, in points. † means less accurate than
learning on in a paired t-test over the orders (one-sided, p < {SIGNIFICANT}), **bold** that the
goal is met: a third of the lost answers at most, at an accuracy that is not lower by more than a
standard error of the difference. Orders share their rows, so errors and tests are about other
orders of the same texts.
"""
    yield from as_accurate_table(compared, KNOBS)
    yield """\
What it costs to lose a third only: the knob nearest to learning on at which no more is lost.
Difference in accuracy to learning on ± its standard error; in brackets, what is lost of the rows
that judge, compared with learning on. † and **bold** are as above. The columns `weights` and
`changed` are medians over the data sets: the weights to be kept and those that differ from the old
model's, compared with the weights of learning on.
"""
    yield from at_a_third_table(compared, KNOBS)
    yield f"""\
- `between`: what `rarefy update` chooses from; the knob is the share of the old weights. With 2, 4
  and 8 passes, the rows are learned that often (`--passes`). What all is compared with is learning
  the new rows once.
- `replay`: the old model's rows are learned once more, before the new ones in every pass
  (`--replay`). `{N_ORDERS} orders` is the mean of so many such models, each of other orders.
- `retrained`: all rows are learned anew, in random orders; `averaged` has the mean of the weights
  of all rounds in place of the last ones.
- `anchor`: the knob is l1; `anchor, between` has l1 = {ANCHOR:g}, and {WEAK_ANCHOR:g} with replay.
- `distillation`: learning on from λ p_old + (1 − λ) y, as weighted rows; the knob is λ, and
  {DISTILLED:g} in `distillation, between`.
- `endowment`: γ, in both models; with another knob it is {ENDOWMENT:g}. Importance-aware updates do
  not apply to the default rule: they are [below](#the-endowment-of-the-thesis).
- `hysteresis`: the old answer stays where the new one leads by less than the knob. Both models are
  needed to predict, so it is no method of `rarefy update`. It shows what a model can do at best: if
  its probabilities are right, no other rule takes fewer right answers back at the same accuracy
  (Neyman and Pearson), as it flips those first that the old model is least likely to have right.

Tried in the trials (12 orders, 8 of news), and left: to drop small differences of weights, by soft
or hard thresholds, or those of rare features; to count rows more that the old model has wrong, or
right; a shift of the intercept of models in between, which helped on sms alone; logistic regression
as the new model, which helped on sms and rcv1 alone.

### What is lost for no reason

Lost answers compared with those of learning on, where nothing has been learned that was not known
before: a model of the same rows as the old one, in another order, and one of as many other rows. In
brackets, the difference in accuracy to the old model; with none, as many answers are won as lost.
On the rows that judge.
"""
    yield from header("model", *compared)
    for model in ("another order", "other rows"):
        yield row(model, *(_for_no_reason(orders, model) for orders in compared.values()))
    yield f"""
So nearly all that learning on loses would also be lost by a model that is no better than the old
one: it is noise of learning, and little of it is the price of what is new. That is why a mean of
the two models keeps most answers, and why a better new model ({PASSES} passes, replay), of which
more of the old one can be mixed in at the same accuracy, keeps still more.
"""
    yield from more


def _for_no_reason(orders: Orders, model: str) -> str:
    lost, plain = column(orders, model, 3).mean(), column(orders, "between", 3)[:, 0].mean()
    gain = 100.0 * float((column(orders, model, 2) - column(orders, "old", 2)).mean())
    return f"{lost / plain:.2f} ({gain:+.2f})"
