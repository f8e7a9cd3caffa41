"""Calls that are interrupted after any line, or instruction, of the package."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import rarefy

PACKAGE = str(Path(rarefy.__file__).parent)


def run_interrupted(call, after: int, *, opcodes: bool = False) -> bool:
    """Whether a call ended with Ctrl-C, which comes after so many lines, or instructions."""
    left = after

    def trace(frame, event, _):
        nonlocal left
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        frame.f_trace_opcodes = opcodes
        if event == ("opcode" if opcodes else "line"):
            left -= 1
            if left == 0:
                signal.raise_signal(signal.SIGINT)
        return trace

    before = sys.gettrace()
    sys._getframe().f_trace_opcodes = opcodes  # Python 3.12 looks once, when tracing begins
    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    assert left > 0, "Ctrl-C was lost"
    return False
