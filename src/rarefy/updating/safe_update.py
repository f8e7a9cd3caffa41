"""Safe update: learn on, score the held-out rows, choose."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rarefy.arrays import Flags, Numbers
from rarefy.checks import check_number, check_whole
from rarefy.errors import ConfigError, InputError
from rarefy.files.model import Model
from rarefy.files.model_file import load_model
from rarefy.model.answers import right_answers
from rarefy.parameters.entry import MOST_PASSES
from rarefy.readers import Reader
from rarefy.readers.source import also_among, expand, is_pipe
from rarefy.stores import Prepared
from rarefy.streams.holdout import HeldOutFiles, HeldOutShare
from rarefy.streams.pipeline import prepared_batches
from rarefy.streams.stream_model import StreamModel
from rarefy.system.atomic_write import Output
from rarefy.training.anchored_start import anchored_model
from rarefy.training.first_rows import check_first_rows
from rarefy.training.plan import Plan, reader_of
from rarefy.training.procedure import Reporter, Training
from rarefy.training.resumption import is_finished, plan_to_go_on
from rarefy.updating.blending import Blend
from rarefy.updating.choice import Limits, Updated, chosen_update
from rarefy.updating.path import BothScores
from rarefy.updating.slices import Slices, read_slices

DEFAULT_HOLDOUT = 0.2
DEFAULT_PASSES = 4  # over rows that can be read again
SHOWN_PLACES = 10


class SafeUpdate:
    """A model, the data that it learns on from, and the limits of what it may lose."""

    def __init__(
        self,
        old: str,
        data: Sequence[str | Path],
        limits: Limits,
        output: str | None = None,
        *,
        slice_by: str | None = None,
        protect: str | Path | None = None,
        anchor: float | None = None,
        replay: str | Path | Sequence[str | Path] = (),
        passes: int | None = None,
        **asked: Any,
    ) -> None:
        self._limits = limits.check()
        self._path, self._saved = old, load_model(old)
        _check_old(self._saved, old, must_learn=anchor is None)
        limits.check_classes(len(self._saved.classes))
        start = self._saved
        if anchor is not None:
            check_number("anchor", anchor)
            start = anchored_model(start, old, {"l1": anchor})
        self._replayed = expand([replay] if isinstance(replay, str | Path) else replay)
        if any(map(is_pipe, self._replayed)):
            raise InputError("replay (--replay): rows of a pipe cannot be learned several times.")
        if passes is None:
            is_read_again = bool(asked.get("cache")) or not any(map(is_pipe, expand(data)))
            passes = DEFAULT_PASSES if is_read_again and start.search is None else 1
        check_whole("passes", passes, 1, MOST_PASSES)
        settings = {"holdout": DEFAULT_HOLDOUT, "passes": passes, **asked}
        self.plan: Plan = plan_to_go_on(start, data, old, output, False, settings, self._replayed)
        if self.plan.holdout is None:
            raise ConfigError("holdout=None: a share of the rows, or a file, is expected.")
        self._refuse_learned_rows()
        self._slice_by = slice_by
        if slice_by is not None and not self._saved.reading.columns.named:
            raise InputError(
                f"slice_by={slice_by!r} (--slice): {old} was trained on rows without named columns."
            )
        self._golden = None if protect is None else self._reader_of(protect)
        run = self.plan.run
        if run.held_out is not None and not run.can_be_read_again:
            raise InputError(
                "rows of standard input cannot be read again to judge the model by: give a file "
                "with held-out rows (--holdout)."
            )

    def _refuse_learned_rows(self) -> None:
        """No model is judged by files that it has learned."""
        learned = [*self._replayed, *self.plan.settings.get("learned", ())]
        new = self.plan.run.reader.files[len(self._replayed) :]
        if isinstance(self.plan.holdout, HeldOutFiles):
            files, learned = self.plan.holdout.files, [*new, *learned]
            instead = "hold out other rows, or a share (--holdout 0.2)"
        else:  # a share of the new rows
            files, instead = new, "give new rows, or a file with others (--holdout FILE)"
        for file in also_among(files, learned):
            is_to_come = not also_among([file], self.plan.settings.get("learned", ()))
            learns = "learns" if is_to_come else "has already learned"
            raise InputError(f"the model {learns} {file}, so this file cannot judge it: {instead}.")

    def carry_out(self, reporter: Reporter | None = None) -> Updated:
        """Learn, and choose; nothing is written."""
        old, slices, golden = self._saved.scorer(), None, None
        self._check_first_rows(old)
        if self._golden is not None:
            _check_golden(old, self._golden)
        if isinstance(self.plan.holdout, HeldOutShare):
            self.plan.holdout.n_spared = self._n_replayed()
        if self._slice_by is not None:
            slices = self._slices(self._slice_by)
        plan = self.plan._replace(holdout=None)  # which judges in the end
        Training(plan, reporter=reporter).carry_out()
        new = self.plan.run.model
        blend = Blend(self._saved.kept, np.array(self._saved.intercepts), new)
        end = blend.scorer(1.0)
        rows, lines, counts = _scored(self._held_out(), old, end, new)
        if slices is not None:
            slices = slices.only(lines, counts)
        if self._golden is not None:
            golden, _, _ = _scored(self._read(self._golden), old, end, new)
        return chosen_update(blend, rows, self._limits, slices, golden)

    def _check_first_rows(self, old: StreamModel) -> None:
        """Refuse files without rows, or with rows that are of another kind, before learning."""
        reader = self.plan.run.reader
        skips = reader.settings()["skip_bad_lines"]
        n_replayed = len(self._replayed)
        parts = [
            (reader.files[n_replayed:], "learn", skips),
            (self._replayed, "learn again (--replay)", skips),
            ([] if self._golden is None else self._golden.files, "protect (--protect)", False),
        ]
        if isinstance(self.plan.holdout, HeldOutFiles):
            parts.append((self.plan.holdout.files, "judge the model by (--holdout)", False))
        for files, purpose, skip in parts:
            if files and not any(map(is_pipe, files)):
                readers = [self._reader_of(file, skip_bad_lines=skip) for file in files]
                check_first_rows(old, self._path, readers, purpose)

    @property
    def inputs(self) -> list[str]:
        """The files that are read."""
        return [*self.plan.inputs, *(() if self._golden is None else self._golden.files)]

    def save(self, update: Updated, output: Output) -> int:
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
        yield from self._read(self.plan.holdout.reader)

    def _read(self, reader: Reader) -> Iterator[Prepared]:
        model = self.plan.run.model
        with model.reading_again(reader, label_needed=True) as again:
            yield from prepared_batches(again, model.store, model.with_targets)

    def _reader_of(self, *files: str | Path, **other: Any) -> Reader:
        """A reader of other files that reads like that of the data."""
        like = {**self.plan.run.reader.settings(), "skip_bad_lines": False}
        return reader_of({**like, "files": expand(files), **other})

    def _n_replayed(self) -> int:
        """How many rows are replayed, by reading them."""
        if not self._replayed:
            return 0
        skips = self.plan.run.reader.settings()["skip_bad_lines"]
        reader = self._reader_of(*self._replayed, skip_bad_lines=skips)
        return sum(len(batch.labels) for batch in reader)

    def _slices(self, column: str) -> Slices:
        """The values of a column in the held-out rows."""
        holdout = self.plan.holdout
        try:
            if isinstance(holdout, HeldOutFiles):
                return read_slices(holdout.reader, column, lambda first, n: np.ones(n, np.bool_))
            assert holdout is not None
            return read_slices(self.plan.run.reader, column, holdout.chosen)
        except InputError as error:
            raise InputError(f"slice_by={column!r} (--slice): {error}") from error


def _check_old(saved: Model, path: str, *, must_learn: bool) -> None:
    if saved.task.is_regression:
        raise InputError(f"{path} is a regression model; only answers of classifiers can be lost.")
    if saved.task.classes_grow:
        raise InputError(
            f"{path} was trained with classes that may grow (--classes grow), and an update "
            f"compares answers of models over the same classes: train it with a list of them."
        )
    if saved.state is None and must_learn:
        raise InputError(
            f"{path}: the model is slim or refitted: it can predict, but not be trained further. "
            f"With an anchor (--anchor L1), what is learned is a difference to it."
        )
    if not is_finished(saved, path):
        raise InputError(
            f"{path} comes from a run that was interrupted: finish it with `rarefy train "
            f"--resume`, then update it."
        )


def _scored(
    parts: Iterator[Prepared], old: StreamModel, end: StreamModel, new: StreamModel
) -> tuple[BothScores, Numbers, Flags]:
    """The rows that count, with what all models say of them; all read them in the same way.

    Also the lines of all rows, and which of these count.
    """
    found: list[BothScores] = []
    lines, all_counts = [np.empty(0, np.int64)], [np.empty(0, np.bool_)]
    for part in parts:
        counts = part.batch.importance > 0.0
        lines.append(part.batch.lines.copy())
        all_counts.append(counts)
        if not counts.any():
            continue
        rows = part.only(counts)
        assert rows.y is not None
        right = right_answers(old.scores_of(rows), rows.y, old.decision_threshold)
        scores = end.scores_of(rows), new.scores_of(rows)
        found.append(BothScores(right, *scores, rows.y.copy(), rows.batch.importance.copy()))
    scored = BothScores(np.empty(0, np.bool_), *np.empty((4, 0)))
    if found:
        scored = BothScores(*map(np.concatenate, zip(*found, strict=True)))
    return scored, np.concatenate(lines), np.concatenate(all_counts)


def _check_golden(old: StreamModel, reader: Reader) -> None:
    """Golden rows that the old model itself has wrong are an error."""
    wrong: list[str] = []
    with old.reading_again(reader, label_needed=True) as again:
        for part in prepared_batches(again, old.store, old.with_targets):
            assert part.y is not None
            right = right_answers(old.scores_of(part), part.y, old.decision_threshold)
            wrong += [part.batch.location(row) for row in np.flatnonzero(~right).tolist()]
    if wrong:
        more = ", ..." if len(wrong) > SHOWN_PLACES else ""
        raise InputError(
            f"the old model itself has {len(wrong):,} of the protected rows wrong: "
            f"{', '.join(wrong[:SHOWN_PLACES])}{more}. Only right answers can be protected: "
            f"leave these rows out."
        )
