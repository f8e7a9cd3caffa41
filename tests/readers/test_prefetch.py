"""What threads read ahead: how much, in which order, and what may be overwritten when."""

import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from rarefy.readers.prefetch import READY_ITEMS, READY_KEPT, Job, prefetched


def test_large_items_are_not_made_ahead():
    made, held, lock = [], [0], threading.Lock()

    def job(size: int) -> Job[int]:
        def make() -> int:
            with lock:
                held[0] += size
                made.append(held[0])
            return size

        return Job(make, size)

    sizes = [1] * 12 + [5, 5, 100, 3, 3, 3] + [1] * 5
    found = []
    for size in prefetched(map(job, sizes)):
        found.append(size)
        time.sleep(0.01)
        with lock:
            held[0] -= size
    assert found == sizes
    assert max(number for number in made if number < 100) <= READY_ITEMS
    assert max(made) == 100


def test_threads_that_go_on_are_not_waited_for():
    items = prefetched(map(Job, [lambda: 1, *[lambda: time.sleep(3)] * 2]))
    assert next(items) == 1
    begin = time.monotonic()
    items.close()
    assert time.monotonic() - begin < 0.9


def begun_while_the_first_is_used(*, is_kept: bool) -> int:
    """How many items are begun in the end, if one is used and never given back."""
    begun: list[int] = []
    jobs = (Job(lambda number=number: begun.append(number)) for number in range(1000))
    items = prefetched(jobs, lambda item: is_kept)
    next(items)
    n_begun = 0
    while n_begun != len(begun):
        n_begun = len(begun)
        time.sleep(0.1)
    items.close()
    return n_begun


def test_items_that_are_kept_are_read_further_ahead():
    assert begun_while_the_first_is_used(is_kept=False) == READY_ITEMS
    assert READY_KEPT <= begun_while_the_first_is_used(is_kept=True) <= READY_KEPT + READY_ITEMS


@pytest.mark.parametrize("seed", range(3))
def test_memory_is_used_again_when_nobody_needs_it(seed: int):
    """A job may write where the one before by READY_ITEMS has written: that one is used, or kept.

    Jobs take differently long, and any item may be kept, or be large.
    """
    random = np.random.default_rng(seed)
    n_items = 200
    are_kept = random.random(n_items) < random.random()
    sizes = random.choice([1, 1, 1, 3, 20], n_items).tolist()
    seconds = (random.random((2, n_items)) ** 8 * 0.02).tolist()
    memory = np.full(READY_ITEMS, -1)
    is_free = [True] * READY_ITEMS

    def make(number: int) -> int:
        time.sleep(seconds[0][number])
        memory[number % READY_ITEMS] = number
        if are_kept[number]:
            is_free[number % READY_ITEMS] = True
        return number

    def jobs() -> Iterator[Job[int]]:
        for number in range(n_items):
            assert is_free[number % READY_ITEMS]
            is_free[number % READY_ITEMS] = False
            yield Job(lambda number=number: make(number), sizes[number])

    for wanted, number in enumerate(prefetched(jobs(), lambda number: bool(are_kept[number]))):
        assert number == wanted
        time.sleep(seconds[1][number])
        if not are_kept[number]:
            assert memory[number % READY_ITEMS] == number
            is_free[number % READY_ITEMS] = True
    assert wanted == n_items - 1


def test_an_error_comes_in_the_place_of_the_item():
    def fail() -> int:
        raise ValueError("a bad item")

    items = prefetched([Job(lambda: 1), Job(lambda: 2), Job(fail), Job(lambda: 4)], lambda _: True)
    assert [next(items), next(items)] == [1, 2]
    with pytest.raises(ValueError, match="a bad item"):
        next(items)
