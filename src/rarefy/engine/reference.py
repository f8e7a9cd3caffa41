"""The reference point of rows and targets, for rules that learn relative to one.

A feature whose values are far from zero and close to each other (a year, a temperature) says almost
the same as the intercept, and rules that step along one coordinate at a time are slow to tell the
two apart. So a feature that is not zero in any of the first examples is learned as x - m, where m
is its mean in them. Only the intercept is different for it: w x + b = w (x - m) + (b + w m).

Regressions learn y - location, in steps of half the size of the spread: the median of the first
targets, and the median distance of targets from it, which outliers do not move. Before four
examples have come, there is no spread, and all weights are zero. The spread is measured again and
again, and may grow. In the squared loss a target further than STEEPEST spreads from its prediction
has the subgradient of one at that distance.

Rows are learned relative to what was known when 1, 2, 4, ... examples had come, wherever one call
of `learn` ends and the next one begins; FIRST_EXAMPLES of them tell means and location.
"""

import sys
from typing import Any, NamedTuple

import numpy as np

from rarefy.arrays import Floats, Numbers, Rows, part_of, read_only
from rarefy.engine.snapshots import Arrays
from rarefy.jit import compiled, helper
from rarefy.model.losses import REGRESSION_LOSSES, Squared

FIRST_EXAMPLES = 256
FEWEST_TARGETS = 4  # of two, nobody can say which is an outlier
STEEPEST = 20.0  # spreads
UNITS_A_SPREAD = 2.0
NORMAL = 1.4826  # standard deviations in the median distance of normal targets

# What files have of it.
REFERENCE_ARRAYS = {
    "reference_numbers": "<f8",
    "reference_slots": "<i8",
    "reference_means": "<f8",
    "reference_next_slots": "<i8",
    "reference_totals": "<f8",
    "reference_targets": "<f8",
}

NO_SLOTS, NO_NUMBERS = np.empty(0, np.int64), np.empty(0)


