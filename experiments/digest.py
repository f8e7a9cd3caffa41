"""What code a run depends on: runs of other code are not taken for ours."""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

SOURCES = Path(__file__).parents[1] / "src" / "rarefy"


def digest_of(modules: Iterable[ModuleType], *, with_library: bool = True) -> str:
    """Of these modules and, unless nothing of it is run, of the library."""
    library = sorted(SOURCES.rglob("*.py")) if with_library else []
    own = [Path(str(module.__file__)) for module in modules]
    contents = b"".join(file.read_bytes() for file in [*library, *own])
    return hashlib.sha256(contents).hexdigest()[:16]
