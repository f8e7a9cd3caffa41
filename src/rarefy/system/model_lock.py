"""The lock of a model: a prediction sees it before an example is learned, or after it."""

import threading
from typing import Any


class ModelLock:
    """A lock that its owner may take again; a copy of it, or a pickled one, is a new lock."""

    def __init__(self) -> None:
        self.lock = threading.RLock()

    def __enter__(self) -> None:
        self.lock.acquire()

    def __exit__(self, *error: object) -> None:
        self.lock.release()

    def __reduce__(self) -> Any:
        return ModelLock, ()
