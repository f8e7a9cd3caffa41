"""Low-level operations for loops: aligned state rows, prefetching, words of text.

The instructions are made by Numba's code generator and LLVM's builder; read from Numba 0.68 and
llvmlite 0.50.
"""

from collections.abc import Iterator
from typing import Any

from rarefy.jit.marks import Late, intrinsic

arrayobj, cgutils = Late("numba.np.arrayobj"), Late("numba.core.cgutils")
errors, ir, types = Late("numba.core.errors"), Late("llvmlite.ir"), Late("numba.core.types")


def row_width(n_fields: int) -> int:
    """Floats in the row of a coordinate: a power of two, so that no row straddles cache lines."""
    return 1 << (n_fields - 1).bit_length()


def _fields(context: Any, builder: Any, data: Any, row: Any, n_fields: int) -> Iterator[Any]:
    base = builder.mul(row, context.get_constant(types.intp, row_width(n_fields)))
    for field in range(n_fields):
        yield builder.gep(data, [builder.add(base, context.get_constant(types.intp, field))])


def _pointers(
    context: Any, builder: Any, signature: Any, args: Any, n_fields: int
) -> Iterator[Any]:
    """Those of the fields that a state has of a coordinate, given (rule, state, slot, ...)."""
    data = arrayobj.make_array(signature.args[1])(context, builder, args[1]).data
    return _fields(context, builder, data, args[2], n_fields)


@intrinsic
def load(typing_context: Any, rule: Any, state: Any, slot: Any) -> Any:
    """The state of one coordinate: a tuple of as many floats as the rule has state fields."""
    n_fields = len(rule.instance_class.state_fields)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointers = _pointers(context, builder, signature, args, n_fields)
        fields = [builder.load(pointer) for pointer in pointers]
        return cgutils.pack_array(builder, fields)

    return types.UniTuple(types.float64, n_fields)(rule, state, slot), codegen


@intrinsic
def store(typing_context: Any, rule: Any, state: Any, slot: Any, new: Any) -> Any:
    """Write a coordinate's new state back to its row."""
    _check_state(rule, new)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointers = _pointers(context, builder, signature, args, len(new))
        values = _floats(context, builder, new, args[3])
        for pointer, value in zip(pointers, values, strict=True):
            builder.store(value, pointer)
        return context.get_dummy_value()

    return types.void(rule, state, slot, new), codegen


def _check_state(rule: Any, new: Any) -> None:
    cls = rule.instance_class
    if not isinstance(new, types.BaseTuple) or len(new) != len(cls.state_fields):
        raise errors.TypingError(
            f"{cls.__name__}.step must return {len(cls.state_fields)} floats "
            f"{cls.state_fields}, not {new}"
        )


def _floats(context: Any, builder: Any, state: Any, value: Any) -> Iterator[Any]:
    """The parts of a new state, some of which may be whole numbers."""
    for field, kind in enumerate(state):
        yield context.cast(builder, builder.extract_value(value, field), kind, types.float64)


def _bench_pointers(
    context: Any, builder: Any, bench_type: Any, bench: Any, entry: Any, state: Any
) -> Iterator[Any]:
    array = arrayobj.make_array(bench_type)(context, builder, bench)
    length = builder.extract_value(array.shape, 1)
    for field in range(len(state)):
        first = builder.mul(length, context.get_constant(types.intp, field))
        yield builder.gep(array.data, [builder.add(first, entry)])


def _of_field(builder: Any, field: int, n_fields: int, access: Any) -> Any:
    """Tell the compiler that the arrays of different fields do not overlap."""
    add = builder.module.add_metadata
    domain = add(["rarefy bench"])
    scopes = [add([str(n), domain]) for n in range(n_fields)]
    access.set_metadata("alias.scope", add([scopes.pop(field)]))
    access.set_metadata("noalias", add(scopes))
    return access


@intrinsic
def lay_out(typing_context: Any, rule: Any, bench: Any, entry: Any, state: Any) -> Any:
    """Write the state of a row's entry to the bench, which has an array of its own for each field.

    From there, the compiler makes vector instructions of what is done with several entries.
    """
    _check_state(rule, state)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointers = _bench_pointers(context, builder, signature.args[1], args[1], args[2], state)
        values = _floats(context, builder, state, args[3])
        for (field, pointer), value in zip(enumerate(pointers), values, strict=True):
            _of_field(builder, field, len(state), builder.store(value, pointer))
        return context.get_dummy_value()

    return types.void(rule, bench, entry, state), codegen


@intrinsic
def take_up(typing_context: Any, rule: Any, bench: Any, entry: Any) -> Any:
    """The state of an entry on the bench."""
    state = types.UniTuple(types.float64, len(rule.instance_class.state_fields))

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointers = _bench_pointers(context, builder, signature.args[1], args[1], args[2], state)
        fields = [
            _of_field(builder, field, len(state), builder.load(pointer))
            for field, pointer in enumerate(pointers)
        ]
        return cgutils.pack_array(builder, fields)

    return state(rule, bench, entry), codegen


FIRST_LEVEL, SECOND_LEVEL = 3, 2  # of the cache, in LLVM's numbers


def fetch(builder: Any, pointer: Any, level: int = FIRST_LEVEL) -> None:
    """Ask for a cache line that will be needed soon."""
    byte_pointer, i32 = ir.IntType(8).as_pointer(), ir.IntType(32)
    function = builder.module.declare_intrinsic(
        "llvm.prefetch",
        [byte_pointer],
        ir.FunctionType(ir.VoidType(), [byte_pointer, i32, i32, i32]),
    )
    read, data = i32(0), i32(1)
    builder.call(function, [builder.bitcast(pointer, byte_pointer), read, i32(level), data])


@intrinsic
def prefetch(typing_context: Any, rule: Any, state: Any, slot: Any) -> Any:
    """Ask for the cache line of a coordinate that will be needed soon."""
    n_fields = len(rule.instance_class.state_fields)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        fetch(builder, next(_pointers(context, builder, signature, args, n_fields)))
        return context.get_dummy_value()

    return types.void(rule, state, slot), codegen


def _pointer_into(context: Any, builder: Any, signature: Any, args: Any, to: Any) -> Any:
    """Where a number `to` load or store lies: from a position in an array of bytes on."""
    start = arrayobj.make_array(signature.args[0])(context, builder, args[0]).data
    return builder.bitcast(builder.gep(start, [args[1]]), to.as_pointer())


def _loaded(data: Any, word: Any) -> Any:
    """How to load a little-endian number from a position in an array of bytes."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        n_bits = ir.IntType(signature.return_type.bitwidth)
        return builder.load(_pointer_into(context, builder, signature, args, n_bits), align=1)

    return word(data, types.intp), codegen


@intrinsic
def prefetch_item(typing_context: Any, items: Any, at: Any) -> Any:
    """Ask for the cache line of an item of a contiguous array that will be needed soon."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = arrayobj.make_array(signature.args[0])(context, builder, args[0])
        fetch(builder, builder.gep(array.data, [args[1]]))
        return context.get_dummy_value()

    return types.void(items, types.intp), codegen


@intrinsic
def prefetch_row(typing_context: Any, rows: Any, row: Any) -> Any:
    """Ask for the cache line of a row of a contiguous array that will be needed soon."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = arrayobj.make_array(signature.args[0])(context, builder, args[0])
        n_columns = builder.extract_value(array.shape, 1)
        fetch(builder, builder.gep(array.data, [builder.mul(args[1], n_columns)]))
        return context.get_dummy_value()

    return types.void(rows, types.intp), codegen


@intrinsic
def prefetch_byte(typing_context: Any, data: Any, position: Any) -> Any:
    """Ask for the cache line of a position in an array of bytes that will be needed soon."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        start = arrayobj.make_array(signature.args[0])(context, builder, args[0]).data
        fetch(builder, builder.gep(start, [args[1]]))
        return context.get_dummy_value()

    return types.void(data, types.intp), codegen


@intrinsic
def load_word(typing_context: Any, data: Any, position: Any) -> Any:
    """Eight bytes of an array of bytes from a position on, as a little-endian uint64.

    The caller sees to it that they are there.
    """
    return _loaded(data, types.uint64)


@intrinsic
def load_half_word(typing_context: Any, data: Any, position: Any) -> Any:
    """Four bytes, as a little-endian uint32."""
    return _loaded(data, types.uint32)


@intrinsic
def trailing_zeros(typing_context: Any, word: Any) -> Any:
    """How many of the lowest bits of a uint64 are zero; 64 for zero."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.IntType(1)(0))

    return types.uint64(types.uint64), codegen


@intrinsic
def store_word(typing_context: Any, data: Any, position: Any, word: Any) -> Any:
    """Write a uint64 to eight bytes of an array of bytes from a position on, little-endian.

    The caller sees to it that they are there.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _pointer_into(context, builder, signature, args, ir.IntType(64))
        builder.store(args[2], pointer, align=1)
        return context.get_dummy_value()

    return types.void(data, types.intp, types.uint64), codegen


WINDOW = 32  # bytes that are looked at at once: the width of a vector register on most machines


@intrinsic
def bytes_between(typing_context: Any, data: Any, position: Any, low: Any, high: Any) -> Any:
    """Which of the next 32 bytes are from `low` to `high`: a bit for each, the first is lowest.

    The bytes are compared all at once. The caller sees to it that they are there.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        byte, vector = ir.IntType(8), ir.VectorType(ir.IntType(8), WINDOW)
        text = builder.load(_pointer_into(context, builder, signature, args, vector), align=1)

        def repeated(number: Any) -> Any:
            single = builder.insert_element(
                ir.Constant(vector, ir.Undefined), builder.trunc(number, byte), ir.IntType(32)(0)
            )
            all_first = ir.Constant(ir.VectorType(ir.IntType(32), WINDOW), None)
            return builder.shuffle_vector(single, single, all_first)

        offset = builder.sub(text, repeated(args[2]))
        width = repeated(builder.sub(args[3], args[2]))
        found = builder.icmp_unsigned("<=", offset, width)
        return builder.zext(builder.bitcast(found, ir.IntType(WINDOW)), ir.IntType(64))

    return types.uint64(data, types.intp, types.intp, types.intp), codegen


@intrinsic
def count_ones(typing_context: Any, word: Any) -> Any:
    """How many bits of a uint64 are one."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), codegen


@intrinsic
def leading_zeros(typing_context: Any, word: Any) -> Any:
    """How many of the highest bits of a uint64 are zero; 64 for zero."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctlz(args[0], ir.IntType(1)(0))

    return types.uint64(types.uint64), codegen


@intrinsic
def multiply_high(typing_context: Any, a: Any, b: Any) -> Any:
    """The upper 64 of the 128 bits that the product of two uint64 has."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        wide = ir.IntType(128)
        product = builder.mul(*(builder.zext(arg, wide) for arg in args))
        return builder.trunc(builder.lshr(product, wide(64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), codegen


@intrinsic
def float_of_bits(typing_context: Any, bits: Any) -> Any:
    """The double that has these bits."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.uint64), codegen


N_STACK_WORDS = 34


@intrinsic
def words_on_stack(typing_context: Any) -> Any:
    """An array of 34 uint64 with anything in them, which is there until the function returns."""
    array_type = types.Array(types.uint64, 1, "C")

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = arrayobj.make_array(array_type)(context, builder)
        arrayobj.populate_array(
            array,
            data=cgutils.alloca_once(builder, ir.IntType(64), size=N_STACK_WORDS),
            shape=[context.get_constant(types.intp, N_STACK_WORDS)],
            strides=[context.get_constant(types.intp, 8)],
            itemsize=context.get_constant(types.intp, 8),
            meminfo=None,
        )
        return array._getvalue()

    return array_type(), codegen
