"""Importing this first lets a command start in two thirds of the time.

The compiler looks for SciPy's BLAS when it is first used, and none of our loops needs that; and a
search for garbage among what was just imported finds none.
"""

import gc
import sys


def import_compiler() -> None:
    before = sys.modules.get("scipy")
    was_enabled = gc.isenabled()
    gc.disable()
    sys.modules["scipy"] = None  # type: ignore[assignment]
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        del sys.modules["scipy"]
        if before is not None:
            sys.modules["scipy"] = before
        gc.freeze()
        if was_enabled:
            gc.enable()


if "numba" not in sys.modules:
    import_compiler()
