"""The training procedure: read and learn, settle, refit, save."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from rarefy.errors import InputError
from rarefy.readers.source import also_among
from rarefy.streams.holdout import HeldOutFiles
from rarefy.streams.refit_stream import Refit, refit_stream
from rarefy.streams.run import NEVER
from rarefy.training.checkpoints import Checkpoints
from rarefy.training.early_stopping import is_judged, pays
from rarefy.training.plan import Plan
from rarefy.training.progress_tracker import (
    ProgressLine,
    ProgressTracker,
    next_checkpoint,
    next_line,
    shown,
)

HOW_TO_SHUFFLE = "--shuffle (shuffle=True)"
MORE_MEMORY = "give --shuffle-memory (shuffle_memory) more, or put the lines in random order first"


class Stopped(BaseException):
    """A run was to stop at once, and is as it was after the last examples that it learned."""


class Interruption:
    """Asks for an end of the training, at the next good moment; this one never does."""

    number: int | None = None  # of the signal, once there is one

    def at_once(self) -> AbstractContextManager[None]:
        """Inside, `Stopped` may be raised at any moment: nothing is done that cannot be left."""
        return nullcontext()


class Reporter:
    """Shows, or hands on, how learning goes; this one shows nothing."""

    wants_lines = False  # each of which costs a look at every weight

    def advance(self, share: float, examples: int = 0) -> None:
        """How far learning is, after every batch; `share` is NaN where the size is not known."""

    def columns(self, roles: Mapping[str, str]) -> None:
        """How each column is taken, once, when the first rows are learned."""

    def line(self, line: ProgressLine) -> None:
        """A new line of the learning curve."""

    def say(self, message: str) -> None:
        """A remark."""

    def warn(self, message: str) -> None:
        """A warning."""


class Training:
    """Carries a plan out.

    `checkpoints`, if there are any, are written while it learns, and in the end, unless nothing was
    learned. After `carry_out` the model is that of the run.
    """

    def __init__(
        self,
        plan: Plan,
        *,
        checkpoints: Checkpoints | None = None,
        reporter: Reporter | None = None,
        interruption: Interruption | None = None,
    ) -> None:
        self._plan = plan
        self.run = run = plan.run
        self.refit = plan.refit
        self.tracker = ProgressTracker(run, plan.holdout)
        self.checkpoints = checkpoints
        self.reporter = reporter or Reporter()
        self.interruption = interruption or Interruption()
        self.n_bytes = 0  # of the model that was saved in the end
        self._refitted: dict[str, Any] = {}  # metrics of the rows that a refit has fitted
        self._cut_to = run.model.cut_to if self.refit is None else None
        self._next_line = self._line_after(run.model.t)
        self._next_complaint = next_line(run.model.t)
        self._next_save = self._save_after(run.model.t)

    def carry_out(self) -> bool:
        """Whether it came to its end; else it was interrupted, and can be gone on with."""
        is_over = self._learn()
        if self.checkpoints is not None and self.run.model.t > 0:
            self.n_bytes = self.checkpoints.save(is_finished=is_over)
        return is_over

    def _learn(self) -> bool:
        run = self.run
        if self.reporter.wants_lines and (note := self._what_the_table_shows()):
            self.reporter.say(note)
        self._complain_of_holdout()
        try:
            self._judge_pass()
            for step, _ in enumerate(run.steps(self._pause)):
                if step == 0 and run.reader.roles:
                    self.reporter.columns(run.reader.roles)
                if step == 0 and run.how_shuffled:
                    self.reporter.say(run.how_shuffled)
                self._look()
        except Stopped:
            return False
        self._complain(0)
        if run.model.t == 0:
            raise InputError(f"{' '.join(run.reader.files)}: there are no examples to learn from.")
        if complaint := run.model.names_in_vain():
            self.reporter.warn(complaint)
        run.model = run.model.settled()
        return self.refit is None or self._has_refitted(self.refit)

    def _what_the_table_shows(self) -> str:
        """Which of its figures are not those of the saved model, if that is changed in the end."""
        if self.refit is not None:
            limit = self.refit.limit
            leaves = "" if limit is None else f", which leaves at most {limit:,} features"
            return (
                f"All lines but the last describe the model before the refit{leaves}; the last "
                f"line has the weights and held-out figures of the refitted model."
            )
        if self._cut_to is not None:
            return (
                f"Loss and accuracy so far, and recent ones, are for the model before it is cut "
                f"to {self._cut_to:,} features."
            )
        return ""

    def summary(self, *, is_over: bool) -> dict[str, Any]:
        """What there is to say at the end; who interrupts does not wait for files to be read."""
        if not is_over and isinstance(self.tracker.holdout, HeldOutFiles):
            self.tracker.holdout = None
        if not self.reporter.wants_lines:
            return self.tracker.summary()
        if self.tracker.has_news:
            self.reporter.line(self.tracker.line())
        return {
            **self.tracker.summary(),
            "refitted": self._refitted,
            "cut_to": self._cut_to if is_over else None,
            "holdout": self.tracker.final_holdout(is_over=is_over),
        }

    def _pause(self) -> int:
        return min(self._next_line, self._next_save) - self.run.model.t

    def _look(self) -> None:
        """After a step: show, and save, what is due, unless an end is asked for."""
        if self.interruption.number is None:
            self._judge_pass()
            self._report()
            self._complain(self._next_complaint)
            self._save()
        if self.interruption.number is not None:
            raise Stopped

    def _judge_pass(self) -> None:
        """When a pass is over, and is to be judged, end the run if more of them do not pay."""
        losses, position = self._plan.settings.get("losses"), self.run.position
        if losses is None or position.rows or self.run.is_over:
            return
        judged = [number for number in range(1, position.pass_number) if is_judged(number)]
        if len(losses) >= len(judged):
            return
        with self.interruption.at_once():
            losses.append(self.tracker.loss_of_holdout())
        if len(losses) > 1 and not pays(losses[-1], losses[-2]):
            self._plan.make_no_more_passes()
            self.reporter.say(
                f"Stopped early: the held-out loss is {losses[-2]:.4f} after {judged[-2]} passes, "
                f"and {losses[-1]:.4f} after {judged[-1]}."
            )

    def _report(self) -> None:
        examples = self.run.model.t
        self.reporter.advance(self.run.share, examples)
        if examples >= self._next_line:
            with self.interruption.at_once():
                self.reporter.line(self.tracker.line())
            self._next_line = self._line_after(examples)

    def _complain(self, due: int) -> None:
        """Warn of rows whose order spoils the model, if it is time to look."""
        examples = self.run.model.t
        if examples >= due:
            self._next_complaint = next_line(examples)
            if complaint := self.run.label_runs.complaint():
                remedy = MORE_MEMORY if self.run.how_shuffled else HOW_TO_SHUFFLE
                self.reporter.warn(f"{complaint} Shuffle the rows: {remedy}.")

    def _complain_of_holdout(self) -> None:
        """Warn of files that are held out, and learned as well."""
        holdout = self.tracker.holdout
        if isinstance(holdout, HeldOutFiles):
            for file in also_among(holdout.files, self.run.reader.files):
                self.reporter.warn(
                    f"{file} is held out, but learned as well: held-out figures are too "
                    f"optimistic. Give another file, or a share of the rows: --holdout 0.1 "
                    f"(holdout=0.1)."
                )

    def _save(self) -> None:
        examples = self.run.model.t
        if self.checkpoints is not None and examples >= self._next_save:
            self.checkpoints.save_meanwhile(self.reporter.warn)
            self._next_save = self._save_after(examples)

    def _line_after(self, examples: int) -> int:
        return next_line(examples) if self.reporter.wants_lines else NEVER

    def _save_after(self, examples: int) -> int:
        save_every = None if self.checkpoints is None else self.checkpoints.save_every
        return next_checkpoint(examples, save_every)

    def _has_refitted(self, refit: Refit) -> bool:
        """Whether the refit came to its end; if not, the model is as it was before."""
        model = self.run.model
        learner = model.learner.settled()
        if self.checkpoints is not None:
            self.checkpoints.save_meanwhile(self.reporter.warn)
        self.reporter.say(f"Refitting {learner.n_nonzero():,} weights ...")
        try:
            with self.interruption.at_once():
                self._refitted = shown(refit_stream(self.run, refit))
            return True
        except Stopped:
            model.adopt(learner)
            return False
        except BaseException:
            model.adopt(learner)
            raise
