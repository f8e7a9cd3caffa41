"""Registering marked functions, methods and intrinsics with Numba.

Read from Numba 0.68. This is its interface for extensions (`numba.extending` and the templates that
it is made of), and both ways to compile need it: that of compiler.py and that of njit.py.
"""

import gc
import inspect
import types as python_types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba import types
from numba.core import config, utils
from numba.core.compiler_lock import global_compiler_lock
from numba.core.typing.templates import (
    AbstractTemplate,
    AttributeTemplate,
    infer,
    infer_getattr,
    infer_global,
    make_intrinsic_template,
)
from numba.extending import lower_builtin, register_jitable

from rarefy.jit.marks import is_ours, marks

# Strict IEEE arithmetic (no fastmath): the same data give the same bits, and NaN is never lost.
OPTIONS = {"error_model": "numpy", "no_cfunc_wrapper": True, "_nrt": True}
# Loops and what they call make no arrays, and so need not count references to those they are given,
# which can take half of the time.
IN_PLACE = {**OPTIONS, "_nrt": False}

_methods: dict[type, dict[str, type]] = {}


@contextmanager
def compiling() -> Iterator[None]:
    """Inside, all marks are known, nobody else compiles, and NUMBA_DISABLE_JIT is of no account.

    That is for functions that are Python, too; loops have instructions in them that are not. The
    compiler makes so many objects that looking for garbage meanwhile is a tenth of its time.
    """
    with global_compiler_lock:
        disabled, config.DISABLE_JIT = config.DISABLE_JIT, 0
        collects = gc.isenabled()
        gc.disable()
        try:
            _register_marks()
            yield
        finally:
            config.DISABLE_JIT = disabled
            if collects:
                gc.enable()


def _register_marks() -> None:
    """Tell the compiler of what was marked since the last time."""
    while marks.functions:
        _register(*marks.functions.pop())
    while marks.classes:
        cls = marks.classes.pop()
        _methods[cls] = {
            name: _bound_function_template(cls, name, method) for name, method in _methods_of(cls)
        }
    while marks.intrinsics:
        definition = marks.intrinsics.pop()
        template = make_intrinsic_template(
            definition, definition, definition.__name__, prefer_literal=False, kwargs={}
        )
        infer(template)
        infer_global(definition, types.Function(template))


def _register(function: Callable[..., Any], is_inlined: bool = False) -> None:
    """Other people's functions may make arrays."""
    options = IN_PLACE if is_ours(function) else OPTIONS
    register_jitable(**options, forceinline=is_inlined)(function)


def _methods_of(cls: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name, value in inspect.getmembers(cls):
        if isinstance(value, python_types.FunctionType) and not name.startswith("_"):
            yield name, value


@infer_getattr
class _MethodsOfNamedTuples(AttributeTemplate):
    """Resolves the methods of marked classes; leaves fields and other NamedTuples alone."""

    key = types.BaseNamedTuple

    def generic_resolve(self, typ: Any, attribute: str) -> Any:
        templates = _methods.get(typ.instance_class, {})
        return types.BoundFunction(templates[attribute], typ) if attribute in templates else None


def _bound_function_template(cls: type, name: str, function: Callable[..., Any]) -> type:
    """How compiled code types and calls one method of one class.

    The step of a rule is put where it is called: a call for each entry of a row would pass the
    whole clock through memory.
    """
    _register(function, is_inlined=name == "step")

    class MethodTemplate(AbstractTemplate):
        key = (cls, name)

        def generic(self, args: Any, kws: Any) -> Any:
            function_type = self.context.resolve_value_type(function)
            signature = function_type.get_call_type(self.context, (self.this, *args), kws)
            return signature.replace(pysig=utils.pysignature(function)).as_method()

    @lower_builtin(MethodTemplate.key, types.BaseNamedTuple, types.VarArg(types.Any))
    def call_method(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if len(args) < len(signature.args):  # Numba forgets a receiver that has no fields
            args = [context.make_tuple(builder, signature.args[0], ()), *args]
        function_type = context.typing_context.resolve_value_type(function)
        signature = function_type.get_call_type(context.typing_context, signature.args, {})
        call = context.get_function(function_type, signature)
        context.add_linking_libs(getattr(call, "libs", ()))
        return call(builder, args)

    return MethodTemplate
