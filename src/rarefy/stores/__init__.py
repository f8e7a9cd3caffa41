"""Stores: where the weight of a feature is, given its key.

- array: at the index that the key is; for features that are whole numbers
- hashed: in one of 2^bits slots, which several features may share
- table: in a slot of its own, in a table that holds only features that carry state
"""

from rarefy.checks import check_flag, check_whole, choose
from rarefy.errors import ConfigError
from rarefy.stores.array import ArrayStore
from rarefy.stores.hashed import MOST_BITS, HashedStore
from rarefy.stores.store import STATE_ARRAYS, Features, Kept, Memory, Prepared, Store
from rarefy.stores.table_store import MOST_FEATURES, TableStore

STORES = ("array", "hashed", "table")
DEFAULT_BITS = 22

__all__ = [
    "DEFAULT_BITS",
    "MOST_BITS",
    "MOST_FEATURES",
    "STATE_ARRAYS",
    "STORES",
    "Features",
    "Kept",
    "Memory",
    "Prepared",
    "Store",
    "check_store",
    "make_store",
]


def check_store(
    kind: str = "table",
    *,
    bits: int | None = None,
    capacity: int | None = None,
    names: bool = True,
) -> None:
    """Refuse arguments of `make_store` that make no sense."""
    choose("store", kind, dict.fromkeys(STORES))
    if bits is not None and kind != "hashed":
        raise ConfigError(f"bits={bits} does not apply to the store {kind}; only hashed has bits.")
    if capacity is not None and kind != "table":
        raise ConfigError(
            f"capacity={capacity} does not apply to the store {kind}; only a table can drop "
            f"features."
        )
    if bits is not None:
        check_whole("bits", bits, 1, MOST_BITS)
    if capacity is not None:
        check_whole("capacity", capacity, 1, MOST_FEATURES)
    check_flag("names", names)


def make_store(
    kind: str = "table",
    *,
    bits: int | None = None,
    capacity: int | None = None,
    names: bool = True,
) -> Store:
    """The store that a user asks for."""
    check_store(kind, bits=bits, capacity=capacity, names=names)
    if kind == "array":
        return ArrayStore()
    if kind == "hashed":
        return HashedStore(DEFAULT_BITS if bits is None else bits)
    return TableStore(capacity=capacity, names=names)
