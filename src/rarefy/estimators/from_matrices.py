"""`fit` and `partial_fit` of matrices."""

import warnings
from copy import copy, deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from rarefy.arrays import Rows, as_rows
from rarefy.checks import nearest
from rarefy.engine.finite_data import minimise
from rarefy.engine.learner import Learner
from rarefy.engine.new_classes import learn_with_new_classes
from rarefy.engine.online_learner import OnlineLearner
from rarefy.engine.pruning import only_candidates
from rarefy.engine.refit import refitted
from rarefy.engine.task import Task
from rarefy.engine.watched import Seen, watched
from rarefy.errors import ConfigError, InputError, RarefyWarning
from rarefy.estimators.matrices import Content, content_of
from rarefy.estimators.passes import PENALTY_MARGIN, Fitting, Passes, as_good, with_eta0
from rarefy.estimators.training_warnings import warn_of
from rarefy.files.label_types import label_names
from rarefy.model.class_weights import ClassWeights
from rarefy.model.columns_by_name import ColumnNames, groups_of_columns, l1_of_columns
from rarefy.model.label_runs import LabelRuns
from rarefy.model.numbers_by_name import NAMESPACES, L1ByName
from rarefy.model.target_order import TargetOrder
from rarefy.parameters.entry import AUTO
from rarefy.rules import FINITE_DATA
from rarefy.rules.anchoring import anchored, is_anchored
from rarefy.rules.scale_free import ScaleFree
from rarefy.streams.fast_path import FastPath
from rarefy.streams.refit_stream import Refit
from rarefy.streams.stream_model import NO_TOTALS, StreamModel
from rarefy.system.deferred_signals import Deferral

ENOUGH_ROWS = 1000  # of calls of partial_fit, to judge their order
MOST_COLUMNS = 1000  # of a table, which may do without a penalty; texts have more


