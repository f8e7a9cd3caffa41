"""How learning goes: progressive and held-out metrics, at twice as many examples each time."""

import math
import time
from typing import Any, NamedTuple

from rarefy.streams.holdout import HeldOutFiles, HeldOutShare
from rarefy.streams.run import NEVER, Run
from rarefy.system.memory import resident_memory

FIRST_LINE = 1000  # examples; the next lines come at twice as many each
FLIPS = ("negative_flips", "positive_flips")
SHOWN_OF_HOLDOUT = ("loss", "accuracy", "auc", "rmse", *FLIPS)


class ProgressLine(NamedTuple):
    """How learning goes at one moment."""

    seconds: float  # since the start
    pass_number: int  # from 1
    examples: int  # learned so far, over all passes
    loss: float  # progressive, so far
    loss_since: float  # ... since the last line
    accuracy: float | None  # progressive, so far; None in regression
    accuracy_since: float | None
    kept: int  # weights that are not zero
    zeros: float | None  # share of zeros among the features seen; None where unknown
    rate: float  # examples per second since the last line
    memory: int | None  # bytes of resident memory
    holdout: dict[str, float | None]  # metrics of held-out data by name; empty without any


class Moment(NamedTuple):
    """What differences between two lines are taken of."""

    seconds: float
    examples: int
    loss: float  # summed
    weight: float
    right: float


class ProgressTracker:
    """Measures a run from its beginning in this process on."""

    def __init__(self, run: Run, holdout: HeldOutShare | HeldOutFiles | None = None) -> None:
        self.run = run
        self.holdout = holdout
        self._start = time.perf_counter()
        self._held_out: dict[str, float | None] = {}
        self._first = self._last = self._moment()

    def line(self) -> ProgressLine:
        """How learning goes now, and has gone since the last line."""
        run, model = self.run, self.run.model
        moment, last, learner = self._moment(), self._last, model.learner.settled()
        self._last = moment
        seen, kept = model.store.n_seen(learner), learner.n_nonzero()
        weight = moment.weight - last.weight
        self._held_out = self._metrics_of_holdout()
        return ProgressLine(
            moment.seconds,
            min(run.position.pass_number, run.passes),
            moment.examples,
            _ratio(moment.loss, moment.weight),
            _ratio(moment.loss - last.loss, weight),
            self._accuracy(moment.right, moment.weight),
            self._accuracy(moment.right - last.right, weight),
            kept,
            1.0 - kept / (seen * learner.n_outputs) if seen else None,
            _ratio(moment.examples - last.examples, moment.seconds - last.seconds),
            resident_memory(),
            self._held_out,
        )

    @property
    def has_news(self) -> bool:
        """Whether there is more to say than in the last line."""
        return self.run.model.t > self._last.examples or self.holdout is not None

    def summary(self) -> dict[str, Any]:
        """What there is to say at the end."""
        moment, first = self._moment(), self._first
        return {
            "examples": moment.examples,
            "passes": min(self.run.position.pass_number, self.run.passes),
            "loss": _ratio(moment.loss, moment.weight),
            "accuracy": self._accuracy(moment.right, moment.weight),
            "kept": self.run.model.learner.settled().n_nonzero(),
            "seconds": moment.seconds,
            "rate": _ratio(moment.examples - first.examples, moment.seconds),
            "holdout": self._held_out,
        }

    def _metrics_of_holdout(self) -> dict[str, float | None]:
        if self.holdout is None:
            return {}
        found = self.holdout.summary(self.run.model)
        return {name: found[name] for name in SHOWN_OF_HOLDOUT if name in found}

    def _moment(self) -> Moment:
        model = self.run.model
        seconds = time.perf_counter() - self._start
        if model.t == 0:
            return Moment(seconds, 0, 0.0, 0.0, 0.0)
        return Moment(seconds, model.t, *model.learner.progress.tolist())

    def _accuracy(self, right: float, weight: float) -> float | None:
        return None if self.run.model.task.is_regression else _ratio(right, weight)


def next_line(examples: int) -> int:
    """The next number of examples at which a line is due."""
    due = FIRST_LINE
    while due <= examples:
        due *= 2
    return due


def next_checkpoint(examples: int, save_every: int | None) -> int:
    """The next number of examples at which to save."""
    return NEVER if save_every is None else (examples // save_every + 1) * save_every


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan
