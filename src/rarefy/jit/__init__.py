"""Compiled code: marks for what is compiled, and the machine code that is cached of it.

All that knows the inside of Numba and LLVM is here, and says of what version. Numba is imported
when there is something to compile; a process that finds all its loops on disk starts without it.
"""

from rarefy.jit.dispatch import CompileError as CompileError
from rarefy.jit.dispatch import compiled as compiled
from rarefy.jit.dispatch import in_turn as in_turn
from rarefy.jit.marks import compile_methods as compile_methods
from rarefy.jit.marks import helper as helper
from rarefy.jit.marks import inlined as inlined
