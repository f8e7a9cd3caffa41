"""Snapshots of a served model, written atomically.

FOLDER/snapshots/NAME/SEQ holds a model file for each member and state.json, which says who is the
champion. They are the members as they were when the entry SEQ of the log had been learned.
"""

import json
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from rarefy.errors import RarefyError
from rarefy.serving.member import Member
from rarefy.system.atomic_write import sync_folder

KEPT = 10
DIGITS = 15
STATE = "state.json"


class Snapshot(NamedTuple):
    """Who is who, as of an entry of the log."""

    seq: int
    champion: str
    members: dict[str, Member]
    replaced: frozenset[str]  # champions that were replaced by hand
    at: float


class Snapshots:
    """The snapshots of one model."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def tidy(self, since: int) -> None:
        """Remove what is unfinished, or of another model that was there before."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for path in self.folder.iterdir():
            if not path.name.isdigit() or int(path.name) < since:
                shutil.rmtree(path)

    def seqs(self) -> list[int]:
        """The oldest first."""
        return sorted(int(path.name) for path in self.folder.iterdir() if path.name.isdigit())

    def listed(self) -> list[dict[str, Any]]:
        """What is said of each that can be read, the newest first."""
        found = []
        for seq in reversed(self.seqs()):
            with suppress(OSError, ValueError):
                found.append({"seq": seq, **self._state(seq)})
        return found

    def file(self, seq: int, member: str) -> Path:
        return self._path(seq) / f"{member}.model"

    def newest(self) -> Snapshot | None:
        """The newest that can be read."""
        for seq in reversed(self.seqs()):
            try:
                state = self._state(seq)
                members = {name: Member.loaded(self.file(seq, name)) for name in state["members"]}
                for name, why in state["diverged"].items():
                    members[name].diverged = why
                replaced = frozenset(state["replaced"])
                return Snapshot(seq, state["champion"], members, replaced, state["at"])
            except (RarefyError, OSError, ValueError, LookupError):
                continue
        return None

    def write(self, snapshot: Snapshot) -> None:
        """Write one, and let the oldest go."""
        path, part = self._path(snapshot.seq), self.folder / "part"
        if path.exists():
            return
        try:
            self._write_into(part, snapshot)
            part.rename(path)
        finally:
            shutil.rmtree(part, ignore_errors=True)
        sync_folder(self.folder)
        for old in self.seqs()[:-KEPT]:
            shutil.rmtree(self._path(old), ignore_errors=True)

    def _write_into(self, part: Path, snapshot: Snapshot) -> None:
        _, champion, members, replaced, at = snapshot
        part.mkdir()
        for name, member in members.items():
            member.save(part / f"{name}.model")
        state = {
            "champion": champion,
            "members": {name: {"examples": member.t} for name, member in members.items()},
            "replaced": sorted(replaced),
            "diverged": {n: m.diverged for n, m in members.items() if m.diverged is not None},
            "at": at,
        }
        with (part / STATE).open("w") as file:
            json.dump(state, file)
            file.flush()
            os.fsync(file.fileno())
        sync_folder(part)

    def _path(self, seq: int) -> Path:
        return self.folder / f"{seq:0{DIGITS}}"

    def _state(self, seq: int) -> dict[str, Any]:
        state: dict[str, Any] = json.loads((self._path(seq) / STATE).read_text())
        return state
