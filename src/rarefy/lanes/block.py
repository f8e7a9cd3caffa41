"""A block of up to eight models of one kind, side by side in memory."""

import math
from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import Floats, Rows
from rarefy.engine.learner import CACHE_BYTES, Learner
from rarefy.engine.reference import Reference
from rarefy.engine.snapshots import Arrays, put_back
from rarefy.engine.state import aligned_zeros
from rarefy.errors import ConfigError
from rarefy.jit import CompileError
from rarefy.jit.lane_intrinsics import WIDTH
from rarefy.lanes import copies
from rarefy.lanes import lane_loop as loops
from rarefy.lanes.layout import (
    ALIVE,
    EXAMPLES,
    FEATURES,
    LOSS,
    N_TALLIES,
    OWN_FOLD,
    PER_OUTPUT,
    RIGHT,
    SCORE,
    WEIGHTS,
    LaneRows,
    Seats,
    lane_rows,
)
from rarefy.model.clock import Clock, clock_after, next_round
from rarefy.rules import FINITE_DATA, hooks, unpenalised
from rarefy.rules.averaging import predicting

NO_FOLD = math.nan
NOT_NOTED: Floats = np.empty((0, 0, WIDTH))
CLOCK_FIELDS = Clock._fields[1:-1]  # without the schedule, and what is common to coordinates


class Lane(NamedTuple):
    """One model: it learns all rows but those of its own fold, by which it can be judged."""

    rule: Any
    schedule: Any
    loss: Any
    fold: float = NO_FOLD

    def kind(self) -> Any:
        """What lanes of one block have in common."""
        return _kind(self[:3])


def _kind(part: Any) -> Any:
    """What of a rule, schedule or loss is compiled in: all but the values of its floats."""
    if isinstance(part, tuple):
        return (type(part), *map(_kind, part))
    return float if isinstance(part, float) else part


def _floats(part: Any) -> list[float]:
    """The floats of a rule, loss or clock, in order."""
    numbers: list[float] = []
    for inner in part:
        if isinstance(inner, float):
            numbers.append(inner)
        elif isinstance(inner, tuple):
            numbers += _floats(inner)
    return numbers


def _columns(parts: Sequence[Any]) -> Floats:
    """Their floats, (number, lane); empty seats get those of the first."""
    taken = [*parts, *[parts[0]] * (WIDTH - len(parts))]
    numbers = np.array([_floats(part) for part in taken], dtype=np.float64).T
    columns = aligned_zeros(*numbers.shape)
    columns[:] = numbers
    return columns


