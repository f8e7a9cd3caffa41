"""Prefetching in threads: while one batch is learned, the next ones are read and parsed."""

import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import count
from queue import SimpleQueue
from typing import Any, Generic, NamedTuple, TypeVar

from rarefy.system.deferred_signals import Deferral

T = TypeVar("T")
S = TypeVar("S")
WORKERS = 2
READY_ITEMS = 8  # how many items of ordinary size are being made, or wait, at most
PATIENCE = 0.5  # seconds that threads are given to end; one may wait for a pipe that says nothing


class Job(NamedTuple, Generic[T]):
    """What makes an item, and the size of that, where an ordinary one has 1."""

    make: Callable[[], T]
    size: int = 1

    def then(self, work: Callable[[T], S]) -> "Job[S]":
        """A job that also does some work on what this one makes."""
        return Job(lambda: work(self.make()), self.size)


END = Job(lambda: None)


class _Window:
    """The items between the one that is being used and the last one that was begun.

    Who uses them may be the main thread, where a signal may raise an exception at any moment. It
    has no locks, therefore, but two queues, which are never left half changed.
    """

    def __init__(self, jobs: Iterator[Job[Any]]) -> None:
        self._jobs = jobs
        self._taking = threading.Lock()  # of the workers; who has it counts what is begun
        self._n_begun = 0
        self._sizes: dict[int, int] = {}  # of the items that are begun and not used
        self._used: SimpleQueue[int | None] = SimpleQueue()  # None: no more are wanted
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
                    self._made.put((number, END if job is END else job.make(), None))
            except BaseException as error:
                self._wanted = False
                self._made.put((number, None, error))

    def _next_job(self) -> Job[Any] | None:
        """The next one, when there is room for what it makes; too large a one has to be alone."""
        self._wait_until(lambda: len(self._sizes) < READY_ITEMS)
        if not self._wanted:
            return None
        job = next(self._jobs, END)
        if job is END:
            self._wanted = False
            return END
        self._wait_until(
            lambda: not self._sizes or sum(self._sizes.values()) + job.size <= READY_ITEMS
        )
        self._sizes[self._n_begun] = job.size
        self._n_begun += 1
        return job if self._wanted else None

    def _wait_until(self, is_met: Callable[[], bool]) -> None:
        """Until items were used such that a condition is met, or none are wanted."""
        while self._wanted and not is_met():
            number = self._used.get()
            if number is not None:
                del self._sizes[number]

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
            self._used.put(number)

    def stop(self) -> None:
        self._wanted = False
        self._used.put(None)


def prefetched(jobs: Iterable[Job[T]]) -> Generator[T]:
    """What the jobs give, in their order, made in other threads.

    Jobs are fetched one at a time, and run side by side. An item may be used until the next one is
    asked for; until then at most READY_ITEMS are begun, itself included, and fewer large ones.
    """
    window = _Window(iter(jobs))
    threads = [
        threading.Thread(target=window.work, name=f"rarefy-reader-{n}", daemon=True)
        for n in range(WORKERS)
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
