"""Tuples of sums; with no sums, nothing is compiled.

Read from Numba 0.68.
"""

from typing import Any

from rarefy.jit.marks import Late, intrinsic

errors, types = Late("numba.core.errors"), Late("numba.core.types")


def floats(n: int) -> Any:
    """The type of a tuple of so many."""
    return types.BaseTuple.from_types((types.float64,) * n)


def _zeros(n: int, rule: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        zero = context.get_constant(types.float64, 0.0)
        return context.make_tuple(builder, signature.return_type, [zero] * n)

    return floats(n)(rule), codegen


@intrinsic
def row_zeros(typing_context: Any, rule: Any) -> Any:
    """As many zeros as the rule has sums over a row."""
    return _zeros(len(rule.instance_class.row_sums), rule)


@intrinsic
def step_zeros(typing_context: Any, rule: Any) -> Any:
    """As many zeros as the rule has sums over the steps of a row."""
    return _zeros(len(rule.instance_class.step_sums), rule)


def check_terms(terms: Any, n: int) -> None:
    if not isinstance(terms, types.BaseTuple) or len(terms) != n:
        raise errors.TypingError(f"a rule has to give as many terms as sums, {n}, not {terms}")


@intrinsic
def plus(typing_context: Any, sums: Any, terms: Any) -> Any:
    """The sums with a term added to each; an intercept that is apart has no terms."""
    if len(terms) == 0:
        return sums(sums, terms), lambda context, builder, signature, args: args[0]
    check_terms(terms, len(sums))

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        added = []
        for i, kind in enumerate(terms):
            term = context.cast(builder, builder.extract_value(args[1], i), kind, types.float64)
            added.append(builder.fadd(builder.extract_value(args[0], i), term))
        return context.make_tuple(builder, signature.return_type, added)

    return floats(len(sums))(sums, terms), codegen


@intrinsic
def times(typing_context: Any, factor: Any, terms: Any) -> Any:
    """The terms, each multiplied by the factor."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        products = []
        for i, kind in enumerate(terms):
            term = context.cast(builder, builder.extract_value(args[1], i), kind, types.float64)
            products.append(builder.fmul(args[0], term))
        return context.make_tuple(builder, signature.return_type, products)

    return floats(len(terms))(types.float64, terms), codegen
