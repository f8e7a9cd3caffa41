"""The memory that this process uses."""

import os
import sys
from pathlib import Path


def resident_memory() -> int | None:
    """Bytes of resident memory: now on Linux, at the most so far on macOS, None elsewhere."""
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    if sys.platform == "darwin":
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return None
