"""Cached object code: a file for each loop, which LLVM loads without Numba.

The first line of a file is a checksum of the rest: a line of JSON that says how to call the code,
and the code.

Read from llvmlite 0.50 (the MCJIT engine, and what it does at bad files) and, as for what compiled
functions say of exceptions, from Numba 0.68.
"""

import ctypes
import functools
import hashlib
import json
import pickle
import struct
from collections.abc import Callable, Sequence
from enum import IntEnum
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

C_TYPES: dict[str, Any] = {
    **{f"int{bits}": getattr(ctypes, f"c_int{bits}") for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": getattr(ctypes, f"c_uint{bits}") for bits in (8, 16, 32, 64)},
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
    "bool": ctypes.c_bool,
}
ENTRY = "entry"
# What our own code and Python's raise at a file that makes no sense.
NONSENSE = (
    *(ValueError, TypeError, LookupError, AttributeError, ImportError, RecursionError),
    *(MemoryError, struct.error),
)


class ObjectCode(NamedTuple):
    """Machine code, and how to call it.

    `arguments` is the format of a struct that has them all, which `entry`, a function of its own in
    hexadecimal, takes apart; `result` is the name of a C type, None, or [class or None, *parts];
    `calls` are the functions that have to be there.
    """

    arguments: str
    result: Any
    calls: list[str]
    entry: str
    code: bytes


@functools.cache
def llvm() -> Any:
    """LLVM, which takes a while to import, and of which commands that only show have no need."""
    from llvmlite import binding

    return binding


def file_content(made: ObjectCode) -> bytes:
    """What a file has of it."""
    *about, code = made
    content = json.dumps(about).encode() + b"\n" + code
    return _checksum(content) + b"\n" + content


def object_code_in(file: bytes) -> ObjectCode | None:
    """The object code in a file, or None if it is damaged."""
    checksum, _, content = file.partition(b"\n")
    if checksum != _checksum(content):
        return None
    about, _, code = content.partition(b"\n")
    try:
        arguments, result, calls, entry = json.loads(about)
    except NONSENSE:
        return None
    return ObjectCode(arguments, result, calls, entry, code)


def _checksum(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()


class _Raised(ctypes.Structure):
    """The beginning of what Numba says of an exception: pickled class, arguments and place."""

    _fields_ = (("pickled", ctypes.c_void_p), ("size", ctypes.c_int32))


_RaisedPointer = ctypes.POINTER(_Raised)
_Entry = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)
NOTHING_GIVEN = np.empty(0)


def load_cached(file: bytes, example: Sequence[Any]) -> "Code | None":
    """How to call the code in a file with arguments like these, or None if it cannot be called.

    What has the right checksum was written by us, and its code is not doubted; but if it makes no
    sense, that is not the end of the process.
    """
    made = object_code_in(file)
    try:
        if made is None or not made.code:
            return None
        struct.pack(made.arguments, *example)
        return load(made)
    except NONSENSE:
        return None


def load(made: ObjectCode) -> "Code | None":
    """How to call the code, with its arguments spread into numbers and addresses.

    The code may be empty if LLVM has it already. None if a function is missing that it calls:
    Numba may have brought it.
    """
    pack = struct.Struct(made.arguments).pack
    result_type, read = _result([None, made.result])
    engine = new_engine()
    if not all(map(llvm().address_of_symbol, made.calls)):
        return None
    add_code(engine, bytes.fromhex(made.entry), made.code)
    function = _Entry(engine.get_function_address(ENTRY))
    if not function:
        raise ValueError("there is no entry")

    return Code(made, engine, function, pack, result_type, read)


class Code:
    """Machine code that is called with arguments spread into numbers and addresses."""

    def __init__(
        self, made: ObjectCode, engine: Any, function: Any, pack: Any, result_type: Any, read: Any
    ) -> None:
        self._engine = engine  # has the code
        self._function = function
        self._pack = pack
        self._result_type = result_type
        self._read = read
        self._is_from_disk = bool(made.code)
        self._format = made.arguments

    def __call__(self, arguments: Sequence[Any]) -> Any:
        result, error = self._result_type(), _RaisedPointer()
        status = self._function(ctypes.byref(result), ctypes.byref(error), self._pack(*arguments))
        if status:
            raise _raised(error.contents, is_from_disk=self._is_from_disk)
        return self._read(result)[0]

    def step(self, arguments: Sequence[Any], keeps: Any) -> "BoundCode":
        """The call with these arguments, to be made again and again; `keeps` has their memory."""
        content = self._pack(*arguments)
        packed = ctypes.create_string_buffer(content, -(-len(content) // 8) * 8)  # whole words
        return BoundCode(self, self._result_type(), _RaisedPointer(), packed, keeps)

    def word_at(self, place: int) -> int:
        """Where the argument at a place is among the words of a step."""
        return struct.calcsize(self._format[: place + 1]) // 8 - 1

    @property
    def address(self) -> Any:
        return ctypes.cast(self._function, ctypes.c_void_p).value


class BoundCode(NamedTuple):
    """Code, room for what it gives, and its arguments, packed."""

    code: Code
    result: Any
    error: Any
    packed: Any
    keeps: Any


def function_of(steps: Sequence[BoundCode], given: Any, answer: Any) -> Callable[..., Any]:
    """A function of Python that calls all of this: see python_function.py.

    Unlike other calls it keeps the interpreter's lock, and so takes a tenth of the time: there is
    nothing to be packed, and no other thread to wait for. It gives the first number of the result,
    which is a whole one.
    """
    module = import_module("rarefy.jit.python_function")
    addresses = [
        module.Step(
            step.code.address, *map(ctypes.addressof, (step.result, step.error, step.packed))
        )
        for step in steps
    ]
    answer_at = 0 if answer is None else answer.ctypes.data
    kept = steps, given, answer
    return module.python_function(  # type: ignore[no-any-return]
        addresses, given.ctypes.data, len(given), answer_at, kept
    )


def _object_file(code: bytes) -> Any:
    """LLVM says nothing of what is no object file, and crashes when it is used."""
    file = llvm().ObjectFileRef.from_data(code)
    if not file:
        raise ValueError("there is no code")
    return file


def _raised(by_code: _Raised, *, is_from_disk: bool) -> Exception:
    """The exception of code; nothing from a file is unpickled, and cached code raises no other."""
    if is_from_disk:
        return IndexError("an index is out of bounds in compiled code")
    kind, values, _ = pickle.loads(ctypes.string_at(by_code.pickled, by_code.size))
    return kind(*values)  # type: ignore[no-any-return]


def assembled(text: str) -> bytes:
    """Machine code of LLVM's assembly language."""
    return _target().create_target_machine().emit_object(llvm().parse_assembly(text))  # type: ignore[no-any-return]


def new_engine() -> Any:
    """One for each loop, so that their symbols do not get in each other's way."""
    return llvm().create_mcjit_compiler(
        llvm().parse_assembly(""), _target().create_target_machine()
    )


def add_code(engine: Any, *codes: bytes) -> None:
    """Load object code into an engine, from where it can be called."""
    for code in filter(None, codes):
        engine.add_object_file(_object_file(code))
    engine.finalize_object()


@functools.cache
def _target() -> Any:
    llvm().initialize_native_target()
    llvm().initialize_native_asmprinter()
    return llvm().Target.from_default_triple()


def host() -> str:
    """The processor that the code is for."""
    _target()
    return f"{llvm().get_host_cpu_name()} {llvm().get_host_cpu_features().flatten()}"


def _result(kind: Any) -> tuple[Any, Any]:
    """The C type of a result, and how to make Python's of it where ctypes does not do so itself."""
    if kind is None or isinstance(kind, str):
        return C_TYPES[kind] if kind else ctypes.c_void_p, None
    path, *parts = kind
    results = [_result(part) for part in parts]
    fields = [(f"part{n}", c_type) for n, (c_type, _) in enumerate(results)]
    readers = [(f"part{n}", read) for n, (_, read) in enumerate(results)]
    make = _class_at(path, len(parts)) if path else lambda *values: values

    def read_parts(given: Any) -> Any:
        return make(
            *[
                read(getattr(given, name)) if read else getattr(given, name)
                for name, read in readers
            ]
        )

    return type("Parts", (ctypes.Structure,), {"_fields_": fields}), read_parts


def _class_at(path: str, n_parts: int) -> Any:
    """The class, which is made of so many parts."""
    module, _, name = path.partition(":")
    cls: Any = functools.reduce(getattr, name.split("."), import_module(module))
    if n_parts != (1 if issubclass(cls, IntEnum) else len(cls._fields)):
        raise TypeError(f"{path} has another number of parts")
    return cls
