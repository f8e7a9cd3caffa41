"""The lock of a model: predictions see it before or after an example, never in between."""

import threading
from typing import Any

import numpy as np


class ModelLock:
    """A lock that its owner may take again; a copy of it, or a pickled one, is a new lock.

    `turns` is one number, which changes whenever the lock is taken, and when it is given back: as
    long as it stays the same, nobody holds the lock, nor did so since.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._depth = 0  # how often its owner has taken it
        self._turn = 0
        self.turns = np.zeros(1, np.int64)
        self._written: Any = memoryview(self.turns)  # type: ignore[arg-type]  # which takes half of the time to write to

    def __enter__(self) -> None:
        self._lock.acquire()
        self._depth += 1
        if self._depth == 1:
            self._turn += 1
            self._written[0] = self._turn

    def __exit__(self, *error: object) -> None:
        try:
            self._depth -= 1
            if self._depth == 0:
                self._turn += 1
                self._written[0] = self._turn
        finally:
            self._lock.release()

    @property
    def next_turn(self) -> int:
        """What `turns` will be when its owner, who asks, has given it back."""
        return self._turn + 1

    def __reduce__(self) -> Any:
        return ModelLock, ()
