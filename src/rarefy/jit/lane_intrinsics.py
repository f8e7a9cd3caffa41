"""Compiler support for models side by side: the loop over lanes, and access to their numbers.

A lane is one of WIDTH models. What they have in common, such as their class, is compiled in; their
floats lie in arrays whose last axis is the lane. A function that `each_lane` calls for every lane
reads and writes its own lane only, and becomes vector instructions that do all lanes at once, as
far as it has no calls or loops of its own. Every lane's arithmetic is that of a model by itself.

Read from Numba 0.68 and llvmlite 0.50.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from rarefy.jit.intrinsics import SECOND_LEVEL, fetch
from rarefy.jit.marks import Late, intrinsic

arrayobj, cgutils = Late("numba.np.arrayobj"), Late("numba.core.cgutils")
ir, types = Late("llvmlite.ir"), Late("numba.core.types")

WIDTH = 8  # lanes; one field of them all is a cache line, and a vector register of most machines

# Arrays of different roles never overlap; told so, the compiler keeps numbers in registers.
ROLES = ("state", "parameters", "clocks", "work", "tallies")
STATE, PARAMETERS, CLOCKS, WORK, TALLIES = ROLES


def _loop_id(module: Any, *properties: Any) -> Any:
    """Names a loop, for which LLVM wants a node that refers to itself."""

    class LoopId(ir.MDValue):  # type: ignore[name-defined]
        __eq__ = object.__eq__
        __hash__ = object.__hash__

    node = LoopId(module, (), name=str(len(module.metadata)))
    node.operands = (node, *properties)
    return node


@intrinsic
def each_lane(typing_context: Any, function: Any, arguments: Any) -> Any:
    """Call function(lane, *arguments) for every lane.

    Unrolled early, the loop would no longer be seen as one that can be vectorised.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        function_type, argument_types = signature.args
        inner = function_type.get_call_type(
            context.typing_context, (types.intp, *argument_types), {}
        )
        call = context.get_function(function_type, inner)
        context.add_linking_libs(getattr(call, "libs", ()))
        values = cgutils.unpack_tuple(builder, args[1])
        intp = context.get_value_type(types.intp)
        before = builder.block
        body, after = (builder.append_basic_block(name) for name in ("lane", "lanes.done"))
        builder.branch(body)
        builder.position_at_end(body)
        lane = builder.phi(intp)
        lane.add_incoming(intp(0), before)
        call(builder, [lane, *values])
        following = builder.add(lane, intp(1))
        lane.add_incoming(following, builder.block)
        again = builder.cbranch(builder.icmp_signed("<", following, intp(WIDTH)), body, after)
        not_unrolled = builder.module.add_metadata(["llvm.loop.unroll.disable"])
        again.set_metadata("llvm.loop", _loop_id(builder.module, not_unrolled))
        builder.position_at_end(after)
        return context.get_dummy_value()

    function.get_call_type(typing_context, (types.intp, *arguments), {})
    return types.void(function, arguments), codegen


def in_role(builder: Any, role: str, access: Any) -> Any:
    """Tell the compiler of what role the memory is that a load or store goes to."""
    add = builder.module.add_metadata
    domain = add(["rarefy"])
    scopes = {name: add([name, domain]) for name in ROLES}
    access.set_metadata("alias.scope", add([scopes.pop(role)]))
    access.set_metadata("noalias", add(list(scopes.values())))
    return access


def pointer_to(context: Any, builder: Any, array_type: Any, array: Any, row: Any, lane: Any) -> Any:
    """Where a row of an array has its number for a lane."""
    data = arrayobj.make_array(array_type)(context, builder, array).data
    index = builder.add(builder.mul(row, context.get_constant(types.intp, WIDTH)), lane)
    return builder.gep(data, [index])


def is_true(builder: Any, condition: Any) -> Any:
    """Whether the condition that a float stands for holds."""
    return builder.fcmp_ordered("!=", condition, ir.Constant(condition.type, 0.0))


def _part_reader(role: str) -> Any:
    @intrinsic
    def part(typing_context: Any, prototype: Any, columns: Any, lane: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            rows = _counting(context)

            def built(part_type: Any, value: Any) -> Any:
                if part_type == types.float64:
                    pointer = pointer_to(
                        context, builder, signature.args[1], args[1], next(rows), args[2]
                    )
                    return in_role(builder, role, builder.load(pointer))
                if not isinstance(part_type, types.BaseTuple):
                    return value
                parts = [
                    built(inner, builder.extract_value(value, i))
                    for i, inner in enumerate(part_type)
                ]
                return context.make_tuple(builder, part_type, parts)

            return built(prototype, args[0])

        return prototype(prototype, columns, types.intp), codegen

    return part


# part(prototype, columns, lane): the prototype with the lane's own floats, nested ones included.
parameters_of = _part_reader(PARAMETERS)
clock_of = _part_reader(CLOCKS)


def _counting(context: Any) -> Iterator[Any]:
    row = 0
    while True:
        yield context.get_constant(types.intp, row)
        row += 1


@intrinsic
def set_clock(
    typing_context: Any, clock: Any, condition: Any, new: Any, columns: Any, lane: Any
) -> Any:
    """Write a lane's new clock in place of the one it has, where the condition holds."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        old, flag, value, array, lane_value = args
        holds = is_true(builder, flag)
        rows = _counting(context)

        def write(part_type: Any, before: Any, after: Any) -> None:
            if part_type == types.float64:
                pointer = pointer_to(
                    context, builder, signature.args[3], array, next(rows), lane_value
                )
                chosen = builder.select(holds, after, before)
                in_role(builder, CLOCKS, builder.store(chosen, pointer))
            elif isinstance(part_type, types.BaseTuple):
                for i, inner in enumerate(part_type):
                    extracted = (builder.extract_value(both, i) for both in (before, after))
                    write(inner, *extracted)

        write(clock, old, value)
        return context.get_dummy_value()

    return types.void(clock, types.float64, clock, columns, types.intp), codegen


def pointers_from(
    context: Any, builder: Any, array_type: Any, place: Sequence[Any], n: int
) -> Iterator[Any]:
    """Where n numbers of a place, (array, first row, lane), lie."""
    array, first, lane = place
    for i in range(n):
        row = builder.add(first, context.get_constant(types.intp, i))
        yield pointer_to(context, builder, array_type, array, row, lane)


def _state_pointers(
    context: Any, builder: Any, array_type: Any, place: Sequence[Any], n_fields: int
) -> Iterator[Any]:
    """Where the fields of a place, (array, slot, lane), lie."""
    array, slot, lane = place
    first = builder.mul(slot, context.get_constant(types.intp, n_fields))
    return pointers_from(context, builder, array_type, (array, first, lane), n_fields)


@intrinsic
def load(typing_context: Any, rule: Any, state: Any, slot: Any, lane: Any) -> Any:
    """A lane's state of one coordinate."""
    n_fields = len(rule.instance_class.state_fields)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointers = _state_pointers(context, builder, signature.args[1], args[1:], n_fields)
        fields = [in_role(builder, STATE, builder.load(pointer)) for pointer in pointers]
        return cgutils.pack_array(builder, fields)

    state_type = types.UniTuple(types.float64, n_fields)
    return state_type(rule, state, types.intp, types.intp), codegen


@intrinsic
def store(
    typing_context: Any, rule: Any, state: Any, slot: Any, lane: Any, condition: Any, new: Any
) -> Any:
    """Write a lane's new state of a coordinate, where the condition holds.

    What is there is written back elsewhere, which is no branch and so can be done for all at once.
    """
    n_fields = len(rule.instance_class.state_fields)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointers = _state_pointers(context, builder, signature.args[1], args[1:4], n_fields)
        holds = is_true(builder, args[4])
        for field, pointer in enumerate(pointers):
            value = builder.extract_value(args[5], field)
            value = context.cast(builder, value, new[field], types.float64)
            old = in_role(builder, STATE, builder.load(pointer))
            in_role(builder, STATE, builder.store(builder.select(holds, value, old), pointer))
        return context.get_dummy_value()

    return types.void(rule, state, types.intp, types.intp, types.float64, new), codegen


@intrinsic
def prefetch(typing_context: Any, rule: Any, state: Any, slot: Any) -> Any:
    """Ask for all lanes' state of a coordinate that will be needed soon.

    It is brought to the second level of the cache: that of one example fills the first.
    """
    n_fields = len(rule.instance_class.state_fields)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        lane = context.get_constant(types.intp, 0)
        pointers = _state_pointers(context, builder, signature.args[1], [*args[1:], lane], n_fields)
        for pointer in pointers:
            fetch(builder, pointer, SECOND_LEVEL)
        return context.get_dummy_value()

    return types.void(rule, state, types.intp), codegen


@intrinsic
def get(typing_context: Any, work: Any, row: Any, lane: Any) -> Any:
    """A number from a row of the lanes' work."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = pointer_to(context, builder, signature.args[0], *args)
        return in_role(builder, WORK, builder.load(pointer))

    return types.float64(work, types.intp, types.intp), codegen


@intrinsic
def put(typing_context: Any, work: Any, row: Any, lane: Any, number: Any) -> Any:
    """Write a number to a row of the lanes' work."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = pointer_to(context, builder, signature.args[0], *args[:3])
        in_role(builder, WORK, builder.store(args[3], pointer))
        return context.get_dummy_value()

    return types.void(work, types.intp, types.intp, types.float64), codegen


@intrinsic
def add(typing_context: Any, tallies: Any, tally: Any, lane: Any, number: Any) -> Any:
    """Add a number to one of a lane's tallies."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = pointer_to(context, builder, signature.args[0], *args[:3])
        before = in_role(builder, TALLIES, builder.load(pointer))
        in_role(builder, TALLIES, builder.store(builder.fadd(before, args[3]), pointer))
        return context.get_dummy_value()

    return types.void(tallies, types.intp, types.intp, types.float64), codegen
