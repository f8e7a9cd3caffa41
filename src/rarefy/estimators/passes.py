"""Several passes over a matrix, as many as pay, and penalty and steps that pay.

Many classes need scores that are far apart, and there is time for few passes; longer steps get
there sooner, but follow noise. So held-out rows choose their length.

Where the time for passes ends before they cease to pay, scores are still too close to zero, most of
all those of many classes. Then the scores of held-out rows calibrate the probabilities.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from rarefy.arrays import Floats, as_rows, chosen_rows
from rarefy.engine.divergence import CHANGED, UNCHANGED
from rarefy.engine.loop import total_loss
from rarefy.engine.online_learner import OnlineLearner
from rarefy.engine.sharding import Sharding
from rarefy.engine.task import Task, with_calibration
from rarefy.engine.workers import n_cores, workers
from rarefy.errors import DivergenceError
from rarefy.model.calibration import Calibration, calibrated_by
from rarefy.model.multiclass import Softmax
from rarefy.training.early_stopping import is_judged, pays

HELD_OUT = 0.1  # of the rows, to choose the number of passes by
MOST_HELD_OUT = 200  # rows of many, to calibrate by
FEWEST_ROWS = 30  # from which on some are held out
PASSES_OF_FEW_ROWS = 30
PASSES_OF_MANY_ROWS = 3  # where a pass takes a fraction of a second or more
MANY_UPDATES = 1e7  # of weights, in a pass
FEW_UPDATES = 1e6  # which take no time
FEWEST_TRIED = 10  # passes, if they are no more updates than that
MOST_UPDATES = 2e7  # in all passes that are tried
MOST_PASSES = 300
MOST_PASSES_WITHOUT_PENALTY = 1000  # where columns are correlated, steps take long to the minimum
ENOUGH_PASSES = 16  # for short steps
LONGER = (2.0, 4.0)  # steps that are tried
PENALTY_MARGIN = 0.5  # standard errors by which a table must be better predicted without a penalty


class Predicted(NamedTuple):
    """The scores of rows that were not learned, and what each of them adds to the loss."""

    rows: NDArray[np.int64]
    scores: Floats
    losses: Floats


class Passes(NamedTuple):
    """How many there are to be, and whether more of them would pay if there were time for them."""

    number: int
    are_too_few: bool = False
    predicted: Predicted | None = None  # after so many passes; None: no rows were held out


class Fitting(NamedTuple):
    """The rows to learn, and how."""

    X: sparse.csr_array
    y: Floats
    importance: Floats
    shuffle: bool
    random_state: Any
    verbose: bool = False
    shards: int = 1

    def learn(self, learner: OnlineLearner, passes: Passes, task: Task) -> None:
        """Learn all rows, so many times; if that fails, the learner is of no use.

        After too few passes, held-out rows calibrate. Weights do not depend on whether they do.
        """
        predicted = passes.predicted
        if self._learns_some_last(passes, task):
            held_out, learned = self._split(min(int(HELD_OUT * len(self.y)), MOST_HELD_OUT))
            self._learn(learner, learned, passes.number)
            predicted = self._predicted(learner, held_out)
            for _ in self._passes(learner, held_out, 1):
                pass
        else:
            self._learn(learner, None, passes.number)
        if passes.are_too_few and task.calibrate and predicted is not None:
            learner.settled().calibration = self._calibrated(predicted)

    def _learns_some_last(self, passes: Passes, task: Task) -> bool:
        """Whether some of many rows are learned once, when they have told how good scores are."""
        has_probabilities = with_calibration(task, True).calibrate
        is_unknown = passes.are_too_few and passes.predicted is None
        return has_probabilities and is_unknown and self.shuffle and len(self.y) >= FEWEST_ROWS

    def _calibrated(self, predicted: Predicted) -> Calibration:
        """The calibration by rows that were not learned."""
        rows, scores, _ = predicted
        return calibrated_by(scores, self.y[rows], self.importance[rows])

    def _learn(
        self, learner: OnlineLearner, numbers: NDArray[np.int64] | None, passes: int
    ) -> None:
        before = learner.progress.copy()
        n_rows = len(self.y) if numbers is None else len(numbers)
        for number in self._passes(learner, numbers, passes):
            if self.verbose and (is_judged(number) or number == passes):
                loss, weight, _ = learner.progress - before
                print(f"pass {number}: loss {loss / weight:.5g}, {n_rows:,} rows")
            before = learner.progress.copy()

    def chosen_passes(self, new_learner: Callable[[], OnlineLearner]) -> Passes:
        """As many passes over nine tenths of the rows as predict the others best.

        1, 2, 3, 4, 6, 8, 12, 16, ... passes are tried, until more of them do not pay. Where that
        would take long, or there are too few rows to hold some out, the number is a constant.
        """
        learner = new_learner()
        updates = self._updates(learner)
        if updates > MANY_UPDATES:
            return Passes(PASSES_OF_MANY_ROWS, are_too_few=True)
        if len(self.y) < FEWEST_ROWS:
            return Passes(PASSES_OF_FEW_ROWS)
        held_out, learned = self._split(int(HELD_OUT * len(self.y)))
        most = int(min(MOST_PASSES, MOST_UPDATES / updates))
        first = int(max(1, min(FEWEST_TRIED, FEW_UPDATES / updates)))
        importance = self.importance[held_out].sum()
        best, least = 1, np.full(len(held_out), np.inf)
        for number in self._passes(learner, learned, most):
            if not is_judged(number):
                continue
            losses = self._predicted(learner, held_out).losses
            if self.verbose:
                loss = losses.sum() / importance
                print(f"passes={number}: held-out loss {loss:.5g}, {len(held_out):,} rows")
            if number > first and not pays(losses.sum(), least.sum()):
                return Passes(number if as_good(losses, least) else best)
            if losses.sum() < least.sum():
                best, least = number, losses
        if not as_good(losses, least):
            return Passes(best)
        return Passes(number, True, self._predicted(learner, held_out))

    def with_steps(self, task: Task, new_learner: Callable[[Task], OnlineLearner]) -> Task:
        """The task with the steps that predict held-out rows best in one pass.

        Steps are made longer if the rows are better predicted by more than chance would have it,
        where there is time for few passes over rows of several classes. The loss is that of
        calibrated probabilities: larger scores alone are no better.
        """
        learner = new_learner(task)
        has_time = MOST_UPDATES / self._updates(learner) >= ENOUGH_PASSES
        if type(learner.loss) is not Softmax or has_time or not self.may_hold_out(learner):
            return task
        held_out, learned = self._split(int(HELD_OUT * len(self.y)))
        best, least = task, self._losses_of_pass(learner, learned, held_out)
        for factor in LONGER:
            longer = with_eta0(task, factor * task.rule.eta0)
            losses = self._losses_of_pass(new_learner(longer), learned, held_out)
            if as_good(least, losses):
                break
            best, least = longer, losses
        if self.verbose:
            print(f"eta0={best.rule.eta0:g}: {len(held_out):,} held-out rows")
        return best

    def _losses_of_pass(
        self,
        learner: OnlineLearner,
        learned: NDArray[np.int64],
        held_out: NDArray[np.int64],
    ) -> Floats:
        """What held-out rows add to the log-loss of calibrated probabilities, after one pass."""
        for _ in self._passes(learner, learned, 1):
            pass
        found = self._predicted(learner, held_out)
        scaling = self._calibrated(found).scaling or 1.0
        return self._losses(learner, held_out, scaling * found.scores)

    def may_hold_out(self, learner: OnlineLearner) -> bool:
        """Whether rows are enough to hold some out, and few enough for that to take no time."""
        return len(self.y) >= FEWEST_ROWS and self._updates(learner) <= MANY_UPDATES

    def cross_predicted(
        self, task: Task, numbers: Sequence[int], new_learner: Callable[[Task], OnlineLearner]
    ) -> tuple[int, Predicted]:
        """Each half of the rows, predicted by what was learned from the other half.

        So many passes are tried, in turn, until more of them do not pay; the number before that.
        """
        order = check_random_state(0).permutation(len(self.y))
        halves = [np.sort(half) for half in np.array_split(order, 2)]
        learners = [new_learner(task) for _ in halves]
        passes = [self._passes(*one, numbers[-1]) for one in zip(learners, halves, strict=True)]
        best: tuple[int, Predicted] | None = None
        for number in numbers:
            for going_on in passes:
                while next(going_on) < number:
                    pass
            parts = map(self._predicted, learners, halves[::-1])
            found = Predicted(*(np.concatenate(column) for column in zip(*parts, strict=True)))
            if self.verbose:
                loss = found.losses.sum() / self.importance.sum()
                what = f"l1={task.rule.l1:g}, passes={number}"
                print(f"{what}: held-out loss {loss:.5g}, {len(self.y):,} rows")
            if best is not None and not pays(found.losses.sum(), best[1].losses.sum()):
                break
            best = number, found
        assert best is not None
        return best

    def more_passes(self, learner: OnlineLearner, passes: int) -> list[int]:
        """So many passes, and four times as many, again and again, as far as that takes no time."""
        most = int(min(MOST_PASSES_WITHOUT_PENALTY, MOST_UPDATES / self._updates(learner)))
        numbers = [passes]
        while numbers[-1] < most:
            numbers.append(min(4 * numbers[-1], most))
        return numbers

    def _split(self, n_held_out: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows to hold out, and the others."""
        order = check_random_state(0).permutation(len(self.y))
        return np.sort(order[:n_held_out]), np.sort(order[n_held_out:])

    def _updates(self, learner: OnlineLearner) -> int:
        """Of weights, in a pass."""
        return max(int(self.X.nnz), 1) * learner.n_outputs

    def _passes(
        self, learner: OnlineLearner, numbers: NDArray[np.int64] | None, passes: int
    ) -> Iterator[int]:
        """Learn these rows, or all; the number of each pass when it is over."""
        random = check_random_state(self.random_state)
        n_rows = len(self.y) if numbers is None else len(numbers)
        rows: Any = None if self.shuffle else self._rows(numbers)
        sharding = None if self.shards == 1 else Sharding(self.shards)
        for number in range(1, passes + 1):
            if self.shuffle:
                order = random.permutation(n_rows)
                rows = self._rows(order if numbers is None else numbers[order])
            learner.begin_pass(number)
            try:
                if sharding is None:
                    learner.learn(rows, restorable=False)
                else:
                    sharding.learn(learner.settled(), rows)
            except DivergenceError as error:  # of a learner that nobody has seen
                raise DivergenceError(str(error).replace(CHANGED, UNCHANGED)) from None
            yield number

    def _rows(self, numbers: NDArray[np.int64] | None) -> Any:
        """Some of the rows, copied, or all as they are."""
        rows = as_rows(self.X, self.y, self.importance)
        if numbers is None:
            return rows
        n_threads = min(self.shards, n_cores())
        with workers(n_threads, self.X.nnz) as run:
            return chosen_rows(rows, numbers, n_threads, run)

    def _predicted(self, learner: OnlineLearner, numbers: NDArray[np.int64]) -> Predicted:
        scores = learner.scores(self._rows(numbers))
        return Predicted(numbers, scores, self._losses(learner, numbers, scores))

    def _losses(self, learner: OnlineLearner, numbers: NDArray[np.int64], scores: Floats) -> Floats:
        """What each of some rows adds to the loss."""
        losses = np.empty(len(numbers))
        total_loss(learner.loss, scores, self.y[numbers], self.importance[numbers], losses)
        return losses


def with_eta0(task: Task, eta0: float) -> Task:
    """The task of a rule with own steps, as if the user had given it this eta0."""
    rule, schedule = (part._replace(eta0=eta0) for part in (task.rule, task.schedule))
    return task._replace(rule=rule, schedule=schedule)


def as_good(losses: Floats, least: Floats, margin: float = 1.0) -> bool:
    """Whether losses are no more than the least, or by no more than chance would have it.

    That is so many standard errors. More passes leave less to chance: few rows are held out, and
    all of them are learned. So does a penalty.
    """
    behind = losses - least
    return float(behind.sum()) <= margin * float(behind.std()) * math.sqrt(len(behind))
