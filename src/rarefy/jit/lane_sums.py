"""Sums over the entries of a row for rules of lanes.

Read from Numba 0.68 and llvmlite 0.50.
"""

from typing import Any

from rarefy.jit.lane_intrinsics import WORK, in_role, is_true, pointers_from
from rarefy.jit.marks import Late, intrinsic
from rarefy.jit.sum_tuples import floats

types = Late("numba.core.types")


@intrinsic
def clear_step_sums(typing_context: Any, rule: Any, work: Any, first: Any, lane: Any) -> Any:
    """Begin a lane's sums over the steps of a row."""
    n = len(rule.instance_class.step_sums)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        zero = context.get_constant(types.float64, 0.0)
        for pointer in pointers_from(context, builder, signature.args[1], args[1:], n):
            in_role(builder, WORK, builder.store(zero, pointer))
        return context.get_dummy_value()

    return types.void(rule, work, types.intp, types.intp), codegen


@intrinsic
def step_sums_of(typing_context: Any, rule: Any, work: Any, first: Any, lane: Any) -> Any:
    """A lane's sums over the steps of a row."""
    n = len(rule.instance_class.step_sums)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointers = pointers_from(context, builder, signature.args[1], args[1:], n)
        sums = [in_role(builder, WORK, builder.load(pointer)) for pointer in pointers]
        return context.make_tuple(builder, signature.return_type, sums)

    return floats(n)(rule, work, types.intp, types.intp), codegen


@intrinsic
def add_terms(
    typing_context: Any, work: Any, first: Any, lane: Any, condition: Any, terms: Any, times: Any
) -> Any:
    """Add terms, each so many times, to a lane's sums, where the condition holds."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        holds = is_true(builder, args[3])
        pointers = pointers_from(context, builder, signature.args[0], args[:3], len(terms))
        for (i, kind), pointer in zip(enumerate(terms), pointers, strict=True):
            term = context.cast(builder, builder.extract_value(args[4], i), kind, types.float64)
            before = in_role(builder, WORK, builder.load(pointer))
            after = builder.fadd(before, builder.fmul(args[5], term))
            in_role(builder, WORK, builder.store(builder.select(holds, after, before), pointer))
        return context.get_dummy_value()

    signature = (work, types.intp, types.intp, types.float64, terms, types.float64)
    return types.void(*signature), codegen
