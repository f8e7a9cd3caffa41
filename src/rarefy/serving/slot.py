"""A served model: its champion and challengers, which learn what the log says, in its order.

Only one thread changes it. What that thread does with an entry depends on the entries before it and
on nothing else, so that after a crash the same entries lead to the same bytes.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from rarefy.serving.asked import Asked
from rarefy.serving.bodies import BLOCK_BYTES, Body, decode_json
from rarefy.serving.limits import Limits
from rarefy.serving.log import CHALLENGE, CREATE, DROP, LEARN, LOAD, PROMOTE, Entry, Log
from rarefy.serving.member import Member
from rarefy.serving.refusals import BusyError
from rarefy.serving.snapshot_folder import Snapshot, Snapshots
from rarefy.serving.track_record import Rivalry, SinceSnapshot

FIRST = "first"  # what the member is called with which a model begins
PAUSE = 1e-5  # seconds, in which a prediction that waits gets its turn
RETRY = 5.0  # seconds after which a snapshot that failed is tried again


class Labels:
    """What became of predictions whose labels were to come later, since the start."""

    def __init__(self) -> None:
        self.asked = self.came = self.right = self.unknown = self.missing = 0
        self._seconds = 0.0

    def note(self, asked: Asked, label: Any) -> None:
        """A label has come; the answer of that time was right, or not."""
        self.came += 1
        self.right += str(asked.answer.get("prediction")) == str(label)
        self._seconds += time.time() - asked.at

    def figures(self) -> dict[str, Any]:
        mean = {"mean_delay": self._seconds / self.came} if self.came else {}
        counts = {name: n for name, n in vars(self).items() if not name.startswith("_")}
        return {**counts, **mean}


class Slot:
    """A model by its name, and the thread that it learns in."""

    def __init__(
        self, name: str, files: Path, snapshots: Snapshots, limits: Limits, every: float
    ) -> None:
        self.name, self.snapshots = name, snapshots
        self._files, self._limits, self._every = files, limits, every
        self.members: dict[str, Member] = {}
        self.champion_name = FIRST
        self.seq = 0  # of the last entry that was learned
        self.last = 0  # of the last entry that has come
        self.backlog = 0  # rows in the log that are not learned yet
        self.learned = self.predicted = 0  # rows since the start
        self.since_snapshot = SinceSnapshot()
        self.rivalries: dict[str, Rivalry] = {}
        self.labels = Labels()
        self.problem: str | None = None  # of the last snapshot
        self._waiting: deque[Entry | Callable[[], None]] = deque()
        self._something = threading.Condition()
        self._is_over = False
        self._saved_at, self._saved_seq = time.monotonic(), 0
        self._thread = threading.Thread(target=self._live, name=f"learn {name}", daemon=True)

    @property
    def champion(self) -> Member | None:
        """Who answers; nobody, as long as the first entry is on its way."""
        return self.members.get(self.champion_name)

    # --- from any thread ----------------------------------------------------------------------

    def start(self, log: Log) -> None:
        """Take up what the newest snapshot says, and learn what came after it in the log."""
        found = self.snapshots.newest()
        if found is not None:
            self.seq = self._saved_seq = self.last = found.seq
            self.champion_name, self.members = found.champion, dict(found.members)
            self.since_snapshot.begin(found.members[found.champion])
        self.last, self.backlog = log.end_of(self.name, self.seq)
        self._old = log.entries(self.name, self.seq, self.last)
        self._thread.start()

    def follow(self, entries: Sequence[Entry]) -> None:
        """Learn what has come to the log."""
        with self._something:
            self.last = entries[-1].seq
            self.backlog += sum(entry.rows for entry in entries)
            self._waiting.extend(entries)
            self._something.notify()

    def ask(self, function: Callable[[], Any]) -> "Future[Any]":
        """Have something done by the thread that learns, while it does not."""
        future: Future[Any] = Future()

        def work() -> None:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(function())
                except Exception as error:
                    future.set_exception(error)

        with self._something:
            if self._is_over:
                raise BusyError("the model is about to be closed.")
            self._waiting.appendleft(work)
            self._something.notify()
        return future

    def close(self, *, snapshot: bool) -> None:
        """Write a snapshot, and end; what is not learned yet is in the log."""
        with self._something:
            self._is_over, self._saves_at_end = True, snapshot
            self._something.notify()
        if self._thread.ident is not None:
            self._thread.join()

    # --- the thread that learns ---------------------------------------------------------------

    def _live(self) -> None:
        self._learn_all(self._old)
        while not self._is_over:
            with self._something:
                while not self._waiting and not self._is_over:
                    if not self._something.wait(self._time_to_snapshot()):
                        break
                entries = self._next_entries()
            self._do_what_was_asked()
            self._learn_all(entries)
            if self._time_to_snapshot() <= 0.0:
                self.snapshot()
        self._do_what_was_asked()
        if self._saves_at_end:
            self.snapshot()

    def _next_entries(self) -> Iterator[Entry]:
        """All that have come; what was asked stays."""
        jobs = [one for one in self._waiting if callable(one)]
        entries = [one for one in self._waiting if not callable(one)]
        self._waiting = deque(jobs)
        return iter(entries)

    def _learn_all(self, entries: Iterator[Entry]) -> None:
        """Learn entries, unless it is over: they are in the log, and will be learned next time."""
        for group in self._groups(entries):
            if self._is_over:
                return
            self._apply(group)
            self._do_what_was_asked()

    def _do_what_was_asked(self) -> None:
        while True:
            with self._something:
                if not self._waiting or not callable(self._waiting[0]):
                    return
                job: Any = self._waiting.popleft()
            job()

    def _groups(self, entries: Iterator[Entry]) -> Iterator[list[Entry]]:
        """Entries that are learned together, since that is faster, and the same to the bit."""
        group: list[Entry] = []
        size = 0
        for entry in entries:
            champion = self.champion
            joins = (
                group
                and entry.kind == LEARN
                and group[0].kind == LEARN
                and entry.body.format == group[0].body.format
                and size + len(entry.body.data) < BLOCK_BYTES
                and champion is not None
                and champion.can_join(entry.body)
            )
            if group and not joins:
                yield group
                group, size = [], 0
            group.append(entry)
            size += len(entry.body.data)
        if group:
            yield group

    def _apply(self, group: list[Entry]) -> None:
        entry = group[0]
        if entry.kind == LEARN:
            self._learn([one.body for one in group], entry.ready if len(group) == 1 else None)
        else:
            self._change(entry.kind, decode_json(entry.body.data))
        self.seq = group[-1].seq
        n_rows = sum(one.rows for one in group)
        with self._something:
            self.backlog -= n_rows
        self.learned += n_rows
        time.sleep(PAUSE)

    def _learn(self, bodies: list[Body], ready: Any) -> None:
        champion = self.champion
        if champion is not None:
            self.since_snapshot.look_at(bodies[0], champion)
        for member in self.members.values():
            member.learn(bodies, ready)
        self._compare()

    def _compare(self) -> None:
        fresh = {
            name: member.record.fresh()
            for name, member in self.members.items()
            if member.record is not None
        }
        champion = fresh.pop(self.champion_name, None)
        for name, rows in fresh.items():
            if champion is not None:
                self.rivalries.setdefault(name, Rivalry()).add(champion, rows)

    def _change(self, kind: str, said: dict[str, Any]) -> None:
        members = dict(self.members)
        if kind == CREATE:
            members[FIRST] = Member.created(said, self._limits)
        elif kind == LOAD:
            members[said.get("name", self.champion_name)] = self._loaded(said)
            self.rivalries.clear()
        elif kind == CHALLENGE and self.champion is not None:
            members[said["name"]] = self.champion.challenger(said["parameters"])
        elif kind == DROP:
            members.pop(said["name"], None)
            self.rivalries.pop(said["name"], None)
        elif kind == PROMOTE and said["name"] in members:
            self.champion_name = said["name"]
            self.rivalries.clear()
        self.members = members

    def _loaded(self, said: dict[str, Any]) -> Member:
        return Member.loaded(self._files / f"{said['sha256']}.model")

    # --- snapshots ----------------------------------------------------------------------------

    def _time_to_snapshot(self) -> float:
        if self.seq == self._saved_seq:
            return self._every
        return max(0.0, self._saved_at + self._every - time.monotonic())

    def snapshot(self) -> int | None:
        """Write a snapshot, if there is something new; the thread that learns does it."""
        if self.seq == self._saved_seq:
            return self._saved_seq
        if not self.members or not all(m.can_be_saved for m in self.members.values()):
            self._saved_at = time.monotonic()
            return None
        found = Snapshot(self.seq, self.champion_name, self.members, time.time())
        try:
            self.snapshots.write(found)
        except (OSError, ValueError) as error:
            self.problem = str(error)
            self._saved_at = time.monotonic() - self._every + RETRY
            return None
        self.problem = None
        self._saved_at, self._saved_seq = time.monotonic(), self.seq
        if self.champion is not None:
            self.since_snapshot.begin(self.champion)
        return self.seq

    @property
    def saved_seq(self) -> int:
        return self._saved_seq


def wait_for(slots: Sequence[Slot], seconds: float) -> bool:
    """Wait until all have learned what has come; whether they have."""
    until = time.monotonic() + seconds
    while any(slot.seq < slot.last for slot in slots) and time.monotonic() < until:
        time.sleep(0.005)
    return not any(slot.seq < slot.last for slot in slots)
