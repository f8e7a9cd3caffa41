"""The operations that the log records."""

from dataclasses import dataclass
from typing import Any

from rarefy.serving.bodies import Body, encode_json
from rarefy.serving.log import CREATE, LEARN, Entry, Log, Operation, Receipt
from rarefy.serving.refusals import ConflictError, NotFoundError


@dataclass(slots=True)
class Learn(Operation):
    """Rows to be learned, once for each key."""

    model: str
    body: Body
    key: str | None = None
    digest: bytes | None = None
    rows: int | None = None  # None: they have not been looked at yet
    ready: Any = None  # as they were read, also for others, if they are learned from it

    @property
    def n_bytes(self) -> int:
        return len(self.body.data)

    def note(self, rows: int, ready: Any) -> None:
        """The rows have been looked at, and can be learned."""
        self.rows, self.ready = rows, ready

    def carry_out(self, log: Log, at: float) -> tuple[Receipt, Entry | None]:
        check_model(log, self.model)
        if self.key is not None:
            found = log.db.execute(
                "SELECT seq, rows, digest FROM entries WHERE model = ? AND key = ?",
                (self.model, self.key),
            ).fetchone()
            if found is not None:
                if found[2] != self.digest:
                    raise ConflictError(
                        f"Idempotency-Key {self.key!r} was used with another body; give each "
                        f"request its own."
                    )
                return Receipt(found[0], found[1], repeated=True), None
        n_rows = self.rows or 0
        entry = log.add(at, self.model, LEARN, n_rows, self.body, self.key, self.digest, self.ready)
        return Receipt(entry.seq, n_rows), entry


@dataclass(frozen=True)
class Create(Operation):
    """A new model, by its parameters or as it is in a file, or another in the place of one."""

    model: str
    kind: str
    said: dict[str, Any]
    source: str | None = None  # the file that it was found in, by its content
    most: int = 1 << 30

    def carry_out(self, log: Log, at: float) -> tuple[Receipt, Entry | None]:
        if self.model in log.leaving:
            raise ConflictError(f"the model {self.model!r} is being deleted; try again.")
        is_new = self.model not in log.models
        body = Body("change", encode_json(self.said))
        if self.kind == CREATE and not is_new:
            since = log.models[self.model]
            query = "SELECT kind, body FROM entries WHERE seq = ?"
            if log.db.execute(query, (since,)).fetchone() == (CREATE, body.data):
                return Receipt(since, 0, repeated=True), None
            raise ConflictError(f"the model {self.model!r} exists already; delete it first.")
        if is_new and len(log.models) >= self.most:
            raise ConflictError(f"there are {self.most} models already, which is the limit.")
        entry = log.add(at, self.model, self.kind, 0, body)
        if is_new:
            log.models[self.model] = entry.seq
            log.db.execute(
                "INSERT INTO models (name, since) VALUES (?, ?)", (self.model, entry.seq)
            )
        if self.source is not None:
            log.db.execute("UPDATE models SET source = ? WHERE name = ?", (self.source, self.model))
        return Receipt(entry.seq, 0), entry


@dataclass(frozen=True)
class Change(Operation):
    """What is done to a model that exists: a challenger comes, goes, or is promoted."""

    model: str
    kind: str
    said: dict[str, Any]

    def carry_out(self, log: Log, at: float) -> tuple[Receipt, Entry]:
        check_model(log, self.model)
        entry = log.add(at, self.model, self.kind, 0, Body("change", encode_json(self.said)))
        return Receipt(entry.seq, 0), entry


@dataclass(frozen=True)
class Delete(Operation):
    """A model goes, with all that is in the log of it."""

    model: str

    def carry_out(self, log: Log, at: float) -> tuple[None, None]:
        check_model(log, self.model)
        del log.models[self.model]
        for table, column in (("models", "name"), ("entries", "model"), ("asked", "model")):
            log.db.execute(f"DELETE FROM {table} WHERE {column} = ?", (self.model,))
        return None, None


@dataclass(frozen=True)
class Forget(Operation):
    """Some entries of a model go, the oldest first, up to one; how many is told."""

    model: str
    until: int

    def carry_out(self, log: Log, at: float) -> tuple[int, None]:
        found = log.db.execute(
            "DELETE FROM entries WHERE seq IN (SELECT seq FROM entries "
            "WHERE model = ? AND seq <= ? ORDER BY seq LIMIT 1000)",
            (self.model, self.until),
        )
        return found.rowcount, None


def check_model(log: Log, model: str) -> None:
    if model not in log.models:
        raise NotFoundError(f"there is no model {model!r}.")
