"""Threads that do something of their own beside the service."""

import threading


class Background:
    """A thread that lives until it is closed, which it is told by `_over`."""

    def __init__(self, name: str) -> None:
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._live, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._over.set()
        self._thread.join()

    def _live(self) -> None:
        raise NotImplementedError
