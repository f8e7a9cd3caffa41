"""Work ahead in threads: while one batch is learned, the next ones are read and parsed."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

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
        """The same with some more work on what was made."""
        return Job(lambda: work(self.make()), self.size)


class _Window:
    """The items between the one that is being used and the last one that was begun."""

    def __init__(self, jobs: Iterator[Job[Any]]) -> None:
        self._jobs = jobs
        self._taking = threading.Lock()
        self._changed = threading.Condition()
        self._n_begun = 0
        self._n_used = 0
        self._sizes: dict[int, int] = {}  # of the items that are begun and not used
        self._results: dict[int, tuple[Any, BaseException | None]] = {}
        self._end: int | None = None  # how many items there are, once that is known
        self._wanted = True

    def work(self) -> None:
        """Make items until there are no more, or none are wanted."""
        while True:
            with self._taking:
                with self._changed:
                    self._changed.wait_for(
                        lambda: self._n_begun < self._n_used + READY_ITEMS or not self._wanted
                    )
                    if not self._wanted or self._end is not None:
                        return
                    number = self._n_begun
                    self._n_begun += 1
                try:
                    job = next(self._jobs, None)
                except BaseException as error:
                    self._done(number, None, error)
                    return
                if job is None:
                    with self._changed:
                        self._end = number
                        self._changed.notify_all()
                    return
                if not self._may_begin(number, job.size):
                    return
            try:
                self._done(number, job.make(), None)
            except BaseException as error:
                self._done(number, None, error)
                return

    def _may_begin(self, number: int, size: int) -> bool:
        """Wait until there is room for an item; one that is too large has to be alone."""
        with self._changed:
            self._changed.wait_for(
                lambda: (
                    sum(self._sizes.values()) + size <= READY_ITEMS
                    or not self._sizes
                    or not self._wanted
                )
            )
            self._sizes[number] = size
            return self._wanted

    def _done(self, number: int, item: Any, error: BaseException | None) -> None:
        with self._changed:
            self._results[number] = item, error
            if error is not None:
                self._end = min(number + 1, self._end or number + 1)
            self._changed.notify_all()

    def items(self) -> Iterator[Any]:
        """The items in order; the error of the first that failed comes in its place."""
        while True:
            with self._changed:
                self._changed.wait_for(
                    lambda: self._n_used in self._results or self._n_used == self._end
                )
                if self._n_used not in self._results:
                    return
                item, error = self._results.pop(self._n_used)
            if error is not None:
                raise error
            yield item
            with self._changed:
                del self._sizes[self._n_used]
                self._n_used += 1
                self._changed.notify_all()

    def stop(self) -> None:
        with self._changed:
            self._wanted = False
            self._changed.notify_all()


def ahead(jobs: Iterable[Job[T]]) -> Iterator[T]:
    """What the jobs give, in their order, made in other threads.

    Jobs are fetched one at a time, and run side by side. An item may be used until the next one is
    asked for; until then at most READY_ITEMS are begun, itself included, and fewer large ones.
    """
    window = _Window(iter(jobs))
    threads = [
        threading.Thread(target=window.work, name=f"rarefy-reader-{n}", daemon=True)
        for n in range(WORKERS)
    ]
    for thread in threads:
        thread.start()
    try:
        yield from window.items()
    finally:
        window.stop()
        deadline = time.monotonic() + PATIENCE
        for thread in threads:
            thread.join(max(deadline - time.monotonic(), 0.0))
