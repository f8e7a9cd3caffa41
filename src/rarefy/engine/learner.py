"""A learner: rule, loss, state and clock; it knows nothing of scikit-learn."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import Floats, Rows, longest, part_of, portions
from rarefy.engine import loop as engine
from rarefy.engine.divergence import divergence
from rarefy.engine.live_scalars import LiveScalarsOwner
from rarefy.engine.reference import NO_REFERENCE, Reference
from rarefy.engine.snapshots import Arrays
from rarefy.engine.state import grown_state, new_state
from rarefy.engine.state_by_feature import StateByFeature
from rarefy.engine.watched import Seen
from rarefy.errors import ConfigError
from rarefy.jit import CompileError
from rarefy.model.calibration import Calibration
from rarefy.model.clock import clock_after, next_round
from rarefy.model.importance import PLAIN, Weighting
from rarefy.model.multiclass import check_update
from rarefy.model.schedules import Constant
from rarefy.rules import FINITE_DATA, hooks, name_of, unpenalised
from rarefy.rules.anchoring import is_anchored
from rarefy.rules.averaging import SUM, all_shares, is_averaged, predicting
from rarefy.rules.group_l1 import N_SUMS
from rarefy.rules.ogd import Ogd

NEEDS_ALL_ROWS = (
    "the rule {} needs all rows, many times: use fit with a matrix (rarefy.to_matrix reads files "
    "into one). Of its kind, pegasos learns online."
)
CACHE_BYTES = 1 << 20  # a state larger than this is fetched ahead of time


class LearnerCheckpoint(NamedTuple):
    """What it takes to go on: the model in use and, while hyperparameters are found, the search."""

    model: "Learner"
    search: dict[str, Any] | None
    arrays: Arrays  # of the search


class Learner(LiveScalarsOwner, StateByFeature):
    """Learns rows one after the other; its weights can be read at any moment.

    `n_outputs` is 1 for a loss of one score, or the number of classes for a loss of many.
    """

    seen: list[Seen] | None = None  # what it has predicted since it is watched

    def __init__(
        self,
        rule: Any,
        schedule: Any,
        loss: Any,
        *,
        n_features: int,
        n_outputs: int = 1,
        fit_intercept: bool = True,
        weighting: Weighting = PLAIN,
        reference: Reference = NO_REFERENCE,
        calibration: Calibration | None = None,
    ) -> None:
        if n_outputs > 1:
            check_update(weighting.update, loss)
        self.rule = rule
        self.intercept_rule = unpenalised(rule)
        self.loss = loss
        self.weighting = weighting
        self.n_outputs = n_outputs
        self.n_features = n_features
        self.clock = clock_after(rule, schedule)
        n_fields = len(rule.state_fields)
        self.state = new_state(n_fields, n_features * n_outputs)
        n_intercept_fields = len(self.intercept_rule.state_fields)
        self.intercept_state = new_state(n_intercept_fields, n_outputs if fit_intercept else 0)
        self.progress = np.zeros(3)  # weighted: losses, examples, right answers
        self.found: dict[str, Any] = {}  # parameters that learning has settled
        self.calibration = calibration
        if "sums" in rule._fields:
            self._grow_groups(0)
        self.own_of_columns: Floats | None = None  # numbers that the rule keeps for each feature
        self.set_reference(reference)

    @property
    def t(self) -> int:
        """How many examples have been learned."""
        return int(self.clock.t)

    @property
    def progressive_loss(self) -> float:
        """Mean loss of the predictions that were made just before each example was learned."""
        total, weight, _ = self.progress
        return float(total / weight) if weight else 0.0

    def set_rule(self, rule: Any, schedule: Any) -> None:
        """Go on with other numbers in rule and schedule."""
        self.rule, self.intercept_rule = rule, unpenalised(rule)
        self.clock = self.clock._replace(
            schedule=schedule, eta=schedule.eta(max(self.clock.t, 1.0))
        )

    def set_reference(self, reference: Reference) -> None:
        """Say what rows are learned relative to from now on."""
        self.reference = reference
        self.clock = self.clock._replace(**reference.scales(self.loss))

    def begin_pass(self, number: int) -> None:
        """Say how often the rows that come have been learned, this time included."""
        self.clock = self.clock._replace(pass_number=float(number))
        if number > 1:
            self.calibration = None  # scores of rows that were learned before are not honest

    @property
    def scaling(self) -> float | None:
        """What scores are scaled by to become probabilities; None: by nothing."""
        calibration = self.calibration
        return None if calibration is None else calibration.scaling

    @property
    def is_settled(self) -> bool:
        """Whether no hyperparameters are left to be found: they were given."""
        return True

    def settled(self) -> "Learner":
        """The learner whose hyperparameters are known, for good: this one."""
        return self

    def checkpoint(self) -> LearnerCheckpoint:
        """All that it takes to go on later."""
        return LearnerCheckpoint(self, None, {})

    def grow(self, n_features: int) -> None:
        """Make room for more columns, which start at weight zero."""
        self._settle_live_scalars()
        n_fields = len(self.rule.state_fields)
        self.state = grown_state(self.state, n_fields, n_features * self.n_outputs)
        self.n_features = max(self.n_features, n_features)

    def learn(
        self,
        rows: Rows,
        n_features: int = 0,
        *,
        restorable: bool = True,
        predictions: Floats | None = None,
        between: Callable[[], None] = lambda: None,
    ) -> None:
        """Learn the rows, or, if the weights diverge, raise and be as before.

        `n_features` may announce more columns than there were so far. Without `restorable` nothing
        is kept to go back to, which is faster, and the learner is of no use after an error.
        `predictions`, an array like that which `scores` gives, is filled with the scores just
        before each row was learned; those of rows of weight zero are left. `between` is called
        several times a second; if it raises an exception, the learner is as before, too.
        """
        self._check_is_online()
        n_features_before, clock_before, reference = self.n_features, self.clock, self.reference
        calibration = self.calibration
        if self.seen is not None and predictions is None:
            predictions = np.zeros((len(rows.y), self.n_outputs))
        self.grow(n_features)
        before = self._snapshot(rows) if restorable else None
        if self.own_of_columns is not None:
            self.set_own(rows.indices, self.own_of_columns[rows.indices])
        try:
            for begin, end in portions(rows.indptr, self.n_outputs):
                between()
                part = part_of(rows, begin, end)
                if predictions is None:
                    scores = np.zeros((end - begin, self.n_outputs))
                else:
                    scores = predictions[begin:end]
                n_learned = self._learn_portion(part, scores)
                if n_learned < end - begin:
                    row = begin + n_learned
                    raise divergence(self, row, is_changed=row > 0 and not restorable)
                if self.calibration is not None:
                    self.calibration = self.calibration.after(scores, part.y, part.importance)
        except BaseException:
            if restorable:
                self._restore(rows, before)
            self.reference, self.calibration = reference, calibration
            self.n_features, self.clock = n_features_before, clock_before
            raise
        if self.seen is not None and predictions is not None:
            self.seen.append(Seen(predictions, rows.y, rows.importance, calibration))

    def _check_is_online(self) -> None:
        if type(self.rule) in FINITE_DATA.values():
            raise ConfigError(NEEDS_ALL_ROWS.format(name_of(self.rule)))

    def _learn_portion(self, rows: Rows, predictions: Floats) -> int:
        """Learn the rows relative to what is known of features and targets at the time."""
        begin, n_rows = 0, len(rows.y)
        while begin < n_rows:
            end = begin + self.reference.n_rows_until_change(rows.importance[begin:])
            part = part_of(rows, begin, end)
            is_first = self.reference.n == 0  # which is learned relative to itself
            if is_first:
                self.set_reference(self.reference.after(part))
            of_part = predictions[begin:end]
            n_learned = self._learn(self.reference.relative(part), of_part)
            of_part += self.reference.location
            if is_first and self.reference.spread_wanted:
                self._predict_zero(part, of_part)
            if n_learned < end - begin:
                return begin + n_learned
            if not is_first:
                later = self.reference.after(part)
                if is_averaged(self.rule):
                    self._settle_means(later)
                self.set_reference(later)
            begin = end
        return n_rows

    def learn_relative(self, rows: Rows) -> None:
        """Learn rows that are relative to what is known already, and take note of nothing else."""
        n_learned = self._learn(rows, np.empty((len(rows.y), self.n_outputs)))
        if n_learned < len(rows.y):
            raise divergence(self, n_learned, is_changed=True)

    def _settle_means(self, later: Reference) -> None:
        """Have past weights summed up with the reference that they were learned with.

        A mean predicts what the weights of every round would, on average, with the reference of
        that round. What is different about the later one is taken off the sum of intercepts.
        """
        now = self.reference
        rounds = all_shares(self.rule.shares, self.clock.t)
        sums = self._weights_of(now.slots) * rounds
        means = np.zeros(len(now.slots))
        means[np.isin(now.slots, later.slots)] = later.means[np.isin(later.slots, now.slots)]
        shift = (means - now.means) @ sums + (now.location - later.location) * rounds
        self.intercept_state[:, self.intercept_rule.state_fields.index(SUM)] += shift
        if later.unit != now.unit:
            clock = next_round(self.rule, self.clock)
            engine.settle(self.rule, clock, self.state)
            engine.settle(self.intercept_rule, clock, self.intercept_state)

    def _predict_zero(self, rows: Rows, predictions: Floats) -> None:
        """Count the very first example, the last of the rows, as predicted before it was seen."""
        self.progress[0] = rows.importance[-1] * self.loss.value(0.0, float(rows.y[-1]))
        predictions[-1] = 0.0

    def _learn(self, rows: Rows, predictions: Floats) -> int:
        """How many of the rows were learned before weights diverged."""
        arguments = (
            self.rule,
            self.intercept_rule,
            self.loss,
            self.weighting,
            rows,
            self.clock,
            self.state,
            self.intercept_state,
            self.progress,
            predictions,
            self.state.nbytes > CACHE_BYTES,
            *hooks(self.rule),
        )
        try:
            if self.n_outputs == 1:
                bench = self.bench_for(longest(rows.indptr))
                self.clock, n_learned = engine.learn(*arguments, bench)
            else:
                scores, slopes = np.empty((2, self.n_outputs))
                self.clock, n_learned = engine.learn_classes(*arguments, scores, slopes)
        except CompileError as error:
            name = name_of(self.rule)
            raise ConfigError(f"the rule {name} cannot be compiled: {error}") from error
        return int(n_learned)

    def bench_for(self, n_entries: int) -> Floats | None:
        """Room for the states of a row, if its coordinates step together."""
        if not self.rule.steps_together():
            return None
        return np.empty((len(self.rule.state_fields), n_entries))

    def _touched(self, rows: Rows) -> NDArray[Any] | slice:
        """The slots that the rows can change: all, or the named ones where that is less to copy."""
        features = np.concatenate([rows.indices.astype(np.int64), self.reference.slots])
        all_settle = is_averaged(self.rule) and self.reference.spread_wanted
        if all_settle or self.rule.renews() or len(features) * self.n_outputs >= len(self.state):
            return slice(None)
        first = features * self.n_outputs
        return (first[:, np.newaxis] + np.arange(self.n_outputs)).ravel()

    def _snapshot(self, rows: Rows) -> tuple[Any, ...] | None:
        if self.t == 0 and not is_anchored(self.rule):  # everything is zero
            return None
        state = np.array(self.state[self._touched(rows)])
        sums = None if self.group_sums is None else self.group_sums.copy()
        return state, self.intercept_state.copy(), self.progress.copy(), sums

    def _restore(self, rows: Rows, before: tuple[Any, ...] | None) -> None:
        state, intercept, progress, sums = before or (0.0, 0.0, 0.0, 0.0)
        if self.group_sums is not None:
            self.group_sums[:] = 0.0
            self.group_sums[: np.size(sums) // N_SUMS] = sums if before else 0.0
        self.state[self._touched(rows)] = state
        self.intercept_state[:] = intercept
        self.progress[:] = progress

    def scores(self, rows: Rows) -> Floats:
        """One score per row and output; labels and importance do not matter."""
        out = np.zeros((len(rows.indptr) - 1, self.n_outputs))
        out += self.intercept()
        clock = next_round(self.rule, self.clock)
        for begin, end in portions(rows.indptr, self.n_outputs):
            part = rows.indptr[begin : end + 1], rows.indices, rows.values
            engine.scores(predicting(self.rule), *part, clock, self.state, out[begin:end])
        return out

    def intercept(self) -> Floats:
        """One intercept per output; where none is fitted, it is zero."""
        out = np.full(self.n_outputs, self.reference.location)
        clock = next_round(self.rule, self.clock)
        n_fields = len(self.intercept_rule.state_fields)
        for output, row in enumerate(self.intercept_state.tolist()):
            out[output] += predicting(self.intercept_rule).weight(clock, tuple(row[:n_fields]))
        if len(self.reference.slots):
            shifts = self.reference.means[:, np.newaxis] * self._weights_of(self.reference.slots)
            out -= shifts.cumsum(axis=0)[-1]  # one after the other, as in loops
        return out

    def _weights_of(self, features: NDArray[np.int64]) -> Floats:
        """The weights of some features, (feature, output)."""
        out = np.zeros((len(features), self.n_outputs))
        clock = next_round(self.rule, self.clock)
        indptr, ones = np.arange(len(features) + 1), np.ones(len(features))
        engine.scores(predicting(self.rule), indptr, features, ones, clock, self.state, out)
        return out

    def nonzero(self) -> tuple[NDArray[np.int64], Floats]:
        """The slots with a weight that is not zero, and the weights."""
        slots, weights = np.empty(count := self.n_nonzero(), np.int64), np.empty(count)
        self._nonzero(slots, weights)
        return slots, weights

    def n_nonzero(self) -> int:
        """How many weights are not zero."""
        return self._nonzero(np.empty(0, np.int64), np.empty(0))

    def _nonzero(self, slots: NDArray[np.int64], weights: Floats) -> int:
        clock = next_round(self.rule, self.clock)
        state = self.state[: self.n_features * self.n_outputs]
        return int(engine.nonzero(predicting(self.rule), clock, state, slots, weights))

    def usefulness(self, counts: NDArray[Any]) -> Floats:
        """How much each feature would be missed; -inf: not at all, the rule has forgotten it.

        That is its largest |weight|; among weights of zero, a feature that occurred often (in
        `counts` examples; 0: never) would be missed more.
        """
        out = np.empty(len(counts))
        clock = next_round(self.rule, self.clock)
        usefulness = engine.usefulness
        usefulness(predicting(self.rule), clock, self.state, counts, self.n_outputs, out)
        return out

    def with_weights(
        self, slots: NDArray[np.int64], weights: Floats, intercepts: Floats
    ) -> "Learner":
        """A learner that predicts with other weights, and knows nothing else to learn from."""
        other = Learner.predicting(self.loss, self.n_features, self.n_outputs)
        other.state[slots, 0] = weights
        other.intercept_state[:, 0] = intercepts
        other.clock = other.clock._replace(t=self.clock.t)
        other.progress[:] = self.progress
        other.found = self.found
        return other

    @classmethod
    def predicting(
        cls, loss: Any, n_features: int, n_outputs: int, *, fit_intercept: bool = True
    ) -> "Learner":
        """A learner whose state is its weights: the first field of a row is the weight itself."""
        return cls(
            Ogd(),
            Constant(1.0),
            loss,
            n_features=n_features,
            n_outputs=n_outputs,
            fit_intercept=fit_intercept,
        )

    def weights(self) -> Any:
        """All weights that are not zero, (n_outputs, n_features), CSR, never dense."""
        from scipy import sparse

        slots, weights = self.nonzero()
        features, outputs = np.divmod(slots, self.n_outputs)
        shape = (self.n_outputs, self.n_features)
        return sparse.coo_array((weights, (outputs, features)), shape=shape).tocsr()
