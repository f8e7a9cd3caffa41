"""What a training begins with: nothing, a model to go on with, or one to learn a difference to."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rarefy.files.model import Model
from rarefy.training.anchored_start import anchored_plan
from rarefy.training.plan import Plan, new_plan
from rarefy.training.resumption import plan_to_go_on, resumed_plan

THE_MODEL = "the model"  # that is no file


def requested_plan(
    data: Sequence[str | Path],
    *,
    output: str | None,
    slim: bool,
    resume: str | Model | None = None,
    anchor: str | None = None,
    asked: Mapping[str, Any],
) -> Plan:
    """Plan what is asked for; of `resume` and `anchor`, one at most is given."""
    if anchor is not None:
        return anchored_plan(data, anchor=anchor, output=output, slim=slim, **asked)
    if resume is None:
        return new_plan(data, output=output, slim=slim, **asked)
    if isinstance(resume, Model):
        plan = plan_to_go_on(resume, data, THE_MODEL, output, slim, dict(asked))
        return plan._replace(resumed=None)
    return resumed_plan(data, resume=resume, output=output, slim=slim, **asked)
