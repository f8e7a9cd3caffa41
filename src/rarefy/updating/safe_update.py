"""From a model in use to the next one: learn on, score what is held out, choose."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rarefy.errors import ConfigError, InputError
from rarefy.files.model import Model
from rarefy.files.model_file import load_model
from rarefy.model.answers import right_answers
from rarefy.stores import Prepared
from rarefy.streams.holdout import HeldOutFiles
from rarefy.streams.pipeline import prepared_batches
from rarefy.streams.stream_model import StreamModel
from rarefy.system.atomic_write import Output
from rarefy.training.plan import Plan
from rarefy.training.procedure import Reporter, Training
from rarefy.training.resumption import is_finished, plan_to_go_on
from rarefy.updating.blending import Blend
from rarefy.updating.choice import Limits, Update, chosen_update
from rarefy.updating.path import BothScores

DEFAULT_HOLDOUT = 0.2


class SafeUpdate:
    """A model, the data that it learns on from, and the limits of what it may lose."""

    def __init__(
        self,
        old: str,
        data: Sequence[str | Path],
        limits: Limits,
        output: str | None = None,
        **asked: Any,
    ) -> None:
        self._limits = limits.check()
        self._saved = load_model(old)
        _check_old(self._saved, old)
        settings = {"holdout": DEFAULT_HOLDOUT, **asked}
        self.plan: Plan = plan_to_go_on(self._saved, data, old, output, False, settings)
        if self.plan.holdout is None:
            raise ConfigError("holdout=None: a share of the rows, or a file, is expected.")
        run = self.plan.run
        if run.held_out is not None and not run.can_be_read_again:
            raise InputError(
                "rows of standard input cannot be read again to judge the model by: give a file "
                "with held-out rows (--holdout)."
            )

    def carry_out(self, reporter: Reporter | None = None) -> Update:
        """Learn, and choose; nothing is written."""
        run = self.plan.run
        Training(run, reporter=reporter).carry_out()
        old, new = self._saved.scorer(), run.model
        blend = Blend(self._saved.kept, np.array(self._saved.intercepts), new)
        rows = _scored(self._held_out(), old, blend.scorer(1.0), new)
        return chosen_update(blend, rows, self._limits)

    def save(self, update: Update, output: Output) -> int:
        """Write the model that was chosen; how many bytes that were."""
        assert update.model is not None
        self.plan.run.model = update.model
        return self.plan.save(output, slim=update.is_slim)

    def _held_out(self) -> Iterator[Prepared]:
        run = self.plan.run
        if not isinstance(self.plan.holdout, HeldOutFiles):
            for prepared, is_held_out in run.again():
                yield prepared.only(is_held_out)
            return
        model = run.model
        with model.reading_again(self.plan.holdout.reader, label_needed=True) as again:
            yield from prepared_batches(again, model.store, model.with_targets)


def _check_old(saved: Model, path: str) -> None:
    if saved.task.is_regression:
        raise InputError(f"{path} is a regression model; only answers of classifiers can be lost.")
    if saved.state is None:
        raise InputError(
            f"{path}: the model is slim or refitted: it can predict, but not be trained further."
        )
    if not is_finished(saved, path):
        raise InputError(
            f"{path} comes from a run that was interrupted: finish it with `rarefy train "
            f"--resume`, then update it."
        )


def _scored(
    parts: Iterator[Prepared], old: StreamModel, end: StreamModel, new: StreamModel
) -> BothScores:
    """The rows that count, with what all models say of them; all read them in the same way."""
    found: list[BothScores] = []
    for part in parts:
        counts = part.batch.importance > 0.0
        if not counts.any():
            continue
        rows = part.only(counts)
        assert rows.y is not None
        right = right_answers(old.scores_of(rows), rows.y, old.decision_threshold)
        scores = end.scores_of(rows), new.scores_of(rows)
        found.append(BothScores(right, *scores, rows.y.copy(), rows.batch.importance.copy()))
    if not found:
        return BothScores(np.empty(0, np.bool_), *np.empty((4, 0)))
    return BothScores(*map(np.concatenate, zip(*found, strict=True)))
