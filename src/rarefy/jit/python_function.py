"""Machine code as a built-in function of Python.

A call takes a fifth of the time of one by ctypes, and is one step of the interpreter: no other
thread does anything meanwhile. The function is given an object and floats. It writes the address of
the one and the numbers of the others to memory that the code reads, calls one loop after the other,
and makes an object again of what they give.

What is used of Python: METH_FASTCALL and the functions named below, of its stable interface. That
the content of a bytes object lies at its end, and a float's number behind its head, was read from
CPython 3.11 to 3.14.
"""

import ctypes
import functools
import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from rarefy.jit.object_code import add_code, assembled, new_engine

HEAD_BYTES = object.__basicsize__
BYTES_AT = bytes.__basicsize__ - 1
METH_FASTCALL = 0x80
NAME = "python_function"


class Step(NamedTuple):
    """The addresses that the call of a loop needs."""

    entry: int
    result: int
    error: int
    packed: int


class _KeptFrame(bytes):
    """A frame as Python's functions can have it, and what has the memory that it leads to.

    A function has its frame until the end, and so the machine code that the frame keeps, too.
    """

    keeps: Any


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


def python_function(
    steps: Sequence[Step], given: int, n_given: int, answer: int, keeps: Any
) -> Callable[..., Any]:
    """A function of as many objects as are given: none, or anything and then floats.

    Loops are called in turn, until one does not give 0. If there is the address of an answer, the
    function gives the number there, or None if a loop did not give 0. Else it gives what the last
    one called did, a whole number.
    """
    addresses = [given, answer, *(address for step in steps for address in step)]
    kept = _KeptFrame(struct.pack(f"{len(addresses)}q", *addresses))
    engine, method = _code(len(steps), n_given, answer != 0)
    kept.keeps = keeps, engine, method  # threads that come at once may each have made an engine
    return _new_function()(ctypes.addressof(method), kept, None)  # type: ignore[no-any-return]


@functools.cache
def _new_function() -> Any:
    kind = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    return kind(("PyCFunction_NewEx", ctypes.pythonapi))


@functools.cache
def _code(n_steps: int, n_given: int, has_answer: bool) -> tuple[Any, _MethodDef]:
    """The engine that has the code, and how Python calls it."""
    engine = new_engine()
    add_code(engine, assembled(_assembly(n_steps, n_given, has_answer)))
    address = engine.get_function_address(NAME)
    return engine, _MethodDef(b"compiled", address, METH_FASTCALL, None)


def _assembly(n_steps: int, n_given: int, has_answer: bool) -> str:
    from llvmlite import ir

    word, real = ir.IntType(64), ir.DoubleType()
    pointer, module = ir.IntType(8).as_pointer(), ir.Module()
    kind = ir.FunctionType(pointer, [pointer, word.as_pointer(), word])
    function = ir.Function(module, kind, NAME)
    builder = ir.IRBuilder(function.append_basic_block())
    wrong = function.append_basic_block()

    def call(name: str, result: Any, *arguments: Any) -> Any:
        kinds = [argument.type for argument in arguments]
        called = ir.Function(module, ir.FunctionType(result, kinds), name)
        return builder.call(called, arguments)

    itself, objects, n_objects = function.args
    address = builder.ptrtoint(itself, word)
    n_words = 2 + n_steps * len(Step._fields)
    frame = [builder.load(_at(builder, address, BYTES_AT + 8 * n, word)) for n in range(n_words)]
    given_at, answer_at = frame[:2]
    _go_on_if(builder, builder.icmp_signed("==", n_objects, word(n_given)), wrong)
    for n in range(n_given):
        given = builder.load(builder.gep(objects, [word(n)]))
        if n > 0:
            given = builder.load(_at(builder, given, HEAD_BYTES, real))
        builder.store(given, _at(builder, given_at, 8 * n, given.type))
    steps = [Step(*frame[n : n + len(Step._fields)]) for n in range(2, n_words, len(Step._fields))]
    result = _result_in_turn(builder, steps, wrong)
    if not has_answer:
        builder.ret(call("PyLong_FromLongLong", pointer, result))
    else:
        with builder.if_then(builder.icmp_signed("==", result, word(0))):
            answer = builder.load(_at(builder, answer_at, 0, real))
            builder.ret(call("PyFloat_FromDouble", pointer, answer))
        none = builder.inttoptr(word(id(None)), pointer)
        call("Py_IncRef", ir.VoidType(), none)
        builder.ret(none)

    builder.position_at_end(wrong)
    call("PyErr_BadInternalCall", ir.VoidType())
    builder.ret(pointer(None))
    return str(module)


def _result_in_turn(builder: Any, steps: Sequence[Step], wrong: Any) -> Any:
    """What the last loop gives, or the first that does not give 0."""
    from llvmlite import ir

    word, status = ir.IntType(64), ir.IntType(32)
    end, results = builder.function.append_basic_block(), []
    for n, step in enumerate(steps, 1):
        entry = builder.inttoptr(step.entry, ir.FunctionType(status, [word] * 3).as_pointer())
        problem = builder.call(entry, [step.result, step.error, step.packed])
        _go_on_if(builder, builder.icmp_signed("==", problem, status(0)), wrong)
        result = builder.load(_at(builder, step.result, 0, word))
        results.append((result, builder.block))
        if n < len(steps):
            _go_on_if(builder, builder.icmp_signed("==", result, word(0)), end)
    builder.branch(end)
    builder.position_at_end(end)
    found = builder.phi(word)
    for result, block in results:
        found.add_incoming(result, block)
    return found


def _at(builder: Any, address: Any, offset: int, kind: Any) -> Any:
    return builder.inttoptr(builder.add(address, address.type(offset)), kind.as_pointer())


def _go_on_if(builder: Any, condition: Any, otherwise: Any) -> None:
    next_block = builder.function.append_basic_block()
    builder.cbranch(condition, next_block, otherwise)
    builder.position_at_end(next_block)
