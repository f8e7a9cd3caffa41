"""Work ahead in a thread: while one batch is learned, the next ones are read and parsed."""

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
READY_ITEMS = 4  # how many finished items wait at most


def ahead(items: Iterable[T]) -> Iterator[T]:
    """The same items in the same order, made in another thread; errors come through in place."""
    ready: queue.Queue[tuple[T | None, BaseException | None]] = queue.Queue(READY_ITEMS)
    wanted = threading.Event()
    wanted.set()

    def put(item: T | None, error: BaseException | None) -> None:
        while wanted.is_set():
            try:
                return ready.put((item, error), timeout=0.1)
            except queue.Full:
                continue

    def work() -> None:
        try:
            for item in items:
                put(item, None)
                if not wanted.is_set():
                    return
            put(None, None)
        except BaseException as error:
            put(None, error)

    thread = threading.Thread(target=work, name="rarefy-reader", daemon=True)
    thread.start()
    try:
        while True:
            item, error = ready.get()
            if error is not None:
                raise error
            if item is None:
                return
            yield item
    finally:
        wanted.clear()
        thread.join()
