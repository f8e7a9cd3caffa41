"""All models of a folder: the log that they share, and what is asked of them."""

import hashlib
import os
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from rarefy.errors import InputError, RarefyError
from rarefy.serving.asked import Expire, Find, Label, Remember, labelled
from rarefy.serving.bodies import Body
from rarefy.serving.limits import Limits, check_name
from rarefy.serving.log import (
    CHALLENGE,
    CREATE,
    DROP,
    LOAD,
    PROMOTE,
    Entry,
    Log,
    Operation,
    Receipt,
)
from rarefy.serving.member import Member, loaded_member
from rarefy.serving.operations import Change, Create, Delete, Forget, Learn
from rarefy.serving.refusals import BusyError, ConflictError, NotFoundError
from rarefy.serving.slot import Slot, wait_for
from rarefy.serving.snapshot_folder import Snapshots, sync_folder

LOG, LOCK, SNAPSHOTS, FILES = "log.db", "lock", "snapshots", "files"
CHECKPOINT_SECONDS = 60.0
LARGE = 1 << 15  # bytes of a body that are looked at before they wait for others
MOST_READY = 50_000  # rows that wait to be learned in the form in which they were read
DAY = 24 * 3600.0


class Service:
    """The models in a folder; one process at a time has it."""

    def __init__(
        self,
        folder: str | Path,
        limits: Limits = Limits(),  # noqa: B008
        *,
        checkpoint_seconds: float = CHECKPOINT_SECONDS,
        keep_days: float = 30.0,
        keep_bytes: int | None = None,
        promote_within: float | None = None,
    ) -> None:
        self.folder, self.limits = Path(folder), limits
        self._checkpoint_seconds = checkpoint_seconds
        self._promote_within = promote_within
        self._keep_seconds, self._keep_bytes = keep_days * DAY, keep_bytes
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = locked(self.folder / LOCK)
        (self.folder / FILES).mkdir(exist_ok=True)
        self.log = Log(self.folder / LOG, self._admit, self._follow)
        self.slots: dict[str, Slot] = {}
        self._slots_lock = threading.Lock()
        self._remove_orphans()
        for name in sorted(self.log.models):
            self.slots[name] = self._new_slot(name)
            self.slots[name].start(self.log)
        self.log.start()
        self.started = time.time()

    # --- learning -----------------------------------------------------------------------------

    def learn(self, name: str, body: Body, key: str | None = None, *, future: Any = None) -> Any:
        """Have rows learned; the future has a receipt when they are in the log on disk."""
        slot = self.slot(name)
        champion = self.champion(name)
        if slot.backlog > self.limits.backlog:
            raise BusyError(
                f"{slot.backlog:,} rows are waiting to be learned; try again in a moment."
            )
        body = champion.understood(body)
        rows = ready = None
        if len(body.data) > LARGE or not champion.can_join(body):
            ready = champion.check(body, self.limits)
            rows, ready = ready.rows, ready if slot.backlog < MOST_READY else None
        digest = None if key is None else hashlib.sha256(body.data).digest()
        operation = Learn(name, body, rows, key, digest, ready)
        return self.log.submit(operation, Future() if future is None else future)

    def remember(self, name: str, rows: list[tuple[str, Body, Any]]) -> None:
        """Remember predictions by their ids; nobody waits for it."""
        self.slot(name).labels.asked += len(rows)
        self.log.submit(Remember(name, rows, self.limits.asked), Future())

    def label(self, name: str, labels: dict[str, Any]) -> dict[str, Any]:
        """Have rows learned that were predicted earlier, now that their labels are known."""
        champion, slot = self.champion(name), self.slot(name)
        found = self.log.do(Find(name, list(labels)))
        new = [asked for asked in found.values() if asked.seq is None]
        unknown = [id for id in labels if id not in found]
        if not found:
            slot.labels.unknown += len(unknown)
            raise NotFoundError(f"no prediction is remembered by {unknown[0]!r}.")
        seq = None
        bodies = [labelled(asked.body, labels[asked.id], champion.label) for asked in new]
        for format in {body.format for body in bodies}:
            part = [n for n, body in enumerate(bodies) if body.format == format]
            body = Body(format, b"".join(bodies[n].data for n in part))
            rows = champion.check(body, self.limits).rows
            seq = self.log.do(Label(name, [new[n].id for n in part], body, rows)).seq
        slot.labels.unknown += len(unknown)
        for asked in new:
            slot.labels.note(asked, labels[asked.id])
        repeated = len(found) - len(new)
        return {"rows": len(new), "seq": seq, "repeated": repeated, "unknown": unknown}

    def _admit(self, operations: list[Operation]) -> dict[int, Exception]:
        """Look at rows that have not been looked at; in groups, since that is faster."""
        groups: dict[tuple[str, str], list[int]] = {}
        for n, operation in enumerate(operations):
            if isinstance(operation, Learn) and operation.rows is None:
                groups.setdefault((operation.model, operation.body.format), []).append(n)
        refused: dict[int, Exception] = {}
        for (name, format), members in groups.items():
            self._admit_group(name, format, members, operations, refused)
        return refused

    def _admit_group(
        self,
        name: str,
        format: str,
        members: list[int],
        operations: list[Any],
        refused: dict[int, Exception],
    ) -> None:
        bodies = [operations[n].body.data for n in members]
        try:
            champion = self.champion(name)
            if len(members) > 1:
                n_rows = champion.check(Body(format, b"".join(bodies)), self.limits).rows
                if n_rows == sum(map(_n_lines, bodies)):
                    for n, data in zip(members, bodies, strict=True):
                        operations[n] = operations[n]._replace(rows=_n_lines(data))
                    return
        except RarefyError:
            pass  # whose it is will be found
        for n in members:
            try:
                rows = self.champion(name).check(operations[n].body, self.limits).rows
                operations[n] = operations[n]._replace(rows=rows)
            except RarefyError as error:
                refused[n] = error

    def _follow(self, entries: Sequence[Entry]) -> None:
        by_model: dict[str, list[Entry]] = {}
        for entry in entries:
            by_model.setdefault(entry.model, []).append(entry)
        for name, found in by_model.items():
            slot = self.slots.get(name)
            if slot is None:
                if name not in self.log.models:
                    continue  # deleted in the same group
                slot = self._new_slot(name)
                slot.start(self.log)  # which reads what has just been written
                self.slots[name] = slot
            else:
                slot.follow(found)

    # --- models -------------------------------------------------------------------------------

    def slot(self, name: str) -> Slot:
        slot = self.slots.get(name)
        if slot is None:
            raise NotFoundError(f"there is no model {name!r}.")
        return slot

    def champion(self, name: str) -> Member:
        champion = self.slot(name).champion
        if champion is None:
            raise BusyError(f"the model {name!r} is not ready yet; try again in a moment.")
        return champion

    def create(self, name: str, said: dict[str, Any]) -> Receipt:
        """Begin a model with parameters of an estimator, and of its start()."""
        check_name("model", name)
        Member.created(said, self.limits).warm_up()
        return self._done(name, Create(name, CREATE, said, most=self.limits.models))

    def load(
        self, name: str, data: bytes, *, challenger: str | None = None, source: str | None = None
    ) -> Receipt:
        """Take a model file, as champion or as a challenger."""
        check_name("model", name)
        sha = self._keep(data)
        said = {"sha256": sha}
        if challenger is not None:
            said["name"] = self._new_challenger(name, challenger)
        return self._done(name, Create(name, LOAD, said, source, self.limits.models))

    def _keep(self, data: bytes) -> str:
        """Write a model file to where the log can refer to it by its content."""
        sha = hashlib.sha256(data).hexdigest()
        path = self.folder / FILES / f"{sha}.model"
        part = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}.part")
        try:
            with part.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            loaded_member(part)
            part.rename(path)
            sync_folder(path.parent)
        finally:
            part.unlink(missing_ok=True)
        return sha

    def roll_back(self, name: str, seq: int) -> Receipt:
        """Let the champion be what it was in a snapshot; challengers stay what they are."""
        slot = self.slot(name)
        state = next((one for one in slot.snapshots.listed() if one["seq"] == seq), None)
        if state is None:
            raise NotFoundError(f"the model {name!r} has no snapshot {seq}.")
        return self.load(name, slot.snapshots.file(seq, state["champion"]).read_bytes())

    def challenge(self, name: str, challenger: str, parameters: dict[str, Any]) -> Receipt:
        """Let another model learn the same rows, in the shadow."""
        self._new_challenger(name, challenger)
        self.champion(name).challenger(parameters)
        said = {"name": challenger, "parameters": parameters}
        return self._done(name, Change(name, CHALLENGE, said))

    def _new_challenger(self, name: str, challenger: str) -> str:
        check_name("challenger", challenger)
        members = self.slot(name).members
        if challenger in members:
            raise ConflictError(f"the model {name!r} has a member {challenger!r} already.")
        if len(members) > self.limits.challengers:
            raise ConflictError(f"there are {self.limits.challengers} challengers already.")
        return challenger

    def drop(self, name: str, challenger: str) -> Receipt:
        self._check_challenger(name, challenger)
        return self._done(name, Change(name, DROP, {"name": challenger}))

    def promote(self, name: str, challenger: str) -> Receipt:
        """Let a challenger answer; the champion goes on as a challenger, so it can be undone."""
        self._check_challenger(name, challenger)
        return self._done(name, Change(name, PROMOTE, {"name": challenger}))

    def _check_challenger(self, name: str, challenger: str) -> None:
        slot = self.slot(name)
        if challenger not in slot.members:
            raise NotFoundError(f"the model {name!r} has no member {challenger!r}.")
        if challenger == slot.champion_name:
            raise ConflictError(f"{challenger!r} is the champion.")

    def delete(self, name: str) -> None:
        slot = self.slot(name)
        self.log.do(Delete(name))
        self.slots.pop(name, None)
        slot.close(snapshot=False)
        shutil.rmtree(self.folder / SNAPSHOTS / name, ignore_errors=True)

    def _done(self, name: str, operation: Operation) -> Receipt:
        """The receipt of a change, once it has come into effect."""
        receipt: Receipt = self.log.do(operation)
        until = time.monotonic() + self.limits.seconds
        while self.slots[name].seq < receipt.seq and time.monotonic() < until:
            time.sleep(0.001)
        return receipt

    def file(self, name: str) -> bytes:
        """The champion as a model file."""

        def saved(slot: Slot) -> bytes:
            champion = self.champion(name)
            path = self.folder / FILES / f"{name}.{threading.get_ident()}.download"
            try:
                champion.save(path)
                return path.read_bytes()
            finally:
                path.unlink(missing_ok=True)

        data: bytes = self.ask(name, saved)
        return data

    def ask(self, name: str, function: Callable[[Slot], Any]) -> Any:
        """What a function finds out about a model, while that does not learn."""
        slot = self.slot(name)
        return slot.ask(lambda: function(slot)).result(self.limits.seconds)

    def _new_slot(self, name: str) -> Slot:
        snapshots = Snapshots(self.folder / SNAPSHOTS / name)
        snapshots.tidy(since=self.log.models[name])
        files = self.folder / FILES
        return Slot(name, files, snapshots, self.limits, self._checkpoint_seconds)

    # --- looking after the folder -------------------------------------------------------------

    def look_after(self) -> None:
        """Take in model files that have come to the folder, and let old entries go."""
        for path in sorted(self.folder.glob("*.model")):
            self._take_in(path)
        for slot in list(self.slots.values()):
            self._forget_old(slot)
            before = time.time() - self.limits.asked_seconds
            self._promote_better(slot)
            slot.labels.missing += self.log.do(Expire(slot.name, before))

    def _take_in(self, path: Path) -> None:
        """Load NAME.model, as `rarefy train` writes it, unless it has been loaded."""
        data = path.read_bytes()
        sha = hashlib.sha256(data).hexdigest()
        found = self.log.read("SELECT source FROM models WHERE name = ?", (path.stem,))
        if not found or found[0][0] != sha:
            self.load(path.stem, data, source=sha)

    def _promote_better(self, slot: Slot) -> None:
        """Let a challenger answer that is better by more than chance, and loses few answers."""
        if self._promote_within is None:
            return
        found = {name: rivalry.figures() for name, rivalry in list(slot.rivalries.items())}
        better = {
            name: figures["gain"]
            for name, figures in found.items()
            if figures.get("is_better") and figures["lost_at_most"] <= self._promote_within
        }
        if better:
            self.promote(slot.name, max(better, key=lambda name: better[name]))

    def _forget_old(self, slot: Slot) -> None:
        seqs = slot.snapshots.seqs()
        if len(seqs) < 2:
            return
        until, before = seqs[-2], time.time() - self._keep_seconds
        size = self.log.read("SELECT sum(length(body)) FROM entries WHERE model = ?", (slot.name,))[
            0
        ][0]
        if self._keep_bytes is not None and (size or 0) > self._keep_bytes:
            before = time.time()
        self.log.do(Forget(slot.name, until, before))

    def _remove_orphans(self) -> None:
        """What a deleted model has left behind, if it was deleted at the last moment."""
        folder = self.folder / SNAPSHOTS
        for path in folder.iterdir() if folder.exists() else ():
            if path.name not in self.log.models:
                shutil.rmtree(path)

    def wait(self, seconds: float = 60.0) -> bool:
        """Wait until all that has come is learned; whether it is."""
        return wait_for(list(self.slots.values()), seconds)

    def close(self) -> None:
        """Learn what has come, write snapshots, and let the folder go."""
        self.log.close()
        for slot in self.slots.values():
            slot.close(snapshot=True)
        self._lock.close()


def locked(path: Path) -> Any:
    """A lock that ends with the process, however that ends."""
    file = path.open("w")
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:
        pass
    except OSError as error:
        file.close()
        raise InputError(f"{path.parent} is served by another process already.") from error
    return file


def _n_lines(text: bytes) -> int:
    return text.count(b"\n")
