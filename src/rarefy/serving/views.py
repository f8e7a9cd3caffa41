"""Descriptions of models as JSON."""

from typing import Any

import numpy as np

from rarefy.analysis.comparison import compare, first_changes
from rarefy.analysis.explanation import explain_row, explanation_as_json
from rarefy.analysis.model_description import ON_NEW_DATA, description, feature_as_json
from rarefy.files.model_file import load_model
from rarefy.serving.bodies import Body
from rarefy.serving.member import Member
from rarefy.serving.refusals import NotFoundError, RefusedError
from rarefy.serving.served_model import ServedModel

SHOWN = 50
MOST_SHOWN = 1000


def summary(served: ServedModel) -> dict[str, Any]:
    """What a list of models says of one; it can be told at any time."""
    champion = served.champion
    found: dict[str, Any] = {
        "name": served.name,
        "ready": champion is not None,
        "seq": served.seq,
        "backlog": served.backlog,
        "champion": served.champion_name,
        "challengers": [name for name in served.members if name != served.champion_name],
        "snapshot": served.saved_seq or None,
        "problem": served.problem,
    }
    if champion is not None:
        task = champion.estimator._learned_by.task
        classes = [] if task.is_regression else champion.estimator.classes_.tolist()
        found |= {
            "task": "regression" if task.is_regression else "classification",
            "classes": classes,
            "rule": str(champion.estimator.get_params().get("rule")),
            "examples": champion.t,
            "diverged": champion.diverged,
            "figures": rolling(champion),
        }
    return found


def rolling(member: Member) -> dict[str, float]:
    return {} if member.record is None else member.record.rolling


def full(served: ServedModel) -> dict[str, Any]:
    """All that is known of a model; while it does not learn."""
    champion = _champion(served)
    described = description(champion.described())
    if not champion.estimator.is_slim_:
        described["training"]["further_training"] = ON_NEW_DATA
    return {
        **summary(served),
        "description": described,
        "members": {name: _member(served, name) for name in served.members},
        "labels": served.labels.figures(),
        "snapshots": served.snapshots.listed(),
    }


def _member(served: ServedModel, name: str) -> dict[str, Any]:
    member = served.members[name]
    rivalry = served.rivalries.get(name)
    return {
        "examples": member.t,
        "loss": member.estimator.progressive_loss_,
        "weights": member.estimator.n_nonzero_,
        "diverged": member.diverged,
        "refused": member.n_refused,
        "rolling": rolling(member),
        "fading": {} if member.record is None else member.record.fading,
        "drifts": [] if member.record is None else member.record.drifts,
        "against_champion": None if rivalry is None else rivalry.figures(),
    }


def features(served: ServedModel, search: str, top: int) -> dict[str, Any]:
    """The strongest features whose names contain a text."""
    model = _champion(served).described()
    kept = model.kept
    order = np.argsort(-np.abs(kept.weights), kind="stable").tolist()
    if search:
        names = kept.names or [str(key) for key in kept.keys.tolist()]
        wanted = search.casefold()
        order = [at for at in order if wanted in names[at].casefold()]
    shown = order[: min(top, MOST_SHOWN)]
    return {"found": len(order), "features": [feature_as_json(model, at) for at in shown]}


def explained(served: ServedModel, body: Body, row: int) -> dict[str, Any]:
    """Why a row is predicted as it is."""
    champion = _champion(served)
    model = champion.described()
    body = champion.understood(body)
    found = explain_row(model, body.reader(champion.reader_classes), row)
    return explanation_as_json(model, found, None)


def difference(served: ServedModel, seq: int, top: int) -> dict[str, Any]:
    """What has become of the weights since a snapshot."""
    state = next((one for one in served.snapshots.listed() if one["seq"] == seq), None)
    if state is None:
        raise NotFoundError(f"the model {served.name!r} has no snapshot {seq}.")
    old = load_model(served.snapshots.file(seq, state["champion"]))
    new = _champion(served).described()
    if len(old.intercepts) != len(new.intercepts):
        raise RefusedError("classes have come since, so that weights cannot be compared.")
    found = compare(old, new)
    return {
        "seq": seq,
        "counts": found.counts(),
        "mass": found.mass(),
        "features": [
            {"feature": each.feature, **each.class_name, "old": each.old, "new": each.new}
            for each in first_changes(old, new, found, min(top, MOST_SHOWN))
        ],
    }


def _champion(served: ServedModel) -> Member:
    if served.champion is None:
        raise NotFoundError(f"the model {served.name!r} is not ready yet.")
    return served.champion
