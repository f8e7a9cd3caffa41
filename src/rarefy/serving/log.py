"""The log: all requests that change a model, in one order, on disk before they are answered.

It is a database of SQLite in WAL mode with synchronous=FULL. One thread writes: what has come while
it was writing is the next group, which is one transaction, and so one wait for the disk.
"""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

from rarefy.errors import RarefyError
from rarefy.serving.bodies import Body, decode_json
from rarefy.serving.refusals import BusyError, ConflictError, NoRoomError, NotFoundError, bare

SCHEMA = """
CREATE TABLE IF NOT EXISTS entries (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, model TEXT NOT NULL, kind TEXT NOT NULL,
    at REAL NOT NULL, rows INTEGER NOT NULL, format TEXT NOT NULL, body BLOB NOT NULL,
    key TEXT, digest BLOB
);
CREATE INDEX IF NOT EXISTS entries_of_model ON entries (model, seq);
CREATE UNIQUE INDEX IF NOT EXISTS entries_by_key ON entries (model, key) WHERE key IS NOT NULL;
CREATE TABLE IF NOT EXISTS models (name TEXT PRIMARY KEY, since INTEGER NOT NULL, source TEXT);
CREATE TABLE IF NOT EXISTS asked (
    number INTEGER PRIMARY KEY AUTOINCREMENT, model TEXT NOT NULL, id TEXT NOT NULL,
    at REAL NOT NULL, format TEXT NOT NULL, body BLOB NOT NULL, answer BLOB NOT NULL, seq INTEGER,
    UNIQUE (model, id)
);
CREATE INDEX IF NOT EXISTS asked_of_model ON asked (model, number);
"""
GROUP_BYTES = 16 << 20  # of one transaction
SMALL = 1000  # bytes
PAGE_BYTES = 1 << 14  # four times the usual: long bodies take half of the time
COLUMNS = "seq, model, kind, at, rows, format, body"
LEARN, CREATE, LOAD, CHALLENGE, DROP, PROMOTE = (
    *("learn", "create", "load", "challenge", "drop", "promote"),
)


class Entry(NamedTuple):
    """What happened to a model: rows to learn, or a change that is described in JSON."""

    seq: int
    model: str
    kind: str
    at: float
    rows: int
    body: Body
    ready: Any = None  # the rows as they were read, together with those of its neighbours


class Receipt(NamedTuple):
    """Where something is in the log, and whether it had been there before."""

    seq: int
    rows: int
    repeated: bool = False


class Operation:
    """Something to be written; it is done in the thread that writes, inside a transaction."""

    __slots__ = ()

    @property
    def n_bytes(self) -> int:
        """About how much it writes."""
        return SMALL

    def carry_out(self, log: "Log", at: float) -> tuple[Any, Entry | None]:
        """What is to be answered, and what was added to the log; refused before it is begun."""
        raise NotImplementedError


