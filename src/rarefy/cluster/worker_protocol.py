"""The interface of a cluster engine: run a function on a worker, and fetch its result.

`InThisProcess` is the simplest one, for tests, and to see how many bytes travel.
"""

import pickle
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from rarefy.cluster.pieces import End, Outline, Piece, Reading, read_piece

Handle = Any  # of a result that may not be there yet, and stays where it is made


class Workers(Protocol):
    """Other processes. A worker that dies is none of the caller's business: its work is redone."""

    def start(self, function: Callable[..., Any], *arguments: Any, n_results: int = 1) -> Any:
        """Have a function called; handles among the arguments stand for their results.

        A handle, or a list of handles if the function gives several results.
        """

    def result(self, handle: Handle) -> Any:
        """What a function gave; an error that it raised is raised here."""

    def read(self, reading: Reading, piece: Piece) -> Iterator[tuple[Outline, Handle] | End]:
        """Begin to read a piece at once; its batches follow."""

    @property
    def n_readers(self) -> int:
        """How many pieces to read at a time."""

    def close(self) -> None:
        """End what was begun for these workers."""


class InThisProcess:
    """No other process at all; what would travel is counted."""

    n_readers = 1

    def __init__(self) -> None:
        self.n_bytes = {"to workers": 0, "from workers": 0}

    def start(self, function: Callable[..., Any], *arguments: Any, n_results: int = 1) -> Any:
        given = [self._sent(argument, "to workers") for argument in arguments]
        found = function(*given)
        return [_Kept(one) for one in found] if n_results > 1 else _Kept(found)

    def result(self, handle: Handle) -> Any:
        return self._sent(handle.value, "from workers")

    def read(self, reading: Reading, piece: Piece) -> Iterator[tuple[Outline, Handle] | End]:
        items = read_piece(reading, piece)
        for item in items:
            if isinstance(item, Outline):
                yield self._sent(item, "from workers"), _Kept(next(items))
            elif isinstance(item, End):
                yield item

    def _sent(self, value: Any, where: str) -> Any:
        if isinstance(value, _Kept):
            return value.value
        data = pickle.dumps(value, protocol=5)
        self.n_bytes[where] += len(data)
        return pickle.loads(data)

    def close(self) -> None:
        """There is nothing to end."""


class _Kept:
    """A result that stays where it is."""

    def __init__(self, value: Any) -> None:
        self.value = value
