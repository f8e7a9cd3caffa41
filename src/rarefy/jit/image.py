"""The machine code of a loop: one file each, which LLVM loads without the compiler.

The first line of a file is a JSON object that says how to call the code, which is the rest.
"""

import ctypes
import functools
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from llvmlite import binding as llvm

C_TYPES: dict[str, Any] = {
    "pointer": ctypes.c_void_p,
    "int8": ctypes.c_int8,
    "int32": ctypes.c_int32,
    "uint32": ctypes.c_uint32,
    "int64": ctypes.c_int64,
    "uint64": ctypes.c_uint64,
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
    "bool": ctypes.c_bool,
}
DONE = (0, -2)  # what the code returns if all is well; the latter with None as the result


class Image(NamedTuple):
    """Machine code, and how to call it.

    `arguments` are names of C types; `result` is one, too, or None, or [class or None, *parts].
    """

    symbol: str
    arguments: list[str]
    result: Any
    code: bytes


def read_image(file: Path) -> Image | None:
    """The image in a file, or None if there is none or it is damaged."""
    try:
        header, _, code = file.read_bytes().partition(b"\n")
        about = json.loads(header)
        if about.pop("sha256") != hashlib.sha256(code).hexdigest():
            return None
        return Image(**about, code=code)
    except (OSError, ValueError, TypeError, KeyError):
        return None


def write_image(image: Image, file: Path) -> None:
    """Write it, all or nothing; where that is impossible, it is compiled again next time."""
    *about, code = image
    header = dict(zip(Image._fields, about, strict=False), sha256=hashlib.sha256(code).hexdigest())
    try:
        with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as part:
            part.write(json.dumps(header).encode() + b"\n" + code)
        os.replace(part.name, file)
    except OSError:
        return


def load_image(image: Image) -> Callable[[Sequence[Any]], Any]:
    """How to call the code, with its arguments spread into numbers and addresses."""
    engine = _new_engine()
    engine.add_object_file(llvm.ObjectFileRef.from_data(image.code))
    engine.finalize_object()
    types = (C_TYPES[name] for name in image.arguments)
    prototype = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *types)
    function = prototype(engine.get_function_address(image.symbol))
    result_type, read = _result([None, image.result])

    def call(arguments: Sequence[Any], engine: Any = engine) -> Any:
        result, error = result_type(), ctypes.c_void_p()
        status = function(ctypes.byref(result), ctypes.byref(error), *arguments)
        if status not in DONE:
            raise IndexError(f"an error in compiled code ({image.symbol})")
        return read(result)[0]

    return call


def _new_engine() -> Any:
    """One for each image, so that their symbols do not get in each other's way."""
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target().create_target_machine())


@functools.cache
def _target() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple()


def host() -> str:
    """The processor that the code is for."""
    _target()
    return f"{llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}"


def _result(kind: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The C type of a result, and how to make Python's of it."""
    if kind is None or isinstance(kind, str):
        return C_TYPES[kind or "pointer"], lambda given: given
    path, *parts = kind
    results = [_result(part) for part in parts]
    names = [f"part{n}" for n in range(len(results))]
    fields = [(name, c_type) for name, (c_type, _) in zip(names, results, strict=True)]
    readers = [(name, read) for name, (_, read) in zip(names, results, strict=True)]
    make = _class_at(path) if path else lambda *values: values

    def read_parts(given: Any) -> Any:
        return make(*[read(getattr(given, name)) for name, read in readers])

    return type("Parts", (ctypes.Structure,), {"_fields_": fields}), read_parts


def _class_at(path: str) -> Any:
    module, _, name = path.partition(":")
    return functools.reduce(getattr, name.split("."), import_module(module))
