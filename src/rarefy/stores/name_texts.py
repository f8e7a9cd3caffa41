"""Names of the features in a table: their lengths, and their texts in one buffer."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import read_only
from rarefy.jit import compiled, helper
from rarefy.readers.feature_names import ABSENT, Names

LENGTH_BYTES = 4  # of a name, before its text
NO_NAME = 0  # no name is at the first byte of the text


class NameTexts:
    """Where the name of the feature in each slot is, and the text of all of them."""

    def __init__(self, n_slots: int) -> None:
        self.at = np.zeros(n_slots, np.int64)
        self.text = np.empty(1 << 12, np.uint8)
        self.used = np.array([NO_NAME + 1])  # one number: how many bytes of the text are used

    @property
    def n_bytes(self) -> int:
        """Of the text, that are used."""
        return int(self.used[0])

    @n_bytes.setter
    def n_bytes(self, n_bytes: int) -> None:
        self.used[0] = n_bytes

    @property
    def memory(self) -> int:
        return self.at.nbytes + self.text.nbytes

    def reserve(self, names: Names) -> None:
        """Enlarge the text for all names of a batch."""
        n_names = int(names.used[0])
        if n_names == 0:
            return
        needed = self.n_bytes + int(names.ends[n_names - 1]) + LENGTH_BYTES * n_names
        if needed > len(self.text):
            larger = np.empty(max(needed, 2 * len(self.text)), np.uint8)
            larger[: self.n_bytes] = self.text[: self.n_bytes]
            self.text = larger

    def put(self, lengths: NDArray[np.int64], text: NDArray[np.uint8], slots: NDArray[Any]) -> None:
        """Take over the names of features in these slots; there were none."""
        self.text = np.empty(1 + len(text) + LENGTH_BYTES * len(slots), np.uint8)
        self.n_bytes = _names_together(
            lengths, read_only(text), slots.astype(np.int64), self.at, self.text
        )

    def put_texts(self, names: Sequence[bytes | None], slots: NDArray[Any]) -> None:
        """Take over the names of features in these slots, of which some have none."""
        lengths = np.array([ABSENT if name is None else len(name) for name in names], np.int64)
        self.put(lengths, np.frombuffer(b"".join(name or b"" for name in names), np.uint8), slots)

    def texts(self, slots: NDArray[np.int64]) -> list[bytes | None]:
        """The names in these slots; None: there is no name."""
        lengths, joined = self.lengths_and_text(slots)
        text, end, names = joined.tobytes(), 0, []
        for length in lengths.tolist():
            begin, end = end, end + max(length, 0)
            names.append(None if length == ABSENT else text[begin:end])
        return names

    def moved(self, old: NDArray[np.int64], new: NDArray[Any], n_slots: int) -> "NameTexts":
        """The names of the features in old slots, for new ones; all others are left out."""
        moved = NameTexts(n_slots)
        moved.text = np.empty_like(self.text)
        moved.n_bytes = _copy_names(self.at[old], self.text, new, moved.at, moved.text)
        return moved

    def lengths_and_text(
        self, slots: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """The lengths of the names in these slots, ABSENT for those without, and their text."""
        lengths, text = np.empty(len(slots), np.int64), np.empty(self.n_bytes, np.uint8)
        n_bytes = _names_apart(self.at[slots], self.text, lengths, text)
        return lengths, text[:n_bytes]

    def name(self, slot: int) -> str | None:
        at = int(self.at[slot])
        if at == NO_NAME:
            return None
        begin = at + LENGTH_BYTES
        length = int.from_bytes(self.text[at:begin].tobytes(), "little")
        return self.text[begin : begin + length].tobytes().decode()


def check_names(lengths: NDArray[np.int64], text: NDArray[np.uint8]) -> None:
    """Refuse names that do not fill their text, or are not UTF-8."""
    lengths = lengths[lengths != ABSENT]
    if lengths.min(initial=0) < 0 or lengths.max(initial=0) > len(text):
        raise ValueError("a name has no such length")
    ends = np.cumsum(lengths)
    if ends.max(initial=0) != len(text):
        raise ValueError("the names do not fill their text")
    text.tobytes().decode()
    begins = (ends - lengths)[lengths > 0]
    if ((text[begins] & 0xC0) == 0x80).any():
        raise ValueError("a name begins in the middle of a character")


@helper
def append_name(to_text: Any, to: int, text: Any, begin: int, end: int) -> int:
    """Write the length of a name, and its text; the position behind it."""
    length = end - begin
    for k in range(LENGTH_BYTES):
        to_text[to + k] = (length >> (8 * k)) & 0xFF
    to += LENGTH_BYTES
    for i in range(begin, end):
        to_text[to] = text[i]
        to += 1
    return to


@helper
def name_length(text: Any, at: int) -> Any:
    length = np.int64(0)
    for k in range(LENGTH_BYTES):
        length |= np.int64(text[at + k]) << (8 * k)
    return length


@compiled
def _copy_names(name_at: Any, text: Any, slots: Any, new_name_at: Any, new_text: Any) -> int:
    """Copy the names at these positions of the text for features in these new slots."""
    to = NO_NAME + 1
    for j in range(len(slots)):
        at = name_at[j]
        if at == NO_NAME:
            continue
        begin = at + LENGTH_BYTES
        new_name_at[slots[j]] = to
        to = append_name(new_text, to, text, begin, begin + name_length(text, at))
    return to


@compiled
def _names_apart(name_at: Any, text: Any, lengths: Any, to_text: Any) -> int:
    """Write the lengths of the names at these positions of the text, and their text alone."""
    to = 0
    for j in range(len(name_at)):
        at = name_at[j]
        lengths[j] = ABSENT
        if at != NO_NAME:
            lengths[j] = name_length(text, at)
            for i in range(at + LENGTH_BYTES, at + LENGTH_BYTES + lengths[j]):
                to_text[to] = text[i]
                to += 1
    return to


@compiled
def _names_together(lengths: Any, text: Any, slots: Any, name_at: Any, to_text: Any) -> int:
    """Write names of these lengths, each behind its length, for features in these slots."""
    to, begin = NO_NAME + 1, 0
    for j in range(len(slots)):
        if lengths[j] != ABSENT:
            name_at[slots[j]] = to
            to = append_name(to_text, to, text, begin, begin + lengths[j])
            begin += lengths[j]
    return to
