"""Progressive and held-out metrics during training, at doubling numbers of examples."""

import math
import time
from typing import Any, NamedTuple

from rarefy.errors import InputError
from rarefy.streams.holdout import HeldOutFiles, HeldOutShare
from rarefy.streams.run import NEVER, Predicted, Run, predicted
from rarefy.system.memory import resident_memory

FIRST_LINE = 1000  # examples; the next lines come at twice as many each
FLIPS = ("negative_flips", "positive_flips")
SHOWN = ("examples", "loss", "accuracy", "auc", "rmse", "r2", *FLIPS)


class ProgressLine(NamedTuple):
    """How learning goes at one moment."""

    seconds: float  # since the start
    pass_number: int  # from 1
    examples: int  # learned so far, over all passes
    loss: float  # progressive: of the first pass so far; NaN where that is not known any more
    loss_since: float  # ... of the examples since the last line, new or not
    accuracy: float | None  # as the loss; None in regression, and with a decision threshold
    accuracy_since: float | None
    kept: int  # weights that are not zero
    zeros: float | None  # share of zeros among the features seen; None where unknown
    rate: float  # examples per second since the last line
    memory: int | None  # bytes of resident memory
    holdout: dict[str, float | None]  # metrics of held-out data by name; empty without any


class ProgressTracker:
    """Measures a run from its beginning in this process on."""

    def __init__(self, run: Run, holdout: HeldOutShare | HeldOutFiles | None = None) -> None:
        self.run = run
        self.holdout = holdout
        self._start = time.perf_counter()
        self._held_out: dict[str, float | None] = {}
        self._n_at_start = run.model.t
        self._last_seconds, self._last = 0.0, predicted(run.model)

    def line(self) -> ProgressLine:
        """How learning goes now, and has gone since the last line."""
        run, model, learner = self.run, self.run.model, self.run.model.learner.settled()
        seconds, now = self._seconds(), predicted(model)
        since, elapsed = now.since(self._last), seconds - self._last_seconds
        self._last_seconds, self._last = seconds, now
        seen, kept = model.store.n_seen(learner), learner.n_nonzero()
        first_pass = run.first_pass or Predicted()
        self._held_out = self._metrics_of_holdout()
        return ProgressLine(
            seconds,
            min(run.position.pass_number, run.passes),
            now.examples,
            _ratio(first_pass.loss, first_pass.weight),
            _ratio(since.loss, since.weight),
            self._accuracy(first_pass),
            self._accuracy(since),
            kept,
            1.0 - kept / (seen * learner.n_outputs) if seen else None,
            _ratio(since.examples, elapsed),
            resident_memory(),
            self._held_out,
        )

    @property
    def has_news(self) -> bool:
        """Whether there is more to say than in the last line."""
        return self.run.model.t > self._last.examples or self.holdout is not None

    def summary(self) -> dict[str, Any]:
        """What there is to say at the end."""
        run, seconds, first_pass = self.run, self._seconds(), self.run.first_pass or Predicted()
        return {
            "examples": run.model.t,
            "passes": min(run.position.pass_number, run.passes),
            "first_pass": first_pass.examples,
            "loss": _ratio(first_pass.loss, first_pass.weight),
            "accuracy": self._accuracy(first_pass),
            "weighted_by_class": run.model.task.class_weight is not None,
            "kept": run.model.learner.settled().n_nonzero(),
            "seconds": seconds,
            "rate": _ratio(run.model.t - self._n_at_start, seconds),
        }

    def final_holdout(self, *, is_over: bool) -> dict[str, Any]:
        """Metrics of all held-out rows by the final model, if the run is over.

        Rows of a share that are gone were predicted by the model of their time, and so are those of
        a run that was interrupted: that is `progressive`.
        """
        if self.holdout is None:
            return {}
        if isinstance(self.holdout, HeldOutFiles):
            of_lines = (self._held_out or self._metrics_of_holdout()) if is_over else {}
            found = {name: value for name, value in of_lines.items() if name not in FLIPS}
            return found | {"progressive": False} if found else {}
        progressive = not (is_over and self.run.can_be_read_again)
        if progressive:
            found = self.holdout.of_pass()
        else:
            found = self.holdout.of_final_model(self.run.model, self.run.again())
        return shown(found) | {"progressive": progressive}

    def loss_of_holdout(self) -> float:
        """The mean loss of all held-out rows by the model as it is now."""
        loss: float | None = None
        if isinstance(self.holdout, HeldOutFiles):
            loss = self.holdout.loss(self.run.model)
        elif self.holdout is not None:
            loss = self.holdout.of_final_model(self.run.model, self.run.again()).get("loss")
        if loss is None:
            raise InputError("early stopping: no rows are held out, so that none can say when.")
        return loss

    def _metrics_of_holdout(self) -> dict[str, float | None]:
        return {} if self.holdout is None else shown(self.holdout.summary(self.run.model))

    def _seconds(self) -> float:
        return time.perf_counter() - self._start

    def _accuracy(self, predicted: Predicted) -> float | None:
        """Learners count right answers for a threshold of 0, which others need not have."""
        if self.run.model.task.is_regression or self.run.model.decision_threshold != 0.0:
            return None
        return _ratio(predicted.right, predicted.weight)


def shown(metrics: dict[str, Any]) -> dict[str, Any]:
    """Those of the metrics that are shown beside others."""
    return {name: metrics[name] for name in SHOWN if name in metrics}


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