class Block:
    """Lanes of one kind."""

    def __init__(
        self,
        lanes: Sequence[Lane],
        *,
        n_features: int,
        n_outputs: int,
        fit_intercept: bool,
        scales: Sequence[float] = (),
    ) -> None:
        if type(lanes[0].rule) in FINITE_DATA.values():
            name = type(lanes[0].rule).__name__.lower()
            raise ConfigError(f"the rule {name} cannot be used in sweeps: it is not online.")
        self.lanes = list(lanes)
        self.n_features = n_features
        self.n_outputs = n_outputs
        self._room = np.empty((2, n_outputs))
        rules = [lane.rule for lane in lanes]
        intercept_rules = [unpenalised(rule) for rule in rules]
        clocks = [next_round(lane.rule, clock_after(lane.rule, lane.schedule)) for lane in lanes]
        n_fields, n_intercept_fields = (
            len(some[0].state_fields) for some in (rules, intercept_rules)
        )
        sums = SCORE + PER_OUTPUT * n_outputs
        work = aligned_zeros(sums + len(rules[0].step_sums), WIDTH)
        work[OWN_FOLD, : len(lanes)] = [lane.fold for lane in lanes]
        work[ALIVE, : len(lanes)] = 1.0
        self._seats = Seats(
            rules[0],
            intercept_rules[0],
            lanes[0].loss,
            clocks[0],
            _columns(rules),
            _columns(intercept_rules),
            _columns([lane.loss for lane in lanes]),
            _columns(clocks),
            aligned_zeros(n_features * n_outputs, n_fields, WIDTH),
            aligned_zeros(n_outputs if fit_intercept else 0, n_intercept_fields, WIDTH),
            work,
            np.zeros((N_TALLIES + len(scales), WIDTH)),
            np.array(scales, dtype=np.float64),
            sums,
        )

    @staticmethod
    def n_bytes(lane: Lane, n_features: int, n_outputs: int) -> int:
        """How much memory a block of such lanes takes."""
        return n_features * n_outputs * len(lane.rule.state_fields) * WIDTH * 8

    def learn(
        self,
        rows: Rows | LaneRows,
        folds: Floats,
        order: NDArray[np.int64],
        judged: bool,
        noted: Floats = NOT_NOTED,
    ) -> None:
        """Learn the rows; `noted` takes their scores before that, (row, output, seat)."""
        learn = loops.learn if self.n_outputs == 1 else loops.learn_classes
        far = self._seats.state.nbytes > CACHE_BYTES
        try:
            learn(
                self._seats, lane_rows(rows), folds, order, judged, far, self._room, noted,
                *hooks(self._seats.rule),
            )  # fmt: skip
        except CompileError as error:
            name = type(self._seats.rule).__name__
            raise ConfigError(f"the rule {name} cannot be compiled: {error}") from error

    def begin_pass(self, number: int) -> None:
        """Say how often the rows that come have been learned, this time included."""
        self._set_clocks(pass_number=number)

    def set_reference(self, reference: Reference) -> None:
        """Say what the rows that come are relative to."""
        self._set_clocks(**reference.scales(self.lanes[0].loss))

    def _set_clocks(self, **fields: float) -> None:
        for name, value in fields.items():
            self._own_clocks()[CLOCK_FIELDS.index(name)] = value

    def _predicting(self) -> Seats:
        """The seats as they predict: by means, where rules are averaged."""
        rule, intercept_rule = self._seats[:2]
        return self._seats._replace(
            rule=predicting(rule), intercept_rule=predicting(intercept_rule)
        )

    def judge(self, rows: Rows | LaneRows, folds: Floats) -> None:
        judge = loops.judge if self.n_outputs == 1 else loops.judge_classes
        judge(self._predicting(), lane_rows(rows), folds, self._room)

    def scores(self, rows: Rows | LaneRows) -> Floats:
        """(row, output, lane)."""
        out = np.empty((len(rows.indptr) - 1, self.n_outputs, WIDTH))
        loops.scores(self._predicting(), lane_rows(rows), out)
        return out[:, :, : len(self.lanes)]

    def tallies(self, sizes: Floats | None = None) -> Floats:
        """What was tallied so far, (tally, lane), and what is kept now; last, who diverged.

        `sizes` says how many a feature counts for; without it, one.
        """
        self._seats.tallies[[WEIGHTS, FEATURES]] = 0.0
        sizes = np.ones(self.n_features) if sizes is None else sizes
        loops.count_kept(self._predicting(), sizes, self.n_outputs)
        diverged = 1.0 - self._seats.work[ALIVE]
        return np.vstack([self._seats.tallies[:N_TALLIES], diverged])[:, : len(self.lanes)]

    @property
    def alive(self) -> NDArray[np.bool_]:
        """Which lanes have not diverged."""
        alive: NDArray[np.bool_] = self._seats.work[ALIVE, : len(self.lanes)] != 0.0
        return alive

    def progress(self) -> Floats:
        """Weighted sums of losses, examples and right answers, (3, lane)."""
        return self._tallied()[[LOSS, EXAMPLES, RIGHT]]

    def _tallied(self) -> Floats:
        return self._seats.tallies[:, : len(self.lanes)]

    def losses(self) -> Floats:
        """Weighted sums of losses, with scores as they are and times each scale, (scale, lane)."""
        tallied = self._tallied()
        return tallied[[LOSS, *range(N_TALLIES, len(tallied))]]

    def predict_zero(self, y: float, importance: float) -> None:
        """Count the very first example as predicted before it was seen, for regressions."""
        self._seats.tallies[LOSS] = importance * self.lanes[0].loss.value(0.0, y)

    def n_features_kept(self) -> Floats:
        """How many features have a weight that is not zero, by lane."""
        features: Floats = self.tallies()[FEATURES]
        return features

    def weights(self, lane: int) -> Floats:
        """(output, feature)."""
        out = np.empty(self.n_features * self.n_outputs)
        loops.weights(self._predicting(), lane, out)
        return out.reshape(self.n_features, self.n_outputs).T

    def intercepts(self, lane: int) -> Floats:
        """One per output, zero where none is fitted."""
        out = np.zeros(self.n_outputs)
        loops.intercepts(self._predicting(), lane, out)
        return out

    def grow(self, n_features: int) -> None:
        """Make room for more features, which start at weight zero, and for some more to come."""
        room = len(self._seats.state) // self.n_outputs
        if n_features > room:
            features = np.arange(self.n_features)
            self.move(features, features, max(n_features, room + room // 2))
            self.n_features = len(features)
        self.n_features = max(self.n_features, n_features)

    def move(self, old: NDArray[Any], new: NDArray[Any], n_features: int) -> None:
        """Bring features from old slots to new ones; all others are forgotten."""
        before = self._seats.state
        _, n_fields, _ = before.shape
        state = aligned_zeros(n_features * self.n_outputs, n_fields, WIDTH)
        by_feature = (-1, self.n_outputs, n_fields, WIDTH)
        state.reshape(by_feature)[new] = before.reshape(by_feature)[old]
        self._seats = self._seats._replace(state=state)
        self.n_features = n_features

    def fork(self, source: int, target: int, rule: Any, schedule: Any) -> None:
        """Let one lane go on from where another is, with other numbers in rule and schedule."""
        seats = self._seats
        copies.copy_lane(seats.state[: self.n_features * self.n_outputs], source, target)
        for lanes in (seats.intercepts, seats.work, seats.tallies, seats.clocks):
            lanes[..., target] = lanes[..., source]
        self.set_rule(target, rule, schedule)

    def set_rule(self, lane: int, rule: Any, schedule: Any) -> None:
        """Let a lane go on with other numbers in rule and schedule."""
        seats = self._seats
        self.lanes[lane] = self.lanes[lane]._replace(rule=rule, schedule=schedule)
        seats.clocks[:, lane] = _floats(next_round(rule, self._clock_before(lane, schedule)))
        seats.rules[:, lane] = _floats(rule)
        seats.intercept_rules[:, lane] = _floats(unpenalised(rule))

    def _clock_before(self, lane: int, schedule: Any) -> Clock:
        """The clock of the last round that a lane has played, if its steps are the schedule's."""
        coming = self._own_clocks()[:, lane].tolist()
        coming, common = coming[: len(CLOCK_FIELDS)], coming[len(CLOCK_FIELDS) :]
        coming = Clock(schedule, *coming)
        t = coming.t - 1.0
        before = (schedule.eta(max(t, 1.0)), coming.total_before, coming.decay_before)
        clock = Clock(schedule, t, *before, *before, 0.0, 0.0)
        return clock._replace(
            pass_number=coming.pass_number,
            unit=coming.unit,
            slope=coming.slope,
            steepest=coming.steepest,
            common=tuple(common),
        )

    def _own_clocks(self) -> Floats:
        """The clocks of the round to come without the numbers of their schedules."""
        n_of_schedule = len(_floats(self.lanes[0].schedule))
        return self._seats.clocks[n_of_schedule:, : len(self.lanes)]

    def snapshot(self) -> Arrays:
        """All that the lanes have learned, as it is: not copied. Their rules are not part of it."""
        seats, lanes = self._seats, slice(len(self.lanes))
        return {
            "state": seats.state[: self.n_features * self.n_outputs, :, lanes],
            "intercepts": seats.intercepts[..., lanes],
            "clocks": self._own_clocks(),
            "tallies": self._tallied(),
            "alive": seats.work[ALIVE, lanes],
        }

    def restore(self, arrays: Arrays, t: int) -> None:
        """Go back to a snapshot, after t rounds; rules and the number of features are the same."""
        for name, own in self.snapshot().items():
            there = len(own)
            if name == "clocks":  # older files lack the last fields
                there = arrays[name].size // len(self.lanes)
            put_back(own[:there], arrays[name])
        alive, rounds = self._seats.work[ALIVE], self._own_clocks()[0]
        if not np.isin(alive, (0.0, 1.0)).all() or (rounds[self.alive] != t + 1.0).any():
            raise ValueError("no lanes are like that")

    def take_over(self, learner: Learner) -> None:
        """Let all lanes go on from where a model is that was learned by itself.

        What it knows of features is taken over by `set_state_from`.
        """
        seats = self._seats
        n_fields = seats.intercepts.shape[1]
        seats.intercepts[:] = learner.intercept_state[:, :n_fields, np.newaxis]
        for lane, (rule, schedule, _, _) in enumerate(self.lanes):
            before = learner.clock._replace(
                schedule=schedule, eta=schedule.eta(max(learner.clock.t, 1.0))
            )
            seats.clocks[:, lane] = _floats(next_round(rule, before))

    def set_state_from(self, first: int, learner: Learner, features: NDArray[np.int64]) -> None:
        """Give all lanes a model's state of some features, for ours from the first on."""
        own = self._seats.state[first * self.n_outputs :]
        copies.give_all_lanes(learner.state, features, self.n_outputs, own)

    def learner(self, lane: int) -> Learner:
        """A lane as a model by itself."""
        rule, schedule, loss, _ = self.lanes[lane]
        learner = Learner(
            rule,
            schedule,
            loss,
            n_features=self.n_features,
            n_outputs=self.n_outputs,
            fit_intercept=len(self._seats.intercepts) > 0,
        )
        return self.learner_over(learner, lane, np.arange(self.n_features), rule, schedule)

    def learner_over(
        self, other: Learner, lane: int, features: NDArray[np.int64], rule: Any, schedule: Any
    ) -> Learner:
        """A lane as a model by itself that goes on with other numbers in rule and schedule.

        Its state of these features is written over that of another model.
        """
        seats, learner = self._seats, copy(other)
        learner.rule, learner.intercept_rule = rule, unpenalised(rule)
        copies.take_lane(seats.state, lane, features, self.n_outputs, learner.state)
        intercepts = seats.intercepts[:, :, lane]
        learner.intercept_state = other.intercept_state.copy()
        learner.intercept_state[:, : intercepts.shape[1]] = intercepts
        learner.clock = self._clock_before(lane, schedule)
        learner.progress = self.progress()[:, lane].copy()
        return learner
