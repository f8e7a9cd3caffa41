"""Lines that cannot be parsed: stop at the first one, or count them and show some."""

import threading

from rarefy.errors import InputError

SHOWN = 5


class BadLines:
    """What was wrong in the blocks of a reader, which may be parsed in any order."""

    def __init__(self, *, skip: bool) -> None:
        self.skip = skip
        self.count = 0
        self._messages: list[tuple[int, list[str]]] = []
        self._lock = threading.Lock()

    def add(self, block: int, count: int, messages: list[str]) -> None:
        """Bad lines of a block, counted by its number; of a block the first few messages do."""
        if not self.skip:
            raise InputError(messages[0])
        with self._lock:
            self.count += count
            self._messages.append((block, messages[:SHOWN]))
            self._messages = sorted(self._messages)[:SHOWN]

    @property
    def shown(self) -> list[str]:
        """The messages of the first few bad lines."""
        return [message for _, messages in self._messages for message in messages][:SHOWN]