class Log:
    """A log in a file.

    `admit` looks at operations before they are written, and may complete or refuse them.

    `follow` gets the entries of a group when they are on disk, before anyone is answered.
    """

    def __init__(
        self,
        path: Path,
        admit: Callable[[list[Operation]], dict[int, Exception]],
        follow: Callable[[Sequence[Entry]], None],
    ) -> None:
        self.path = path
        self._admit, self._follow = admit, follow
        self.db = self._connected()
        self.db.execute(f"PRAGMA page_size = {PAGE_BYTES}")  # of a file that is new
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("PRAGMA synchronous = FULL")
        self.db.executescript(SCHEMA)
        self.models: dict[str, int] = dict(self.db.execute("SELECT name, since FROM models"))
        self.leaving: set[str] = set()  # models that are being deleted
        self._waiting: SimpleQueue[tuple[Operation, Any] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="log", daemon=True)
        self._closed = False
        self.n_groups = self.n_entries = 0
        self.n_remembered: dict[str, int] = {}  # predictions by model, since old ones went

    def _connected(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)

    def start(self) -> None:
        self._thread.start()

    def submit(self, operation: Operation, future: Any) -> Any:
        """Have something written; the future (of asyncio, or of threads) gets the answer."""
        self.check_is_open()
        self._waiting.put((operation, future))
        return future

    def check_is_open(self) -> None:
        if self._closed:
            raise BusyError("the service is about to end; try again in a moment.")

    def do(self, operation: Operation) -> Any:
        """Have something written, and wait for it; not to be called by the thread of a loop."""
        return self.submit(operation, Future()).result()

    def close(self) -> None:
        """Write what has come, and end."""
        self._closed = True
        self._waiting.put(None)
        if self._thread.ident is not None:
            self._thread.join()
        self.db.close()

    # --- the thread that writes ---------------------------------------------------------------

    def _write(self) -> None:
        group: list[tuple[Operation, Any]] | None
        while (group := self._next_group()) is not None:
            outcomes = self._written([operation for operation, _ in group])
            deliver([future for _, future in group], outcomes)
            del group, outcomes  # they may be large, and the next may be long in coming

    def _next_group(self) -> list[tuple[Operation, Any]] | None:
        first = self._waiting.get()
        if first is None:
            return None
        group, n_bytes = [first], first[0].n_bytes
        while n_bytes < GROUP_BYTES and not self._waiting.empty():
            item = self._waiting.get()
            if item is None:
                self._waiting.put(None)  # the end comes after this group
                break
            group.append(item)
            n_bytes += item[0].n_bytes
        return group

    def _written(self, operations: list[Operation]) -> list[Any]:
        """The answer, or the error, of each operation, once all are on disk."""
        outcomes: list[Any] = [None] * len(operations)
        entries: list[Entry] = []
        models = dict(self.models)
        try:
            refused = self._admit(operations)
            at = time.time()
            self.db.execute("BEGIN IMMEDIATE")
            for n, operation in enumerate(operations):
                if n in refused:
                    outcomes[n] = refused[n]
                    continue
                try:
                    outcomes[n], entry = operation.carry_out(self, at)
                except (NotFoundError, ConflictError) as error:
                    outcomes[n] = error
                    continue
                if entry is not None:
                    entries.append(entry)
            self.db.execute("COMMIT")
        except Exception as error:
            with suppress(sqlite3.Error):
                self.db.execute("ROLLBACK")
            self.models = models
            if isinstance(error, sqlite3.Error):
                error = NoRoomError(f"the log cannot be written ({error}); nothing was learned.")
            return [error] * len(operations)
        self.n_groups += 1
        self.n_entries += len(entries)
        self._follow(entries)
        return outcomes

    def add(
        self,
        at: float,
        model: str,
        kind: str,
        rows: int,
        body: Body,
        key: str | None = None,
        digest: bytes | None = None,
        ready: Any = None,
    ) -> Entry:
        """Add an entry; only operations do so."""
        found = self.db.execute(
            "INSERT INTO entries (model, kind, at, rows, format, body, key, digest) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (model, kind, at, rows, body.format, body.data, key, digest),
        )
        assert found.lastrowid is not None
        return Entry(found.lastrowid, model, kind, at, rows, body, ready)

    # --- what anyone may read -----------------------------------------------------------------

    def entries(self, model: str, after: int = 0, until: int | None = None) -> Iterator[Entry]:
        """The entries of a model behind a place in the log, in order."""
        yield from entries_in(self.path, model, after, until)

    def read(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """What is on disk now."""
        db = sqlite3.connect(f"file:{self.path}?mode=ro", uri=True)
        try:
            return db.execute(query, values).fetchall()
        finally:
            db.close()

    def last_of(self, model: str) -> int:
        """The last entry of a model; 0 if there is none."""
        return self.read("SELECT max(seq) FROM entries WHERE model = ?", (model,))[0][0] or 0

    def n_rows(self, model: str, after: int, until: int) -> int:
        """How many rows of a model there are behind a place in the log, up to another."""
        query = "SELECT sum(rows) FROM entries WHERE model = ? AND seq > ? AND seq <= ?"
        return self.read(query, (model, after, until))[0][0] or 0

    def last_before(self, model: str, at: float) -> int:
        """The last entry of a model that came before a time."""
        query = "SELECT seq FROM entries WHERE model = ? AND at >= ? ORDER BY seq LIMIT 1"
        found = self.read(query, (model, at))
        return found[0][0] - 1 if found else self.last_of(model)

    def last_beyond(self, model: str, n_bytes: int) -> int:
        """The last entry of a model that has so many bytes of entries behind it, or is one more."""
        query = (
            "SELECT max(seq) FROM (SELECT seq, sum(length(body)) OVER (ORDER BY seq DESC) AS size "
            "FROM entries WHERE model = ?) WHERE size > ?"
        )
        return self.read(query, (model, n_bytes))[0][0] or 0

    def files(self) -> set[str]:
        """The model files that entries name."""
        query = "SELECT body FROM entries WHERE kind = ?"
        return {decode_json(body)["sha256"] for (body,) in self.read(query, (LOAD,))}


def entries_in(path: Path, model: str, after: int = 0, until: int | None = None) -> Iterator[Entry]:
    """The entries of a model in a log, which may be in use."""
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        while True:
            rows = db.execute(
                f"SELECT {COLUMNS} FROM entries WHERE model = ? AND seq > ? AND seq <= ? "
                "ORDER BY seq LIMIT 64",
                (model, after, (1 << 62) if until is None else until),
            ).fetchall()
            for seq, name, kind, at, n_rows, format, body in rows:
                yield Entry(seq, name, kind, at, n_rows, Body(format, body))
            if not rows:
                return
            after = rows[-1][0]
    finally:
        db.close()


def deliver(futures: Sequence[Any], outcomes: Sequence[Any]) -> None:
    """Give futures their results; those of a loop of asyncio all at once."""
    by_loop: dict[Any, list[tuple[Any, Any]]] = {}
    for future, outcome in zip(futures, outcomes, strict=True):
        loop = None if isinstance(future, Future) else future.get_loop()
        by_loop.setdefault(loop, []).append((future, outcome))
    for loop, pairs in by_loop.items():
        if loop is None:
            _settle(pairs)
        else:
            with suppress(RuntimeError):  # of a loop that is closed
                loop.call_soon_threadsafe(_settle, pairs)


def _settle(pairs: Sequence[tuple[Any, Any]]) -> None:
    for future, outcome in pairs:
        if future.done():
            continue  # whoever asked has gone
        if isinstance(outcome, Exception):
            future.set_exception(bare(outcome) if isinstance(outcome, RarefyError) else outcome)
        else:
            future.set_result(outcome)
