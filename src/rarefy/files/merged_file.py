"""Merging model files."""

import os
import warnings
from collections.abc import Sequence
from typing import Any

from rarefy.errors import InputError, RarefyWarning
from rarefy.files.model import Model, model_of
from rarefy.readers.source import STDIN
from rarefy.streams.merged_stream import Named, merged

NamedModel = tuple[str, Model]  # the name is for messages
OF_ONE_RUN = ("before", "first_pass", "learned")


def merge_models(models: Sequence[NamedModel], base: NamedModel | None = None) -> Model:
    """One model of all that models have learned since the base, each from other rows."""
    if len(models) < 2:
        raise InputError("at least two models are expected.")
    begun = None if base is None else _begun(base)
    one_model = merged([_begun(named) for named in models], begun)
    name, first = models[0]
    for other_name, other in (*models[1:], *([] if base is None else [base])):
        if other.matrix != first.matrix:
            raise InputError(
                f"{name} and {other_name} cannot be merged: they have learned from matrices with "
                f"other columns, or with labels of another kind."
            )
    _warn_of_common_files(models, base)
    runs = [model.run for _, model in models if model.run and "reader" in model.run]
    return model_of(one_model, first.parameters, run=_merged_run(runs), matrix=first.matrix)


def _merged_run(runs: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The finished run of a merged model: as one of them, over the files of all, in their order."""
    if not runs:
        return None
    runs = sorted(runs, key=lambda run: list(run["reader"]["files"]))  # so that merging commutes
    learned, files = (
        list(dict.fromkeys(file for files in each for file in files))
        for each in (
            [run.get("learned", ()) for run in runs],
            [run["reader"]["files"] for run in runs],
        )
    )
    about = {name: of for name, of in runs[0].items() if name not in OF_ONE_RUN}
    about |= {"reader": {**about["reader"], "files": files}}
    about |= {"holdout": None, "target_features": None}
    return about | ({"learned": learned} if learned else {})


def _warn_of_common_files(models: Sequence[NamedModel], base: NamedModel | None) -> None:
    """Warn of files that two models have learned, other than what they began with."""
    begun_with = set() if base is None else _files_of(base[1])
    owners: dict[str, str] = {}
    for name, model in models:
        for file in sorted(_files_of(model) - begun_with):
            if file in owners:
                warnings.warn(
                    f"{owners[file]} and {name} have both learned {os.path.relpath(file)}, and its "
                    f"rows count twice. If both were trained further from one model, name that: "
                    f"base=... (--base).",
                    RarefyWarning,
                    stacklevel=4,
                )
            owners.setdefault(file, name)


def _files_of(model: Model) -> set[str]:
    """The files that a model has learned, as far as it says."""
    run = model.run or {}
    files = [*run.get("learned", ()), *run.get("reader", {}).get("files", ())]
    return {os.path.realpath(file) for file in files if file != STDIN}


def _begun(named: NamedModel) -> Named:
    """The model as it goes on learning, if it can."""
    name, saved = named
    if saved.state is None:
        raise InputError(
            f"{name} is slim or refitted: it has only its weights, and cannot be merged."
        )
    place = (saved.run or {}).get("place")
    if saved.run is not None and place and place["pass_number"] <= saved.run["passes"]:
        raise InputError(
            f"{name} is from a run that is not over. Go on with it first: rarefy train --resume "
            f"{name}"
        )
    return Named(name, saved.learner())
