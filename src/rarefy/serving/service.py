"""The models of a folder, and the log that they share."""

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
from rarefy.serving.bodies import Body, joined
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
from rarefy.serving.member import Member, Ready, loaded_member
from rarefy.serving.operations import Change, Create, Delete, Learn
from rarefy.serving.pending_predictions import Find, Label, Remember, labelled
from rarefy.serving.refusals import BusyError, ConflictError, NoRoomError, NotFoundError
from rarefy.serving.served_model import RULE, ServedModel, wait_for
from rarefy.serving.snapshot_folder import Snapshots
from rarefy.system.atomic_write import sync_folder

LOG, LOCK, SNAPSHOTS, FILES = "log.db", "lock", "snapshots", "files"
CHECKPOINT_SECONDS = 60.0


class Service:
    """The models in a folder; one process at a time has it."""

    def __init__(
        self,
        folder: str | Path,
        limits: Limits = Limits(),  # noqa: B008
        *,
        checkpoint_seconds: float = CHECKPOINT_SECONDS,
    ) -> None:
        self.folder, self.limits = Path(folder), limits
        self._checkpoint_seconds = checkpoint_seconds
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = locked(self.folder / LOCK)
        (self.folder / FILES).mkdir(exist_ok=True)
        self.log = Log(self.folder / LOG, self._admit, self._follow)
        self.served_models: dict[str, ServedModel] = {}
        self.loading: frozenset[str] = frozenset()  # names of new files
        self._deleting = threading.Lock()
        self._remove_orphans()
        for name in sorted(self.log.models):
            self.served_models[name] = self._new_served(name)
            self.served_models[name].start(self.log)
        self.log.start()

    # --- learning -----------------------------------------------------------------------------

    def learn(self, name: str, body: Body, key: str | None = None, *, future: Any = None) -> Any:
        """Have rows learned; the future has a receipt when they are in the log on disk."""
        operation = self.to_learn(name, body, key)
        return self.log.submit(operation, Future() if future is None else future)

    def to_learn(self, name: str, body: Body, key: str | None = None) -> Learn:
        """The operation that has rows learned."""
        champion = self.champion(name)
        if self.is_behind(name):
            raise BusyError(
                f"{self.served(name).backlog:,} rows are waiting to be learned; try again in a "
                f"moment."
            )
        body = champion.understood(body)
        rows = ready = None
        if champion.takes_a_while(body) or not champion.can_join(body):
            rows, ready = self._checked(name, body)
        digest = None if key is None else hashlib.sha256(body.data).digest()
        return Learn(name, body, key, digest, rows, ready)

    def is_behind(self, name: str) -> bool:
        """Whether more has come than may wait to be learned."""
        return self.served(name).backlog > self.limits.backlog

    def remember(self, name: str, rows: list[tuple[str, Body, Any]]) -> None:
        """Remember predictions by their ids; nobody waits for it."""
        labels, future = self.served(name).labels, Future[None]()
        labels.asked += len(rows)
        future.add_done_callback(lambda done: labels.note_remembered(len(rows), done.exception()))
        self.log.submit(Remember(name, rows, self.limits.asked), future)

    def label(self, name: str, labels: dict[str, Any]) -> dict[str, Any]:
        """Have rows learned that were predicted earlier, now that their labels are known."""
        champion, served = self.champion(name), self.served(name)
        found = self.log.do(Find(name, list(labels)))
        new = [asked for asked in found.values() if asked.seq is None]
        unknown = [id for id in labels if id not in found]
        if not found:
            served.labels.unknown += len(unknown)
            raise NotFoundError(f"no prediction is remembered by {unknown[0]!r}.")
        seq = None
        bodies = [labelled(asked.body, labels[asked.id], champion.label) for asked in new]
        for format in {body.format for body in bodies}:
            part = [n for n, body in enumerate(bodies) if body.format == format]
            body = Body(format, b"".join(bodies[n].data for n in part))
            rows = champion.check(body, self.limits).rows
            seq = self.log.do(Label(name, [new[n].id for n in part], body, rows)).seq
        served.labels.unknown += len(unknown)
        for asked in new:
            served.labels.note(asked, labels[asked.id])
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
        """Look at rows of one model and format: all at once, or, if some are wrong, one by one."""
        bodies = [operations[n].body for n in members]
        counts = [body.data.count(b"\n") for body in bodies]
        try:
            n_rows, ready = self._checked(name, joined(bodies))
            if n_rows == sum(counts):
                for n, rows in zip(members, counts, strict=True):
                    operations[n].note(rows, ready)
                return
        except RarefyError:
            pass  # whose it is will be found
        for n in members:
            try:
                rows, ready = self._checked(name, operations[n].body)
                operations[n].note(rows, ready)
            except RarefyError as error:
                refused[n] = error

    def _checked(self, name: str, body: Body) -> tuple[int, Ready | None]:
        """How many rows there are to learn, and, unless many are waiting, the rows as read."""
        ready = self.champion(name).check(body, self.limits)
        return ready.rows, ready if self.served(name).keeps_ready else None

    def _follow(self, entries: Sequence[Entry]) -> None:
        by_model: dict[str, list[Entry]] = {}
        for entry in entries:
            by_model.setdefault(entry.model, []).append(entry)
        for name, found in by_model.items():
            served = self.served_models.get(name)
            if served is None:
                if name not in self.log.models:
                    continue  # deleted in the same group
                served = self._new_served(name)
                served.start(self.log)  # which reads what has just been written
                self.served_models[name] = served
            else:
                served.follow(found)

    # --- models -------------------------------------------------------------------------------

    def served(self, name: str) -> ServedModel:
        served = self.served_models.get(name)
        if served is None:
            raise NotFoundError(f"there is no model {name!r}.")
        return served

    def champion(self, name: str) -> Member:
        champion = self.served(name).champion
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
            loaded_member(part).warm_up()
            part.rename(path)
            sync_folder(path.parent)
        except OSError as error:
            raise NoRoomError(f"the file cannot be kept: {error.strerror}.") from error
        finally:
            part.unlink(missing_ok=True)
        return sha

    def roll_back(self, name: str, seq: int) -> Receipt:
        """Let the champion be what it was in a snapshot; challengers stay what they are."""
        served = self.served(name)
        state = next((one for one in served.snapshots.listed() if one["seq"] == seq), None)
        if state is None:
            raise NotFoundError(f"the model {name!r} has no snapshot {seq}.")
        try:
            data = served.snapshots.file(seq, state["champion"]).read_bytes()
        except OSError as error:  # it may have been the oldest
            raise NotFoundError(f"the snapshot {seq} cannot be read: {error.strerror}.") from error
        return self.load(name, data)

    def challenge(self, name: str, challenger: str, parameters: dict[str, Any]) -> Receipt:
        """Let another model learn the same rows, in the shadow."""
        self._new_challenger(name, challenger)
        self.champion(name).challenger(parameters)
        said = {"name": challenger, "parameters": parameters}
        return self._done(name, Change(name, CHALLENGE, said))

    def _new_challenger(self, name: str, challenger: str) -> str:
        check_name("challenger", challenger)
        members = self.served(name).members
        if challenger in members:
            raise ConflictError(f"the model {name!r} has a member {challenger!r} already.")
        if len(members) > self.limits.challengers:
            raise ConflictError(f"there are {self.limits.challengers} challengers already.")
        return challenger

    def drop(self, name: str, challenger: str) -> Receipt:
        self._check_challenger(name, challenger)
        receipt = self._done(name, Change(name, DROP, {"name": challenger}))
        if challenger in self.served(name).members:
            raise ConflictError(f"{challenger!r} has become the champion in the meantime.")
        return receipt

    def promote(self, name: str, challenger: str, *, by_rule: bool = False) -> Receipt:
        """Let a challenger answer; the champion goes on as a challenger, so it can be undone."""
        self._check_challenger(name, challenger)
        said = {"name": challenger, **({"by": RULE} if by_rule else {})}
        receipt = self._done(name, Change(name, PROMOTE, said))
        if challenger not in self.served(name).members:
            raise NotFoundError(f"{challenger!r} has been dropped in the meantime.")
        return receipt

    def _check_challenger(self, name: str, challenger: str) -> None:
        served = self.served(name)
        if challenger not in served.members:
            raise NotFoundError(f"the model {name!r} has no member {challenger!r}.")
        if challenger == served.champion_name:
            raise ConflictError(f"{challenger!r} is the champion.")

    def delete(self, name: str) -> None:
        """Let a model go; until all of it has gone, no other can have its name."""
        with self._deleting:
            served = self.served(name)
            if (self.folder / f"{name}.model").exists():
                raise ConflictError(f"{name}.model is in the folder; remove the file first.")
            self.log.leaving.add(name)
            try:
                self.log.do(Delete(name))
                del self.served_models[name]
                served.close(snapshot=False)
                shutil.rmtree(self.folder / SNAPSHOTS / name, ignore_errors=True)
            finally:
                self.log.leaving.discard(name)

    def _done(self, name: str, operation: Operation) -> Receipt:
        """The receipt of a change, once it has come into effect."""
        receipt: Receipt = self.log.do(operation)
        until = time.monotonic() + self.limits.seconds
        while self.served(name).seq < receipt.seq and time.monotonic() < until:
            time.sleep(0.001)
        return receipt

    def file(self, name: str) -> bytes:
        """The champion as a model file."""

        def saved(served: ServedModel) -> bytes:
            champion = self.champion(name)
            path = self.folder / FILES / f"{name}.{threading.get_ident()}.download"
            try:
                champion.save(path)
                return path.read_bytes()
            except (InputError, OSError) as error:
                why = str(error).replace(str(path), "the file")
                raise NoRoomError(why) from error
            finally:
                path.unlink(missing_ok=True)

        data: bytes = self.ask(name, saved)
        return data

    def ask(self, name: str, function: Callable[[ServedModel], Any]) -> Any:
        """What a function finds out about a model, while that does not learn."""
        served = self.served(name)
        return served.ask(lambda: function(served)).result(self.limits.seconds)

    def _new_served(self, name: str) -> ServedModel:
        snapshots = Snapshots(self.folder / SNAPSHOTS / name)
        snapshots.tidy(since=self.log.models[name])
        files = self.folder / FILES
        return ServedModel(name, files, snapshots, self.limits, self._checkpoint_seconds)

    # --- the folder ---------------------------------------------------------------------------

    def _remove_orphans(self) -> None:
        """What a deleted model has left behind, if it was deleted at the last moment."""
        folder = self.folder / SNAPSHOTS
        for path in folder.iterdir() if folder.exists() else ():
            if path.name not in self.log.models:
                shutil.rmtree(path)

    def wait(self, seconds: float = 60.0) -> bool:
        """Wait until all that has come is learned; whether it is."""
        return wait_for(list(self.served_models.values()), seconds)

    def close(self) -> None:
        """Learn what has come, write snapshots, and let the folder go."""
        self.log.close()
        for served in self.served_models.values():
            served.close(snapshot=True)
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
