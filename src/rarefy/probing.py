"""Open addressing with linear probing, compiled: what all tables of keys have in common.

A table is a NamedTuple of arrays whose compiled methods know how its slots are laid out. The
number of slots is a power of two, and one of them at least is free.
"""

from typing import Any

import numpy as np

from rarefy.jit import helper

SPREAD = np.uint64(0x9E3779B97F4A7C15)


@helper
def first_slot(key: Any, n_slots: int) -> Any:
    """Where to begin to look for a key.

    Keys may be small numbers; multiplying spreads them, and the upper bits of the product are used.
    """
    return (key * SPREAD >> np.uint64(32)) & np.uint64(n_slots - 1)


@helper
def probe(table: Any, key: Any, at: Any) -> Any:
    """Where the key is in the table, or where it would be put, from the slot on to begin with."""
    last = np.uint64(table.n_slots() - 1)
    while not table.is_slot_of(key, at):
        at = (at + np.uint64(1)) & last
    return at