class Reference(NamedTuple):
    """What rows are learned relative to, and what `n` examples tell of what comes next."""

    n: int
    means_wanted: bool
    spread_wanted: bool
    slots: Numbers = NO_SLOTS  # of the features that are centred, ascending
    means: Floats = NO_NUMBERS
    location: float = 0.0
    spread: float = 0.0
    next_slots: Numbers = NO_SLOTS  # of the features that were not zero in any of the examples
    totals: Floats = NO_NUMBERS
    targets: Floats = NO_NUMBERS  # the last ones, FIRST_EXAMPLES at most

    @property
    def is_known(self) -> bool:
        """Whether it will not change any more."""
        return not self.spread_wanted and (self.n >= FIRST_EXAMPLES or not self.means_wanted)

    @property
    def unit(self) -> float:
        """The size of steps."""
        return self.spread / UNITS_A_SPREAD if self.spread_wanted else 1.0

    def scales(self, loss: Any) -> dict[str, Any]:
        """What the clock says about the size of scores and slopes."""
        return {"unit": self.unit, "slope": self.slope(loss), "steepest": self.steepest(loss)}

    def slope(self, loss: Any) -> float:
        """The slope of an example whose score is off by a unit."""
        return abs(loss.slope(0.0, self.unit)) if self.spread_wanted else 1.0

    def steepest(self, loss: Any) -> float:
        """The largest slope of an example of weight 1."""
        is_limited = self.spread_wanted and isinstance(loss, Squared)
        return 2.0 * STEEPEST * self.spread if is_limited else sys.float_info.max

    def n_rows_until_change(self, importance: Floats) -> int:
        """How many of the rows to learn before the reference changes."""
        if self.is_known:
            return len(importance)
        n_examples = end = (1 << self.n.bit_length()) - self.n if self.n else 1
        while True:
            examples = np.flatnonzero(importance[:end])
            if len(examples) >= n_examples:
                return int(examples[n_examples - 1]) + 1
            if end >= len(importance):
                return len(importance)
            end *= 2

    def after(self, rows: Rows) -> "Reference":
        """The reference when these rows have come, none of which is beyond its next change."""
        if self.is_known:
            return self
        examples = np.flatnonzero(rows.importance)
        if len(examples) == 0:
            return self
        n = self.n + len(examples)
        slots, totals = self.next_slots, self.totals
        if self.means_wanted and n <= FIRST_EXAMPLES:
            for row in examples.tolist():
                entries = slice(rows.indptr[row], rows.indptr[row + 1])
                slots, totals = _added(
                    slots, totals, rows.indices[entries], rows.values[entries], self.n == 0
                )
        targets = self.targets
        if self.spread_wanted:
            targets = np.concatenate([targets, rows.y[examples]])[-FIRST_EXAMPLES:]
        later = self._replace(n=n, next_slots=slots, totals=totals, targets=targets)
        return later._told() if n & (n - 1) == 0 else later

    def _told(self) -> "Reference":
        """With what the examples so far tell put to use."""
        told, is_early = self, self.n <= FIRST_EXAMPLES
        if self.means_wanted and is_early:
            told = told._replace(slots=self.next_slots, means=self.totals / self.n)
            if self.spread_wanted:
                told = told._replace(location=float(np.median(self.targets)))
        if self.spread_wanted and self.n >= FEWEST_TARGETS:
            distances = np.abs(self.targets - told.location)
            spread = NORMAL * float(np.median(distances)) or float(np.mean(distances))
            told = told._replace(spread=spread if is_early else max(self.spread, spread))
        if self.n >= FIRST_EXAMPLES:
            told = told._replace(next_slots=NO_SLOTS, totals=NO_NUMBERS)
        return told

    def relative(self, rows: Rows) -> Rows:
        """The rows as they are learned."""
        if len(self.slots):
            most = int(rows.indptr[-1] - rows.indptr[0]) + len(rows.y) * len(self.slots)
            indptr = np.empty(len(rows.indptr), np.int64)
            indices, values = np.empty(most, rows.indices.dtype), np.empty(most)
            last_row = np.full(len(self.slots), -1)
            _centre(rows, self.slots, self.means, last_row, indptr, indices, values)
            rows = rows._replace(
                indptr=read_only(indptr),
                indices=read_only(indices[: indptr[-1]]),
                values=read_only(values[: indptr[-1]]),
            )
        if self.location != 0.0:
            rows = rows._replace(y=read_only(rows.y - self.location))
        return rows

    def moved(self, old: Numbers, new: Numbers) -> "Reference":
        """The reference when features have other slots; those that have none are forgotten."""
        slots, means = _moved(self.slots, self.means, old, new)
        next_slots, totals = _moved(self.next_slots, self.totals, old, new)
        return self._replace(slots=slots, means=means, next_slots=next_slots, totals=totals)

    def arrays(self) -> Arrays:
        """What it takes to go on with it."""
        if not (self.means_wanted or self.spread_wanted):
            return {}
        return {
            "reference_numbers": np.array([self.n, self.location, self.spread]),
            "reference_slots": self.slots,
            "reference_means": self.means,
            "reference_next_slots": self.next_slots,
            "reference_totals": self.totals,
            "reference_targets": self.targets,
        }

    def restored(self, arrays: Arrays, n_features: int) -> "Reference":
        """The reference of which there are these arrays; none of them: there was none."""
        if not REFERENCE_ARRAYS.keys() & arrays.keys():
            return NO_REFERENCE
        n, location, spread = arrays["reference_numbers"].tolist()
        restored = self._replace(
            n=int(n),
            slots=arrays["reference_slots"],
            means=arrays["reference_means"],
            location=location,
            spread=spread,
            next_slots=arrays["reference_next_slots"],
            totals=arrays["reference_totals"],
            targets=arrays["reference_targets"],
        )
        restored._check(n_features)
        return restored

    def _check(self, n_features: int) -> None:
        """Refuse what no examples can have told."""
        pairs = ((self.slots, self.means), (self.next_slots, self.totals))
        right = (
            self.n >= 0
            and self.spread >= 0.0
            and len(self.targets) <= FIRST_EXAMPLES
            and all(len(slots) == len(numbers) for slots, numbers in pairs)
            and all(_are_slots(slots, n_features) for slots, _ in pairs)
            and np.isfinite([self.location, self.spread]).all()
            and all(np.isfinite(a).all() for a in (self.means, self.totals, self.targets))
        )
        if not right:
            raise ValueError("no examples have told that")


