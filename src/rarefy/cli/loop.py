"""The loop of `rarefy train`: learn, show how it goes, save from time to time."""

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from rarefy.cli.interrupts import Interrupts, Stopped
from rarefy.cli.views.display import Display, Line
from rarefy.cli.views.texts import FLIPS
from rarefy.streams.holdout import HeldOutFiles, HeldOutShare
from rarefy.streams.run import NEVER, Run
from rarefy.system.memory import resident_memory

FIRST_LINE = 1000  # examples; the next lines come at twice as many each
SHOWN_OF_HOLDOUT = ("loss", "accuracy", "auc", "rmse", *FLIPS)


class Moment(NamedTuple):
    """What differences between two lines are taken of."""

    seconds: float
    examples: int
    loss: float  # summed
    weight: float
    right: float


class Loop:
    """Goes through a run; `save` writes what was learned so far."""

    def __init__(
        self,
        run: Run,
        display: Display,
        save: Callable[[], None],
        *,
        save_every: int | None = None,
        holdout: HeldOutShare | HeldOutFiles | None = None,
    ) -> None:
        self.run = run
        self.model = run.model
        self.display = display
        self.save = save
        self.save_every = save_every
        self.holdout = holdout
        self.start = time.perf_counter()
        self._held_out: dict[str, float | None] = {}
        self._first = self._last = self._moment()
        self._next_line = self._line_after(self.model.t)
        self._next_save = self._save_after(self.model.t)

    def learn(self, interrupts: Interrupts) -> bool:
        """Whether the run came to its end; if not, it was interrupted."""
        try:
            for _ in self.run.steps(self._pause):
                if interrupts.number is None:
                    self._look(interrupts)
                if interrupts.number is not None:
                    return False
        except Stopped:
            return False
        return True

    def summary(self, *, is_over: bool) -> dict[str, Any]:
        """What there is to say at the end; who interrupts does not wait for files to be read."""
        if not is_over and isinstance(self.holdout, HeldOutFiles):
            self.holdout = None
        is_new = self.model.t > self._last.examples or self.holdout is not None
        if is_new and self.display.wants_lines:
            self._show_line()
        moment, first = self._moment(), self._first
        return {
            "examples": moment.examples,
            "passes": min(self.run.place.pass_number, self.run.passes),
            "loss": _ratio(moment.loss, moment.weight),
            "accuracy": self._accuracy(moment.right, moment.weight),
            "kept": self.model.learner.n_nonzero(),
            "seconds": moment.seconds,
            "rate": _ratio(moment.examples - first.examples, moment.seconds),
            "holdout": self._held_out,
        }

    def _pause(self) -> int:
        return min(self._next_line, self._next_save) - self.model.t

    def _look(self, interrupts: Interrupts) -> None:
        """After a step: show, and save, what is due."""
        examples, share = self.model.t, self.run.share
        self.display.advance(None if math.isnan(share) else share, examples)
        if examples >= self._next_line:
            with interrupts.at_once():
                self._show_line()
            self._next_line = self._line_after(examples)
        if examples >= self._next_save:
            self.save()
            self._next_save = self._save_after(examples)

    def _show_line(self) -> None:
        moment, last, learner = self._moment(), self._last, self.model.learner
        self._last = moment
        seen, kept = self.model.store.n_seen(learner), learner.n_nonzero()
        weight = moment.weight - last.weight
        self._held_out = self._look_at_holdout()
        self.display.line(
            Line(
                moment.seconds,
                min(self.run.place.pass_number, self.run.passes),
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
        )

    def _look_at_holdout(self) -> dict[str, float | None]:
        if self.holdout is None:
            return {}
        found = self.holdout.summary(self.model)
        return {name: found[name] for name in SHOWN_OF_HOLDOUT if name in found}

    def _moment(self) -> Moment:
        seconds = time.perf_counter() - self.start
        if self.model.t == 0:
            return Moment(seconds, 0, 0.0, 0.0, 0.0)
        return Moment(seconds, self.model.t, *self.model.learner.progress.tolist())

    def _accuracy(self, right: float, weight: float) -> float | None:
        return None if self.model.task.is_regression else _ratio(right, weight)

    def _line_after(self, examples: int) -> int:
        """The next number of examples at which to show a line."""
        if not self.display.wants_lines:
            return NEVER
        due = FIRST_LINE
        while due <= examples:
            due *= 2
        return due

    def _save_after(self, examples: int) -> int:
        """The next number of examples at which to save."""
        if self.save_every is None:
            return NEVER
        return (examples // self.save_every + 1) * self.save_every


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan
