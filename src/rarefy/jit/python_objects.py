"""Access from loops to Python's dicts, texts and numbers, by address.

Whoever calls such a loop holds the interpreter's lock, as bound calls do. The functions are those
of Python's stable interface; that an object's type stands at the end of its head, and a float's
number behind that, also in NumPy's float64, and a text's hash behind its length, was read from
CPython 3.11 to 3.14 and NumPy 2.4.
"""

from typing import Any

import numpy as np

from rarefy.jit.marks import Late, intrinsic

arrayobj, cgutils = Late("numba.np.arrayobj"), Late("numba.core.cgutils")
ir, types = Late("llvmlite.ir"), Late("numba.core.types")

HEAD_BYTES = object.__basicsize__
HASH_AT = HEAD_BYTES + 8  # of a text, behind its length; -1 as long as nobody has asked for it
TYPES = tuple(map(id, (float, int, str, bool, type(None), np.float64, dict)))  # numbers below
FLOAT, INT, STR, BOOL, NONE, FLOAT64, DICT = range(7)


def _call(builder: Any, name: str, result: Any, arguments: list[Any]) -> Any:
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), arguments)


def _object(builder: Any, address: Any) -> Any:
    return builder.inttoptr(address, ir.IntType(8).as_pointer())


def _data(context: Any, builder: Any, array_type: Any, array: Any) -> Any:
    return arrayobj.make_array(array_type)(context, builder, array).data


def _loaded(builder: Any, address: Any, offset: int, kind: Any) -> Any:
    at = builder.add(address, address.type(offset))
    return builder.load(builder.inttoptr(at, kind.as_pointer()))


@intrinsic
def next_item(typing_context: Any, mapping: Any, position: Any, item: Any) -> Any:
    """Write the addresses of the next key and value of a dict; 0 if there are no more.

    `position` has one number, which is 0 at first.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        at = _data(context, builder, signature.args[1], args[1])
        key = builder.bitcast(
            _data(context, builder, signature.args[2], args[2]),
            ir.IntType(8).as_pointer().as_pointer(),
        )
        value = builder.gep(key, [ir.IntType(64)(1)])
        found = _call(
            builder, "PyDict_Next", ir.IntType(32), [_object(builder, args[0]), at, key, value]
        )
        return builder.sext(found, ir.IntType(64))

    return types.int64(mapping, position, item), codegen


@intrinsic
def type_address(typing_context: Any, address: Any) -> Any:
    """The address of the type of an object."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _loaded(builder, args[0], HEAD_BYTES - 8, ir.IntType(64))

    return types.int64(types.int64), codegen


@intrinsic
def text_hash(typing_context: Any, address: Any) -> Any:
    """Python's own hash of a text, 64 bits, which a text that is a name in a dict has at hand."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = ir.IntType(64)
        found = _loaded(builder, args[0], HASH_AT, word)
        result = cgutils.alloca_once_value(builder, found)
        with builder.if_then(builder.icmp_signed("==", found, word(-1)), likely=False):
            builder.store(
                _call(builder, "PyObject_Hash", word, [_object(builder, args[0])]), result
            )
        return builder.load(result)

    return types.int64(types.int64), codegen


@intrinsic
def float_value(typing_context: Any, address: Any) -> Any:
    """The number of a float, Python's or NumPy's."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _loaded(builder, args[0], HEAD_BYTES, ir.DoubleType())

    return types.float64(types.int64), codegen


@intrinsic
def whole_value(typing_context: Any, address: Any) -> Any:
    """A whole number as a float; NaN if it is too large, and then no error is left behind."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        number, pointer = ir.DoubleType(), ir.IntType(8).as_pointer()
        found = _call(builder, "PyLong_AsDouble", number, [_object(builder, args[0])])
        result = cgutils.alloca_once_value(builder, found)
        with builder.if_then(builder.fcmp_ordered("==", found, number(-1.0))):
            error = _call(builder, "PyErr_Occurred", pointer, [])
            with builder.if_then(builder.icmp_unsigned("!=", error, pointer(None))):
                _call(builder, "PyErr_Clear", ir.VoidType(), [])
                builder.store(number(float("nan")), result)
        return builder.load(result)

    return types.float64(types.int64), codegen


@intrinsic
def copy_text(typing_context: Any, address: Any, to: Any, size: Any) -> Any:
    """Copy a text in UTF-8 to an array; how many bytes, or -1 if it has none or does not fit.

    `size` has one number, of no meaning. The last 32 bytes of the array are not written to.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word, pointer = ir.IntType(64), ir.IntType(8).as_pointer()
        sizes = _data(context, builder, signature.args[2], args[2])
        array = arrayobj.make_array(signature.args[1])(context, builder, args[1])
        text = _call(
            builder, "PyUnicode_AsUTF8AndSize", pointer, [_object(builder, args[0]), sizes]
        )
        result = cgutils.alloca_once_value(builder, word(-1))
        is_text = builder.icmp_unsigned("!=", text, pointer(None))
        with builder.if_else(is_text) as (then, otherwise):
            with then:
                n_bytes = builder.load(sizes)
                room = builder.sub(array.nitems, word(32))
                with builder.if_then(builder.icmp_signed("<=", n_bytes, room)):
                    cgutils.raw_memcpy(builder, array.data, text, n_bytes, 1)
                    builder.store(n_bytes, result)
            with otherwise:
                _call(builder, "PyErr_Clear", ir.VoidType(), [])
        return builder.load(result)

    return types.int64(types.int64, to, size), codegen
