"""A task that leaves hyperparameters open, which are found while it is learned."""

from typing import Any, cast

from rarefy.engine.learner import Learner
from rarefy.engine.task import Task
from rarefy.model.importance import Weighting
from rarefy.tuning.space import Space


class OpenTask(Task):
    """Its rule is the space to look in, and there is no schedule."""

    @property
    def is_open(self) -> bool:
        return True

    def new_learner(self, n_classes: int, n_features: int) -> Learner:
        """What stands in for the learner while hyperparameters are found."""
        from rarefy.tuning.tuning_learner import TuningLearner

        loss, n_outputs = self.loss_over(n_classes)
        learner = TuningLearner(
            self.rule,
            loss,
            n_features=n_features,
            n_outputs=n_outputs,
            fit_intercept=self.fit_intercept,
        )
        return cast(Learner, learner)


def task_of(
    rule: Any, schedule: Any, loss: Any, multiclass: str, fit_intercept: bool, weighting: Weighting
) -> Task:
    """The task of a rule, or of a space of rules."""
    kind = OpenTask if isinstance(rule, Space) else Task
    return kind(rule, schedule, loss, multiclass, fit_intercept, weighting)
