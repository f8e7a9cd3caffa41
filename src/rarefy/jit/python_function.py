"""Machine code as a built-in function of Python.

A call takes a fifth of the time of one by ctypes, and is one step of the interpreter: no other
thread does anything meanwhile. The function is given an object and floats. It writes the address of
the one and the numbers of the others to memory that the code reads, and makes an object again of
what the code gives.

What is used of Python: METH_FASTCALL and the functions named below, of its stable interface. That
the content of a bytes object lies at its end, and a float's number behind its head, was read from
CPython 3.11 to 3.14.
"""

import ctypes
import functools
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

from rarefy.jit.object_code import add_code, assembled, new_engine

HEAD_BYTES = object.__basicsize__
BYTES_AT = bytes.__basicsize__ - 1
METH_FASTCALL = 0x80
NAME = "python_function"


class Frame(NamedTuple):
    """The addresses that a function needs."""

    entry: int
    result: int
    error: int
    packed: int
    given: int
    answer: int


class _KeptFrame(bytes):
    """A frame as Python's functions can have it, and what has the memory that it leads to."""

    keeps: Any


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


def python_function(frame: Frame, n_given: int, keeps: Any) -> Callable[..., Any]:
    """A function of as many objects as are given: none, or anything and then floats.

    If the frame has the address of an answer, the function gives the number there, or None if the
    code does not give 0. Else it gives what the code does, a whole number.
    """
    kept = _KeptFrame(struct.pack(f"{len(frame)}q", *frame))
    kept.keeps = keeps
    _, method = _code(n_given, frame.answer != 0)
    return _new_function()(ctypes.addressof(method), kept, None)  # type: ignore[no-any-return]


@functools.cache
def _new_function() -> Any:
    kind = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    return kind(("PyCFunction_NewEx", ctypes.pythonapi))


@functools.cache
def _code(n_given: int, has_answer: bool) -> tuple[Any, _MethodDef]:
    """The engine that has the code, and how Python calls it."""
    engine = new_engine()
    add_code(engine, assembled(_assembly(n_given, has_answer)))
    address = engine.get_function_address(NAME)
    return engine, _MethodDef(b"compiled", address, METH_FASTCALL, None)


def _assembly(n_given: int, has_answer: bool) -> str:
    from llvmlite import ir

    word, status, real = ir.IntType(64), ir.IntType(32), ir.DoubleType()
    pointer, module = ir.IntType(8).as_pointer(), ir.Module()
    kind = ir.FunctionType(pointer, [pointer, word.as_pointer(), word])
    function = ir.Function(module, kind, NAME)
    builder = ir.IRBuilder(function.append_basic_block())
    wrong = function.append_basic_block()

    def call(name: str, result: Any, *arguments: Any) -> Any:
        kinds = [argument.type for argument in arguments]
        called = ir.Function(module, ir.FunctionType(result, kinds), name)
        return builder.call(called, arguments)

    def at(address: Any, offset: int, kind: Any) -> Any:
        return builder.inttoptr(builder.add(address, word(offset)), kind.as_pointer())

    def go_on_if(condition: Any) -> None:
        right = function.append_basic_block()
        builder.cbranch(condition, right, wrong)
        builder.position_at_end(right)

    itself, objects, n_objects = function.args
    address = builder.ptrtoint(itself, word)
    fields = (builder.load(at(address, BYTES_AT + 8 * n, word)) for n in range(len(Frame._fields)))
    frame = Frame(*fields)
    go_on_if(builder.icmp_signed("==", n_objects, word(n_given)))
    for n in range(n_given):
        given = builder.load(builder.gep(objects, [word(n)]))
        if n > 0:
            given = builder.load(at(given, HEAD_BYTES, real))
        builder.store(given, at(frame.given, 8 * n, given.type))
    entry = builder.inttoptr(frame.entry, ir.FunctionType(status, [word] * 3).as_pointer())
    problem = builder.call(entry, [frame.result, frame.error, frame.packed])
    go_on_if(builder.icmp_signed("==", problem, status(0)))
    result = builder.load(at(frame.result, 0, word))
    if not has_answer:
        builder.ret(call("PyLong_FromLongLong", pointer, result))
    else:
        with builder.if_then(builder.icmp_signed("==", result, word(0))):
            answer = builder.load(at(frame.answer, 0, real))
            builder.ret(call("PyFloat_FromDouble", pointer, answer))
        none = builder.inttoptr(word(id(None)), pointer)
        call("Py_IncRef", ir.VoidType(), none)
        builder.ret(none)

    builder.position_at_end(wrong)
    call("PyErr_BadInternalCall", ir.VoidType())
    builder.ret(pointer(None))
    return str(module)
