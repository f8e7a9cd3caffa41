"""The section `Other published methods`."""

from collections.abc import Iterator

from experiments.updates.judging import (
    Compared,
    as_accurate_table,
    at_a_third_table,
    n_orders,
)
from experiments.updates.taught import KNOBS, WITH_BETWEEN
from rarefy.analysis.lessons import FOCUS
from rarefy.analysis.release_records import DEFAULTS


def lines(compared: Compared) -> Iterator[str]:
    yield f"""`make updates` writes this section. Methods by which the new model learns from what
the old one says of each row, too; in the orders of the methods above, {n_orders(compared)}. All of
them learn the new rows once.

![Accuracy over lost answers along the knob of each method, by data set](img/updates-taught.svg)

As in the first table above: the knob furthest towards the old model at which the new one is as
accurate as learning on, lost answers compared with those of learning on and, in brackets, the
difference in accuracy.
"""
    yield from as_accurate_table(compared, KNOBS)
    yield """\
As in the second one: the knob nearest to learning on at which a third of its lost answers is lost
at most; – where there is none.
"""
    yield from at_a_third_table(compared, KNOBS)
    knobs = ", ".join(f"{knob:g} for {method}" for method, knob in WITH_BETWEEN.items())
    yield f"""\
- `dissonance` (Bansal et al. 2019): rows that the old model has right count 1 + the knob.
- `damped labels` (Milani Fard et al. 2016, where it is called anchor): where the old model is
  right, the target is λ p_old + (1 − λ) y, and the knob is λ; elsewhere it is the label, of which
  {DEFAULTS.trust:g} is left, and the rest is the same for all classes.
- `focal distillation` (Yan et al. 2021): the loss of the label + knob · (1 + {FOCUS:g} · [old model
  right]) · KL(p_old, p_new).
- With `between`, the share of the old weights is the knob; the method's own is {knobs}.
"""
