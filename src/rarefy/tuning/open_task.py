"""A task with open hyperparameters, which are found while it is learned."""

from collections.abc import Collection, Sequence
from itertools import chain
from typing import Any

from rarefy.engine.learner import Learner
from rarefy.engine.online_learner import OnlineLearner
from rarefy.engine.snapshots import Arrays
from rarefy.engine.task import Task
from rarefy.errors import ConfigError
from rarefy.model.importance import PLAIN
from rarefy.parameters.build import make_weighting
from rarefy.tuning.space import Point, Space, make_space, space_of
from rarefy.tuning.tuning_learner import TuningLearner

Search = dict[str, Any]  # what a checkpoint says of it, and the parameters that a user gave


class OpenTask(Task):
    """Its rule is the space to look in, and there is no schedule."""

    @property
    def is_open(self) -> bool:
        return True

    @property
    def target_features(self) -> int | None:
        target: int | None = self.rule.target_features
        return target

    def new_learner(self, classes: Collection[Any], n_features: int) -> OnlineLearner:
        """A learner that has not learned, and looks for hyperparameters when it does."""
        loss, n_outputs = self.loss_over(len(classes))
        return TuningLearner(
            self.rule,
            loss,
            n_features=n_features,
            n_outputs=n_outputs,
            fit_intercept=self.fit_intercept,
            judge=self.rule.judge(classes),
        )


def open_task(
    parameters: dict[str, Any],
    weighting: dict[str, Any],
    loss: Any,
    multiclass: str,
    fit_intercept: bool,
    *,
    target_features: int | None,
    passes: int,
    scoring: Any = None,
) -> OpenTask:
    """The task of parameters some of which are to be found; what cannot be found is refused."""
    space = make_space(parameters, target_features, passes, scoring)
    for kind in chain.from_iterable(space.kinds):
        rule, _ = space.rule_of(kind)
        if make_weighting(rule, parameters["loss"], **weighting) != PLAIN:
            raise ConfigError(
                f"{space.sought} cannot be tuned with an endowment or importance='aware'."
            )
    return OpenTask(space, None, loss, multiclass, fit_intercept)


def begun_with(search: Search) -> tuple[Space, Point]:
    """Where to look, and the point of the model in use."""
    space = space_of(search["parameters"])
    return space, space.checked_point(search["point"], [*chain(*space.kinds)])


def resumed(
    search: Search, arrays: Arrays, model: Learner, classes: Sequence[str]
) -> OnlineLearner:
    """The learner of which there is a checkpoint; the model is the one that was in use."""
    space, model.found = begun_with(search)
    learner = TuningLearner(
        space,
        model.loss,
        n_features=model.n_features,
        n_outputs=model.n_outputs,
        fit_intercept=len(model.intercept_state) > 0,
        judge=space.judge(classes),
    )
    learner.restore(model, search, arrays)
    return learner
