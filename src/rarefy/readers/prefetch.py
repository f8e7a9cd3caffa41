"""Prefetching in threads: while one batch is learned, the next ones are read and parsed."""

import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from itertools import count
from queue import SimpleQueue
from typing import Any, Generic, NamedTuple, TypeVar

from rarefy.system.deferred_signals import Deferral

T = TypeVar("T")
S = TypeVar("S")
WORKERS = 2  # threads, unless more are asked for; up to READY_ITEMS are of use
READY_ITEMS = 8  # how many items of ordinary size are being made, or wait, at most
READY_KEPT = 32  # … and wait in memory of their own
NONE = 1 << 62  # a number that no item has
PATIENCE = 0.5  # seconds that threads are given to end; one may wait for a pipe that says nothing


class Job(NamedTuple, Generic[T]):
    """What makes an item, and the size of that, where an ordinary one has 1."""

    make: Callable[[], T]
    size: int = 1

    def then(self, work: Callable[[T], S]) -> "Job[S]":
        """A job that also does some work on what this one makes."""
        return Job(lambda: work(self.make()), self.size)


END = Job(lambda: None)


def not_kept(item: object) -> bool:
    return False


class _Window:
    """The items between the one that is being used and the last one that was begun.

    Who uses them may be the main thread, where a signal may raise an exception at any moment. It
    has no locks, therefore, but two queues, which are never left half changed.
    """

    def __init__(self, jobs: Iterator[Job[Any]], is_kept: Callable[[Any], bool]) -> None:
        self._jobs = jobs
        self._is_kept = is_kept
        self._taking = threading.Lock()  # of the workers; who has it counts what is begun
        self._n_begun = 0
        # sizes of the items that are begun and not used, in their order
        self._lent: dict[int, int] = {}  # that are being made, or are in memory used in turn
        self._kept: dict[int, int] = {}  # that are made, and in memory of their own
        self._news: SimpleQueue[Callable[[], None] | None] = SimpleQueue()  # None: the end
        self._made: SimpleQueue[tuple[int, Any, BaseException | None]] = SimpleQueue()
        self._wanted = True

    def work(self) -> None:
        """Make items until there are no more, or none are wanted."""
        number = 0
        while self._wanted:
            try:
                with self._taking:
                    number = self._n_begun
                    job = self._next_job()
                if job is not None:
                    self._made.put((number, self._make(number, job), None))
            except BaseException as error:
                self._wanted = False
                self._made.put((number, None, error))

    def _make(self, number: int, job: Job[Any]) -> Any:
        if job is END:
            return END
        item = job.make()
        if self._is_kept(item):
            self._news.put(partial(self._keep, number))
        return item

    def _next_job(self) -> Job[Any] | None:
        """The next one, when there is room for what it makes; too large a one has to be alone."""
        self._wait_until(lambda: self._n_begun - min(self._lent, default=NONE) < READY_ITEMS)
        if not self._wanted:
            return None
        job = next(self._jobs, END)
        if job is END:
            self._wanted = False
            return END
        self._wait_until(lambda: self._has_room(job.size))
        self._lent[self._n_begun] = job.size
        self._n_begun += 1
        return job if self._wanted else None

    def _has_room(self, size: int) -> bool:
        return all(
            not sizes or sum(sizes.values()) + size <= most
            for sizes, most in ((self._lent, READY_ITEMS), (self._kept, READY_KEPT))
        )

    def _wait_until(self, is_met: Callable[[], bool]) -> None:
        """Until so many items were used, or kept, that a condition is met, or none are wanted."""
        while self._wanted and not is_met():
            take_note = self._news.get()
            if take_note is not None:
                take_note()

    def _keep(self, number: int) -> None:
        self._kept[number] = self._lent.pop(number)

    def _drop(self, number: int) -> None:
        (self._lent if number in self._lent else self._kept).pop(number)

    def items(self) -> Iterator[Any]:
        """The items in order; the error of the first that failed comes in its place."""
        made: dict[int, tuple[Any, BaseException | None]] = {}
        for number in count():
            while number not in made:
                which, item, error = self._made.get()
                made[which] = item, error
            item, error = made.pop(number)
            if item is END:
                return
            if error is not None:
                raise error
            yield item
            self._news.put(partial(self._drop, number))

    def stop(self) -> None:
        self._wanted = False
        self._news.put(None)


def prefetched(
    jobs: Iterable[Job[T]],
    is_kept: Callable[[T], bool] = not_kept,
    n_workers: int = WORKERS,
) -> Generator[T]:
    """What the jobs give, in their order, made in other threads.

    Jobs are fetched one at a time, and run side by side. An item may be used until the next one is
    asked for; until then the job that comes READY_ITEMS later is not fetched, or an even earlier
    one if items are large. An item that `is_kept` may be used for ever, and up to READY_KEPT of
    these wait beside the others.
    """
    window = _Window(iter(jobs), is_kept)
    threads = [
        threading.Thread(target=window.work, name=f"rarefy-reader-{n}", daemon=True)
        for n in range(n_workers)
    ]
    try:
        with Deferral():
            for thread in threads:
                thread.start()
        yield from window.items()
    finally:
        with Deferral():
            window.stop()
            _wait_for(threads)


def _wait_for(threads: list[threading.Thread]) -> None:
    deadline = time.monotonic() + PATIENCE
    for thread in threads:
        if thread.ident is not None:  # it was started
            thread.join(max(deadline - time.monotonic(), 0.0))
