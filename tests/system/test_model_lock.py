"""The lock of a model, and the number by which others see that it was taken."""

import copy
import pickle
import threading

from rarefy.system.model_lock import ModelLock


def test_turns_are_odd_while_it_is_held():
    lock = ModelLock()
    assert lock.turns[0] == 0
    with lock:
        assert lock.turns[0] == 1
        with lock:  # taken again by its owner
            assert lock.turns[0] == 1
            assert lock.next_turn == 2
        assert lock.turns[0] == 1
    assert lock.turns[0] == 2


def test_it_is_given_back_after_an_error():
    lock = ModelLock()
    try:
        with lock:
            raise ValueError
    except ValueError:
        pass
    assert lock.turns[0] == 2
    assert taken_by_another_thread(lock)


def test_others_wait():
    lock = ModelLock()
    with lock:
        assert not taken_by_another_thread(lock)
    assert taken_by_another_thread(lock)


def test_a_copy_is_a_lock_of_its_own():
    lock = ModelLock()
    with lock:
        for other in (copy.copy(lock), copy.deepcopy(lock), pickle.loads(pickle.dumps(lock))):
            assert other.turns[0] == 0
            assert taken_by_another_thread(other)


def taken_by_another_thread(lock: ModelLock) -> bool:
    """Whether another thread gets the lock within a tenth of a second."""
    taken = threading.Event()

    def take():
        with lock:
            taken.set()

    thread = threading.Thread(target=take, daemon=True)
    thread.start()
    return taken.wait(0.1)
