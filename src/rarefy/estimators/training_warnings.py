"""Remarks made during training, as Python warnings."""

import warnings

from rarefy.errors import RarefyWarning
from rarefy.model.label_runs import LabelRuns
from rarefy.training.procedure import Reporter

WARNING = "Warning: "


def warn_of(runs: LabelRuns, remedy: str) -> None:
    """Warn of an order of the rows that spoils the model, if it does."""
    if complaint := runs.complaint():
        warnings.warn(f"{complaint} {remedy}", RarefyWarning, stacklevel=4)


class WarningReporter(Reporter):
    """Warns of what has to be known, and shows nothing."""

    def say(self, message: str) -> None:
        if message.startswith(WARNING):
            warnings.warn(message.removeprefix(WARNING), RarefyWarning, stacklevel=2)