NO_REFERENCE = Reference(0, means_wanted=False, spread_wanted=False)


def new_reference(rule: Any, loss: Any, *, fit_intercept: bool) -> Reference:
    """What a rule learns relative to before there are any examples.

    Without an intercept nothing is shifted, as the model is to go through the origin.
    """
    if not rule.is_shift_free():
        return NO_REFERENCE
    is_regression = type(loss) in REGRESSION_LOSSES.values()
    return Reference(0, means_wanted=fit_intercept, spread_wanted=is_regression)


def reference_of(reference: Reference, rows: Rows) -> Reference:
    """What the first of these rows tell, all at once."""
    begin = 0
    while begin < len(rows.y) and not reference.is_known:
        end = begin + reference.n_rows_until_change(rows.importance[begin:])
        reference, begin = reference.after(part_of(rows, begin, end)), end
    return reference


def _are_slots(slots: Numbers, n_features: int) -> bool:
    inside = len(slots) == 0 or (slots[0] >= 0 and slots[-1] < n_features)
    return bool(inside and (slots[1:] > slots[:-1]).all())


def _added(
    slots: Numbers, totals: Floats, indices: Any, values: Floats, is_first: bool
) -> tuple[Numbers, Floats]:
    """The features that a row has, too, and their sums with its values."""
    order = np.argsort(indices, kind="stable")
    own, values = indices[order].astype(np.int64), values[order]
    if is_first:
        has_value = values != 0.0
        return own[has_value], values[has_value]
    at = np.minimum(np.searchsorted(own, slots), max(len(own) - 1, 0))
    found = (own[at] == slots) & (values[at] != 0.0) if len(own) else np.zeros(len(slots), np.bool_)
    return slots[found], totals[found] + values[at[found]] if len(own) else NO_NUMBERS


def _moved(slots: Numbers, numbers: Floats, old: Numbers, new: Numbers) -> tuple[Numbers, Floats]:
    stays = np.isin(slots, old)
    by_slot = np.argsort(old, kind="stable")
    now = np.asarray(new, np.int64)[by_slot[np.searchsorted(old, slots[stays], sorter=by_slot)]]
    order = np.argsort(now, kind="stable")
    return now[order], numbers[stays][order]


@helper
def _position(slots: Numbers, slot: int) -> int:
    """Where a slot is among ascending ones; -1: it is not."""
    low, high = 0, len(slots)
    while low < high:
        middle = (low + high) // 2
        if slots[middle] < slot:
            low = middle + 1
        else:
            high = middle
    return low if low < len(slots) and slots[low] == slot else -1


@helper
def _filter_of(slots: Numbers) -> np.uint64:
    """A bit for each remainder that one of the slots leaves when divided by 64."""
    bits = np.uint64(0)
    for slot in slots:
        bits |= np.uint64(1) << np.uint64(slot & 63)
    return bits


@compiled
def _centre(
    rows: Rows,
    slots: Numbers,
    means: Floats,
    last_row: Numbers,
    indptr: Any,
    indices: Any,
    values: Floats,
) -> None:
    """Write the rows with the means taken off these features, of which a row may lack some.

    `last_row`, which is -1 at first, is for the last row that was seen with a feature. Features are
    mostly in order, so that the next one is tried first; most of the others are told by a filter.
    """
    n, filter_bits = 0, _filter_of(slots)
    indptr[0] = 0
    for row in range(len(rows.indptr) - 1):
        n_found, following = 0, 0
        for j in range(rows.indptr[row], rows.indptr[row + 1]):
            slot = rows.indices[j]
            indices[n], values[n] = slot, rows.values[j]
            if filter_bits >> np.uint64(slot & 63) & np.uint64(1):
                is_next = following < len(slots) and slots[following] == slot
                at = following if is_next else _position(slots, slot)
                if at >= 0:
                    values[n] -= means[at]
                    last_row[at] = row
                    n_found += 1
                    following = at + 1
            n += 1
        if n_found < len(slots):
            for at in range(len(slots)):
                if last_row[at] != row:
                    indices[n], values[n] = slots[at], -means[at]
                    n += 1
        indptr[row + 1] = n
