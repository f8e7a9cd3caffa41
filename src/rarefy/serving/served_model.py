"""The champion and challengers under one name, which learn from the log in its order.

Only one thread changes it. What that thread does with an entry depends on the entries before it and
on nothing else, so that after a crash the same entries lead to the same bytes.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from rarefy.serving.bodies import BLOCK_BYTES, Body, decode_json
from rarefy.serving.limits import Limits
from rarefy.serving.log import CHALLENGE, CREATE, DROP, LEARN, LOAD, PROMOTE, Entry, Log
from rarefy.serving.member import Member
from rarefy.serving.pending_predictions import PendingPrediction
from rarefy.serving.refusals import BusyError
from rarefy.serving.snapshot_folder import Snapshot, Snapshots
from rarefy.serving.track_record import Rivalry, SinceSnapshot

RULE = "rule"  # who has promoted a challenger, if it was nobody by hand
FIRST = "first"  # what the member is called with which a model begins
MOST_READY = 50_000  # rows that wait to be learned in the form in which they were read, …
MOST_READY_ENTRIES = 100  # … and entries, since each may take a third of a megabyte
RETRY = 5.0  # seconds after which a snapshot that failed is tried again
log = logging.getLogger("rarefy.serve")


class Labels:
    """What became of predictions whose labels were to come later, since the start."""

    def __init__(self) -> None:
        self.asked = self.came = self.right = self.unknown = self.missing = self.lost = 0
        self._seconds = 0.0

    def note_remembered(self, n_rows: int, error: object) -> None:
        """Predictions are in the log's database, or could not be written there."""
        self.lost += n_rows if error is not None else 0

    def note(self, asked: PendingPrediction, label: Any) -> None:
        """A label has come; the answer of that time was right, or not."""
        self.came += 1
        self.right += str(asked.answer.get("prediction")) == str(label)
        self._seconds += time.time() - asked.at

    def figures(self) -> dict[str, Any]:
        mean = {"mean_delay": self._seconds / self.came} if self.came else {}
        counts = {name: n for name, n in vars(self).items() if not name.startswith("_")}
        return {**counts, **mean}


