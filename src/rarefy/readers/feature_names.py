"""Names of the features of a batch: an open-addressing table from keys to texts, compiled.

A feature is called `namespace=name`, or only by the one of the two that is not empty.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.jit import compile_methods, compiled, helper, inlined
from rarefy.jit.intrinsics import prefetch_row
from rarefy.probing import first_slot, probe

ABSENT = -1
EQUALS = 61
TEXT_PER_NAME = 24  # bytes, to begin with
RECENT_KEYS = 1 << 15


@compile_methods
class Names(NamedTuple):
    """Texts by key. Without any room it takes no names, and the table is not looked at."""

    table: NDArray[np.int32]  # by slot, in rows of one: 1 + the number of the key there, or 0
    keys: NDArray[np.uint64]  # by number; half as many as slots at most
    ends: NDArray[np.int64]  # where the text of each number ends, and the next one begins
    text: NDArray[np.uint8]
    used: NDArray[np.int64]  # one element: how many there are
    recent: NDArray[np.uint64]  # keys that came more than once lately, by their lowest bits

    def n_slots(self) -> int:
        return len(self.table)

    def is_slot_of(self, key: Any, at: Any) -> Any:
        """Whether a key is in a slot, or would be put there."""
        number = self.table[at, 0]
        return number == 0 or self.keys[number - 1] == key


def new_names(size: int, text_bytes: int = 0) -> Names:
    """Room for up to `size` names, a power of two or zero, and for their text."""
    return Names(
        np.zeros((2 * size, 1), np.int32),
        np.empty(size, np.uint64),
        np.empty(size, np.int64),
        np.empty(max(text_bytes, size * TEXT_PER_NAME), np.uint8),
        np.zeros(1, np.int64),
        np.zeros(RECENT_KEYS if size else 0, np.uint64),
    )


def clear_names(names: Names) -> None:
    names.table[:] = 0
    names.used[0] = 0
    names.recent[:] = 0


@helper
def _slot(names: Names, key: Any) -> Any:
    """Where a key is in the table, or where it would be put."""
    return probe(names, key, first_slot(key, len(names.table)))


@compiled
def forget_names(names: Names) -> int:
    """Take out all names, in as much time as there are names; 0.

    The last one goes first: then all are found that came before it.
    """
    for number in range(names.used[0] - 1, -1, -1):
        key = names.keys[number]
        names.table[_slot(names, key), 0] = 0
        names.recent[key & np.uint64(RECENT_KEYS - 1)] = 0
    names.used[0] = 0
    return 0


@helper
def begin_of(names: Names, number: int) -> Any:
    """Where the text of a name begins."""
    return names.ends[number - 1] if number > 0 else np.int64(0)


@helper
def find_name(names: Names, key: Any) -> Any:
    """The number of the key's name, or ABSENT."""
    return np.int64(names.table[_slot(names, key), 0]) - 1 if len(names.table) > 0 else ABSENT


@inlined
def wants_name(names: Names, key: Any) -> bool:
    """Whether `note_name` may have something to do: a quick look before a long call."""
    return len(names.recent) > 0 and names.recent[key & np.uint64(RECENT_KEYS - 1)] != key


@inlined
def expect_name(names: Names, key: Any) -> None:
    """Have the slot of a key fetched from memory, as `note_name` will be called soon."""
    if len(names.table) > 0:
        prefetch_row(names.table, np.int64(first_slot(key, len(names.table))))


@helper
def note_name(
    names: Names,
    key: Any,
    prefix: Any,
    prefix_begin: int,
    prefix_end: int,
    sign: int,
    text: Any,
    begin: int,
    end: int,
) -> bool:
    """Remember that the key stands for prefix, sign, text; False if there is no room for that.

    The sign is left out where one of the two is empty.
    """
    if len(names.table) == 0:
        return True
    at = _slot(names, key)
    if names.table[at, 0] != 0:
        names.recent[key & np.uint64(RECENT_KEYS - 1)] = key
        return True
    number = names.used[0]
    to = begin_of(names, number)
    has_both = prefix_end > prefix_begin and end > begin
    size = (prefix_end - prefix_begin) + (end - begin) + has_both
    if number == len(names.keys) or to + size > len(names.text):
        return False
    for i in range(prefix_begin, prefix_end):
        names.text[to] = prefix[i]
        to += 1
    if has_both:
        names.text[to] = sign
        to += 1
    for i in range(begin, end):
        names.text[to] = text[i]
        to += 1
    names.keys[number] = key
    names.ends[number] = to
    names.table[at, 0] = number + 1
    names.used[0] = number + 1
    return True


def enlarged(names: Names) -> Names:
    """These names in four times the space: for more of them, or else for their text."""
    keys, ends, text = texts_of(names)
    is_full = len(keys) == len(names.keys)
    n_names, n_bytes = len(names.keys), len(names.text)
    larger = new_names(4 * n_names, n_bytes) if is_full else new_names(n_names, 4 * n_bytes)
    larger.keys[: len(keys)], larger.ends[: len(ends)] = keys, ends
    larger.text[: len(text)] = text
    larger.used[0] = len(keys)
    _refill(larger)
    return larger


def texts_of(names: Names) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """The keys, ends and text of all names, without the room that is left."""
    n = int(names.used[0])
    n_bytes = int(names.ends[n - 1]) if n else 0
    return names.keys[:n], names.ends[:n], names.text[:n_bytes]


def texts_by_key(names: Names, wanted: Iterable[int]) -> dict[int, str]:
    """What these keys stand for; one without a name is an index, and called by it."""
    found = {key: str(key) for key in wanted}
    keys, ends, text = texts_of(names)
    for number in np.flatnonzero(np.isin(keys, np.array([*found], np.uint64))).tolist():
        part = text[begin_of(names, number) : ends[number]]
        found[int(keys[number])] = part.tobytes().decode()
    return found


def names_of(keys: NDArray[Any], ends: NDArray[Any], text: NDArray[Any]) -> Names:
    """Names with these texts; there is no room for more."""
    table = np.zeros((2 << len(keys).bit_length(), 1), np.int32)
    names = Names(
        table,
        np.array(keys),
        np.array(ends),
        np.array(text),
        np.array([len(keys)]),
        np.zeros(RECENT_KEYS, np.uint64),
    )
    _refill(names)
    return names


@compiled
def _refill(names: Names) -> None:
    """Write the slots of all keys into an empty table."""
    for number in range(names.used[0]):
        at = _slot(names, names.keys[number])
        names.table[at, 0] = number + 1
