"""Batches that threads read, parse and prepare while earlier ones are learned."""

from collections.abc import Callable, Generator

from rarefy.engine.workers import n_cores
from rarefy.readers.batch import Batch
from rarefy.readers.prefetch import READY_ITEMS, WORKERS, prefetched
from rarefy.readers.reader import Reader
from rarefy.stores import Memory, Prepared, Store
from rarefy.streams.reused_memory import ReusedMemory


def never() -> bool:
    return False


def located(store: Store, prepared: Prepared, memory: Memory) -> Prepared:
    """What `Store.located` gives, where there is another core to do it; alone, it is no gain."""
    return store.located(prepared, memory) if n_cores() > 1 else prepared


def prepared_batches(
    reader: Reader,
    store: Store,
    finish: Callable[[Prepared], Prepared],
    are_kept: Callable[[], bool] = never,
    n_workers: int = WORKERS,
) -> Generator[Prepared]:
    """All batches of a reader, prepared for a store and finished, in so many threads.

    A batch is overwritten when others have come, unless it is in its own memory, as it is if
    `are_kept` said so before it came. Of those, more are read ahead: while a round of them is
    learned, the next one is read.
    """

    slots, entries = ReusedMemory(), ReusedMemory()  # whose blocks differ in size

    def work(batch: Batch) -> Prepared:
        is_kept = are_kept()
        prepared = store.prepare(batch, entries if is_kept else None)
        prepared = located(store, finish(prepared), slots)
        return prepared.with_own_rows() if is_kept else prepared

    jobs = (job.then(work) for job in reader.jobs(READY_ITEMS))
    return prefetched(jobs, lambda prepared: prepared.is_own, n_workers)