class ServedModel:
    """A model by its name, and the thread that it learns in."""

    def __init__(
        self, name: str, files: Path, snapshots: Snapshots, limits: Limits, every: float
    ) -> None:
        self.name, self.snapshots = name, snapshots
        self._files, self._limits, self._every = files, limits, every
        self.members: dict[str, Member] = {}
        self.champion_name = FIRST
        self.replaced: frozenset[str] = frozenset()  # champions, by hand
        self.seq = 0  # of the last entry that was learned
        self.last = 0  # of the last entry that has come
        self.backlog = 0  # rows in the log that are not learned yet
        self._n_ready = 0  # entries that wait with their rows as they were read
        self.learned = self.predicted = 0  # rows since the start
        self.since_snapshot = SinceSnapshot()
        self.rivalries: dict[str, Rivalry] = {}
        self.labels = Labels()
        self.problem: str | None = None  # of the last snapshot, or what has ended the thread
        self._waiting: list[Entry] = []
        self._jobs: deque[Callable[[], None]] = deque()  # which go before what is to be learned
        self._something = threading.Condition()
        self._is_over = False
        self._saved_at, self._saved_seq = time.monotonic(), 0
        self._thread = threading.Thread(target=self._live, name=f"learn {name}", daemon=True)

    @property
    def champion(self) -> Member | None:
        """Who answers; nobody, as long as the first entry is on its way."""
        return self.members.get(self.champion_name)

    @property
    def keeps_ready(self) -> bool:
        """Whether rows that come now may wait in the form in which they were read."""
        return self._n_ready < MOST_READY_ENTRIES and self.backlog < MOST_READY

    # --- from any thread ----------------------------------------------------------------------

    def start(self, log: Log) -> None:
        """Take up what the newest snapshot says, and learn what came after it in the log.

        That takes a while, in which nobody waits but who asks for this model.
        """
        self.last = self._old_until = log.last_of(self.name)
        self._log = log
        self._thread.start()

    @property
    def is_up_to_date(self) -> bool:
        """Whether all that has come is learned."""
        return self.champion is not None and self.seq >= self.last

    def follow(self, entries: Sequence[Entry]) -> None:
        """Learn what has come to the log."""
        with self._something:
            self.last = entries[-1].seq
            self.backlog += sum(entry.rows for entry in entries)
            self._n_ready += _n_ready(entries)
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
            self._jobs.append(work)
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
        try:
            self._follow_the_log()
        except Exception as error:  # what comes now is in the log, and learned at the next start
            log.error("model", exc_info=error, extra={"said": {"model": self.name}})
            self.problem = f"it has stopped learning ({error}); start the service again."
            with self._something:
                self._is_over = True
            self._do_what_was_asked()

    def _follow_the_log(self) -> None:
        self._take_up(self.snapshots.newest())
        self._learn_all(self._log.entries(self.name, self.seq, self._old_until))
        while not self._is_over:
            with self._something:
                while not self._waiting and not self._jobs and not self._is_over:
                    if not self._something.wait(self._time_to_snapshot()):
                        break
                entries, self._waiting = self._waiting, []
            self._do_what_was_asked()
            self._learn_all(iter(entries))
            if self._time_to_snapshot() <= 0.0:
                self.snapshot()
        self._do_what_was_asked()
        if self._saves_at_end:
            self.snapshot()

    def _take_up(self, found: Snapshot | None) -> None:
        """Be what a snapshot says; what came after it in the log is yet to be learned."""
        after = 0 if found is None else found.seq
        rows = self._log.n_rows(self.name, after, self._old_until)
        with self._something:
            self.backlog += rows
            self.last = max(self.last, after)
        if found is not None:
            self.seq = self._saved_seq = found.seq
            self.champion_name, self.replaced = found.champion, found.replaced
            self.since_snapshot.begin(found.members[found.champion])
            for member in found.members.values():
                member.warm_up_another()
            self._set_members(dict(found.members))

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
                if not self._jobs:
                    return
                job = self._jobs.popleft()
            job()

    def _groups(self, entries: Iterator[Entry]) -> Iterator[list[Entry]]:
        """Entries that are learned together, since that is faster, and the same to the bit."""
        group: list[Entry] = []
        size = 0
        for entry in entries:
            size += len(entry.body.data)
            if group and not self._are_learned_together(group[0], entry, size):
                yield group
                group, size = [], len(entry.body.data)
            group.append(entry)
        if group:
            yield group

    def _are_learned_together(self, first: Entry, entry: Entry, size: int) -> bool:
        if entry.kind != LEARN or first.kind != LEARN:
            return False
        if entry.ready is not None or first.ready is not None:
            return entry.ready is first.ready
        champion = self.champion
        return (
            entry.body.format == first.body.format
            and size < BLOCK_BYTES
            and champion is not None
            and champion.can_join(entry.body)
        )

    def _apply(self, group: list[Entry]) -> None:
        entry = group[0]
        n_rows = sum([one.rows for one in group])
        if entry.kind == LEARN:
            is_whole = entry.ready is not None and entry.ready.rows == n_rows
            self._learn([one.body for one in group], entry.ready if is_whole else None)
        else:
            self._change(entry.kind, decode_json(entry.body.data))
        self.seq = group[-1].seq
        with self._something:
            self.backlog -= n_rows
            self._n_ready -= _n_ready(group)
        self.learned += n_rows

    def _learn(self, bodies: list[Body], ready: Any) -> None:
        champion = self.champion
        if champion is not None:
            self.since_snapshot.look_at(bodies[0], champion)
        for member in self.members.values():
            member.learn(bodies, ready)
        self._compare()

    def _compare(self) -> None:
        if len(self.members) < 2:
            return
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
        """What was possible when it was asked for may have been overtaken, and is left then."""
        members, name = dict(self.members), said.get("name", self.champion_name)
        is_new, is_champion = name not in members, name == self.champion_name
        if kind == CREATE:
            members[FIRST] = Member.created(said, self._limits)
        elif kind == LOAD and (is_new or "name" not in said):
            members[name] = self._loaded(said)
            self.rivalries.clear()
        elif kind == CHALLENGE and is_new and self.champion is not None:
            members[name] = self.champion.challenger(said["parameters"])
        elif kind == DROP and not is_champion:
            members.pop(name, None)
            self.rivalries.pop(name, None)
            self.replaced -= {name}
        elif kind == PROMOTE and not is_new:
            self._note_promotion(name, by_rule=said.get("by") == RULE)
            self.champion_name = name
            self.rivalries.clear()
        self._set_members(members)

    def _set_members(self, members: dict[str, Member]) -> None:
        """Let these be the members; one that is alone is compared with nobody."""
        for member in members.values():
            if member.record is not None:
                member.record.compare(wanted=len(members) > 1)
        self.members = members

    def _note_promotion(self, name: str, *, by_rule: bool) -> None:
        """Whoever is replaced by hand is not promoted by the rule again."""
        if not by_rule:
            self.replaced = (self.replaced | {self.champion_name}) - {name}

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
        found = Snapshot(self.seq, self.champion_name, self.members, self.replaced, time.time())
        try:
            self.snapshots.write(found)
        except (OSError, ValueError) as error:
            self.problem = str(error).replace(f"{self.snapshots.folder}/", "")
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


def _n_ready(entries: Sequence[Entry]) -> int:
    return sum([entry.ready is not None for entry in entries])


def wait_for(served_models: Sequence[ServedModel], seconds: float) -> bool:
    """Wait until all have learned what has come; whether they have."""
    until = time.monotonic() + seconds
    while not all(served.is_up_to_date for served in served_models) and time.monotonic() < until:
        time.sleep(0.005)
    return all(served.is_up_to_date for served in served_models)