class FromMatrices:
    """Part of the base of both estimators."""

    stream_: StreamModel | None
    _fast: FastPath | None
    _class_totals: NDArray[np.float64] = NO_TOTALS  # what the rows of each class weigh so far
    _first_rows: Content | None = None  # of those that were learned first
    _label_runs = LabelRuns()  # of what partial_fit has learned; never changed, but replaced

    def _learn_passes(self: Any, task: Task, X: Any, y: Any, importance: Any) -> None:
        """Learn from scratch; if that fails, the learner is of no use."""
        if not importance.any():
            raise InputError("sample_weight is zero for all rows: there is nothing to learn.")
        if not importance.all():
            counts = importance != 0.0
            X, y, importance = X[counts], y[counts], importance[counts]
        class_weights = self._class_weights(task)
        if class_weights is not None:
            importance, self._class_totals = class_weights.of_all(y, importance)
        if not self.shuffle:
            runs = TargetOrder() if task.is_regression else LabelRuns()
            runs.add(y)
            warn_of(runs, "Use shuffle=True.")
        how = bool(self.shuffle), self.random_state, self.verbose, self.shards
        fitting = Fitting(X, y, importance, *how)
        if type(task.rule) in FINITE_DATA.values():
            self._minimise(task, as_rows(X, y, importance))
            return
        going_on = self._goes_on
        if going_on:
            self._check_can_learn()
            task = self._task_to_go_on(task)
        if self.passes != AUTO or task.is_open or going_on:
            passes, found = Passes(self._stream_passes), {}
        else:
            task, found = self._with_steps(task, fitting)
            passes = fitting.chosen_passes(lambda: self._new_learner(task))
            task, passes = self._with_l1_if_better(task, fitting, passes, found)
        # a copy, so that this one stays as it is if learning fails
        new = deepcopy(self.learner_) if going_on else self._new_learner(task)
        fitting.learn(new, passes, task)
        self._note_rows(new, X, y, is_first=not going_on)
        self.passes_ = passes.number
        learner = new.settled()
        learner.found.update(found)
        if self._is_refitted:
            learner = self._refitted(learner, X, y, importance)
        if class_weights is None:
            self._class_totals = NO_TOTALS
        self._take_over_learner(learner, task, is_slim=self._is_refitted)

    def _with_steps(self: Any, task: Task, fitting: Fitting) -> tuple[Task, dict[str, float]]:
        """The task with longer steps, if they are better, and what was found."""
        is_asked = self.eta0 is not None or self._is_refitted
        if is_asked or type(task.rule) is not ScaleFree:
            return task, {}
        chosen = fitting.with_steps(task, self._new_learner)
        return chosen, {} if chosen == task else {"eta0": chosen.rule.eta0}

    def _with_l1_if_better(
        self: Any, task: Task, fitting: Fitting, passes: Passes, found: dict[str, float]
    ) -> tuple[Task, Passes]:
        """The task, without its penalty if it is of a table that is better predicted so.

        Its l1 is added to what was found, unless the user has asked for one, or for few features.
        """
        n_rows, n_columns = fitting.X.shape
        is_table = n_columns < n_rows and n_columns <= MOST_COLUMNS
        is_asked = self.l1 is not None or self._is_refitted
        if is_asked or not is_table or type(task.rule) is not ScaleFree:
            return task, passes
        if not fitting.may_hold_out(self._new_learner(task)):
            return task, passes
        free = task._replace(rule=task.rule._replace(l1=0.0))
        more = fitting.more_passes(self._new_learner(task), passes.number)
        _, kept = fitting.cross_predicted(task, more[:1], self._new_learner)
        number, dropped = fitting.cross_predicted(free, more, self._new_learner)
        if not as_good(kept.losses, dropped.losses, PENALTY_MARGIN):
            task, kept, passes = free, dropped, passes._replace(number=number)
        found["l1"] = task.rule.l1
        return task, passes._replace(predicted=kept)

    def _minimise(self: Any, task: Task, rows: Rows) -> None:
        """Learn by a method that needs all rows at once."""
        learner = self._new_learner(task).settled()
        passes = None if self.passes == AUTO else int(self.passes)
        random = check_random_state(self.random_state)
        self.passes_, is_there = minimise(learner, rows, random, passes)
        if not is_there:
            warnings.warn(
                f"The minimum was not reached in {self.passes_} passes: a larger l2, or features "
                f"on one scale, would make it easier.",
                RarefyWarning,
                stacklevel=2,
            )
        self._take_over_learner(learner, task, is_slim=False)

    def _take_over_learner(self: Any, learner: OnlineLearner, task: Task, *, is_slim: bool) -> None:
        """Be the model that has learned this task from a matrix."""
        self.learner_, self.stream_, self.is_slim_ = learner, None, is_slim
        self._fast = None  # that of a stream
        self._learned(task)

    def _refitted(self: Any, learner: Learner, X: Any, y: Any, importance: Any) -> Learner:
        refit = Refit(self.refit_l2, self.refit_features, self.target_features)
        learner = only_candidates(learner, refit.target, lambda: X.power(2).T @ importance)
        return refitted(learner, X, y, importance, refit.l2, refit.limit)

    def _refuse_shards(self: Any) -> None:
        if self.shards != 1:
            raise ConfigError(
                f"shards={self.shards} is for fit and fit_stream; partial_fit and learn_one learn "
                f"one row after the other. Use set_params(shards=1) to go on with them."
            )

    @property
    def _goes_on(self: Any) -> bool:
        """Whether `fit` continues, with the classes and columns that the model has."""
        return bool(self.warm_start) and self.__sklearn_is_fitted__()

    def _check_can_learn(self: Any) -> None:
        if self.is_slim_:
            self._check_not_settled()
            raise InputError(
                "the model was refitted or saved slim: it can predict, but not be trained "
                "further. Start again with fit."
            )

    def _learn_more(
        self: Any, task: Task, X: sparse.csr_array, y: Any, importance: Any, signals: Deferral
    ) -> None:
        """Go on learning, if the task is still the same; signals are let through now and then."""
        self._check_can_learn()
        self._refuse_shards()
        if not self.__sklearn_is_fitted__():
            self.learner_ = self._new_learner(task)
            self._label_runs = LabelRuns()
        else:
            task = self._task_to_go_on(task)
        class_weights, totals = self._class_weights(task), self._class_totals
        if class_weights is not None:
            importance, totals = class_weights.running(y, importance, totals)
        rows = as_rows(X, y, importance)
        self._learned(task)
        self._tell_own(task, self.learner_)
        self._label_runs = self._label_runs_with(y)
        if self._label_runs.n_rows >= ENOUGH_ROWS:
            warn_of(self._label_runs, "Shuffle the rows.")
        is_first = self.learner_.t == 0
        seen: list[Seen] = []
        with self._lock:
            how = rows, self.n_features_in_, signals.let_through
            if task.classes_grow:
                self.learner_ = learn_with_new_classes(self.learner_, *how, seen)
            elif self._watch is not None:
                with watched(self.learner_, seen):
                    self.learner_.learn(*how[:2], between=how[2])
            else:
                self.learner_.learn(*how[:2], between=how[2])
            self._note_seen(seen)
        self._note_rows(self.learner_, X, y, is_first=is_first)
        self._class_totals = totals
        self._matrix_rows.note_parameters(self)

    @property
    def _has_fast_path(self: Any) -> bool:
        """Whether matrices with few rows may take the fast path."""
        known = self.__dict__
        return "learner_" in known and self.stream_ is None and "feature_names_in_" not in known

    def _few(self: Any, X: Any) -> FastPath | None:
        """What learns and scores the rows of a matrix on the fast path, if they can take it."""
        task, n_columns = self._learned_by.task, self.n_features_in_
        self._matrix_rows.watch = self._watch
        return self._matrix_rows.take(X, self.learner_, task, n_columns)  # type: ignore[no-any-return]

    def _scores_of_few(self: Any, X: Any) -> NDArray[np.float64] | None:
        """The scores of rows that take the fast path; None for all others."""
        if not self._has_fast_path:
            return None
        with self._lock:
            few = self._few(X)
            return few.scores.copy() if few is not None and few.score() else None

    def _learn_one_row(self: Any, X: Any, y: Any) -> bool:
        """Whether a matrix of one row was learned on the fast path; if not, nothing has changed."""
        if not self._has_fast_path or not self._matrix_rows.are_parameters_checked(self):
            return False
        target = self._target_of_one(y)
        if target is None or getattr(X, "shape", ())[:1] != (1,):
            return False
        with Deferral(), self._lock:
            few = self._few(X)
            if few is None:
                return False
            runs = self._label_runs_with(np.array([target]))
            if runs.n_rows >= ENOUGH_ROWS:
                warn_of(runs, "Shuffle the rows.")
            if not few.learn(target, 1.0):
                return False
            self._label_runs = runs
        return True

    def _label_runs_with(self: Any, y: Any) -> LabelRuns:
        """What the order of labels is like with the next ones; numbers to predict have none."""
        runs: LabelRuns = self._label_runs
        if not self._learned_by.task.is_regression:
            runs = copy(runs)
            runs.add(y)
        return runs

    def _tell_own(self: Any, task: Task, learner: OnlineLearner) -> None:
        """Tell what l1 each column has, or which group it is of, if that is asked for."""
        own = task.own_by_name
        told = learner.settled().own_of_columns if own is not None else None
        if own is None or (told is not None and len(told) == self.n_features_in_):
            return
        columns = ColumnNames(self.n_features_in_, getattr(self, "feature_names_in_", None))
        of_groups = () if isinstance(task.groups, str) else task.groups
        asked = [("l1_of", pattern) for pattern, _ in task.l1_of]
        asked += [("groups", pattern) for _, columns in of_groups for pattern in columns]
        for what, pattern in asked:
            if not len(columns.fitting(pattern)):
                meant = nearest(pattern, columns.names)
                raise ConfigError(f"{what}: X has no column {pattern!r}{meant}.")
        if task.groups == NAMESPACES:
            raise ConfigError(
                f"groups={NAMESPACES!r} is for files; for a matrix, give columns by the name of "
                f"their group."
            )
        learner.settled().own_of_columns = (
            l1_of_columns(own, columns)
            if isinstance(own, L1ByName)
            else groups_of_columns(of_groups, columns)
        )

    def _note_rows(
        self: Any, learner: OnlineLearner, X: sparse.csr_array, y: Any, *, is_first: bool
    ) -> None:
        """End the calibration if the first rows came again: their scores were not honest any more.

        So it is when users go over their data by calling `partial_fit` again and again.
        """
        content = content_of(X, y)
        if is_first:
            self._first_rows = content
        elif content is not None and content == self._first_rows:
            learner.settled().calibration = None

    def _class_weights(self: Any, task: Task) -> ClassWeights | None:
        return task.class_weights(label_names(self.classes_)) if task.class_weight else None

    def _task_to_go_on(self: Any, asked: Task) -> Task:
        """The task that learning began with; parameters other than those of it are refused."""
        begun: Task = self._learned_by.task
        if is_anchored(begun.rule):
            asked = asked._replace(rule=anchored(asked.rule))
        asked = asked._replace(classes_grow=begun.classes_grow)
        found = self.learner_.settled().found if self.learner_.is_settled else {}
        if found:
            self._check_not_settled()
        if type(asked.rule) is type(begun.rule) is ScaleFree:
            if self.l1 is None and "l1" in found:
                asked = asked._replace(rule=asked.rule._replace(l1=found["l1"]))
            if self.eta0 is None and "eta0" in found:
                asked = with_eta0(asked, found["eta0"])
        changed = [name for name in Task._fields if getattr(asked, name) != getattr(begun, name)]
        if changed:
            now, then = (
                ", ".join(f"{name}: {getattr(task, name)}" for name in changed)
                for task in (asked, begun)
            )
            raise ConfigError(
                f"Parameters cannot be changed once training has begun. They are now {now}; "
                f"training began with {then}. Set them back, or start again with fit."
            )
        return begun

    def _check_not_settled(self: Any) -> None:
        if self.target_features is not None:
            raise ConfigError(
                f"target_features={self.target_features} was reached by fit. To train further "
                f"within it, use partial_fit from the start."
            )
