"""`rarefy replay`: train another model from the log."""

from pathlib import Path
from typing import Any, NamedTuple

from rarefy.errors import InputError
from rarefy.serving.bodies import decode_json
from rarefy.serving.limits import Limits, check_name
from rarefy.serving.log import CREATE, LEARN, LOAD, entries_in
from rarefy.serving.member import Member
from rarefy.serving.service import FILES, LOG, SNAPSHOTS
from rarefy.serving.snapshot_folder import Snapshots


class Replayed(NamedTuple):
    """A model that has learned from a log, and where that began and ended."""

    member: Member
    rows: int
    first: int
    last: int


def replay(folder: Path, model: str, parameters: dict[str, Any]) -> Replayed:
    """Learn the rows that the log of a folder has of a model, with other parameters.

    The service may be running. Rows are read as the model reads them that is served.
    """
    check_name("model", model)
    if not (folder / LOG).exists():
        raise InputError(f"{folder}: there is no log; name a folder of `rarefy serve`.")
    original, member = _served(folder, model), None
    n_rows, first, last = 0, 0, 0
    for entry in entries_in(folder / LOG, model):
        if original is None:
            original = _begun(folder, entry.kind, decode_json(entry.body.data))
        if member is None:
            member = original.challenger(parameters)
        if entry.kind == LEARN:
            first = first or entry.seq
            member.learn([entry.body])
            n_rows, last = n_rows + entry.rows, entry.seq
            if member.diverged is not None:
                raise InputError(f"entry {entry.seq}: {member.diverged}")
    if member is None or not n_rows:
        raise InputError(f"{folder}: there are no rows of a model {model!r} in the log.")
    return Replayed(member, n_rows, first, last)


def _served(folder: Path, model: str) -> Member | None:
    """The champion as of the last snapshot."""
    path = folder / SNAPSHOTS / model
    found = Snapshots(path).newest() if path.exists() else None
    return None if found is None else found.members[found.champion]


def _begun(folder: Path, kind: str, said: dict[str, Any]) -> Member:
    if kind == CREATE:
        return Member.created(said, Limits())
    if kind == LOAD:
        return Member.loaded(folder / FILES / f"{said['sha256']}.model")
    raise InputError(f"{folder}: the log does not say how the model was begun.")
