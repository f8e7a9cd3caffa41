"""The only place that knows the compiler: what marks mean to it, and how it makes machine code."""

import functools
import inspect
import types as python_types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numba
from llvmlite import binding as llvm
from llvmlite import ir
from numba import types
from numba.core import compiler, config, typing, utils
from numba.core.compiler_lock import global_compiler_lock
from numba.core.errors import NumbaError
from numba.core.registry import cpu_target
from numba.core.typing.templates import (
    AbstractTemplate,
    AttributeTemplate,
    infer,
    infer_getattr,
    infer_global,
    make_intrinsic_template,
)
from numba.extending import lower_builtin, register_jitable

from rarefy.jit.dispatch import CompileError
from rarefy.jit.marks import is_ours, marks
from rarefy.jit.object_code import C_TYPES, ENTRY, Image, assembled

# Strict IEEE arithmetic (no fastmath): the same data give the same bits, and NaN is never lost.
OPTIONS = {"error_model": "numpy", "no_cfunc_wrapper": True, "_nrt": True}
# Loops and what they call make no arrays, and so need not count references to those they are given,
# which can take half of the time.
IN_PLACE = {**OPTIONS, "_nrt": False}

_methods: dict[type, dict[str, type]] = {}
_in_use: list[Any] = []  # what was compiled, and is called at addresses that do not keep it alive


def compile_image(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Image:
    """Machine code for arguments of these kinds.

    LLVM learns where Numba has it in this process: only there it finds Python's objects, which
    printing, for one, needs.
    """
    flags = compiler.Flags()
    flags.error_model = "numpy"
    flags.nrt = False
    flags.no_cpython_wrapper = True
    flags.no_cfunc_wrapper = True
    context, target = cpu_target.typing_context, cpu_target.target_context
    with _compiling():
        register_marks()
        try:
            kinds = tuple(typing.typeof.typeof(argument) for argument in arguments)
            made = compiler.compile_extra(context, target, function, kinds, None, flags, {})
        except NumbaError as error:
            raise CompileError(str(error)) from error
        _in_use.append(made)
        name, library = made.fndesc.llvm_func_name, made.library
        llvm.add_symbol(name, library.get_pointer_to_function(name))
        signature = target.call_conv.get_function_type(made.fndesc.restype, made.fndesc.argtypes)
        return Image(
            "".join(map(_format, signature.args[2:])),
            _result(made.fndesc.restype),
            [called for called in _called(library) if not called.startswith("llvm.")],
            assembled(_entry(name, signature)).hex(),
            library._get_compiled_object(),
        )


def call(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Compile for any arguments, and run."""
    try:
        return _dispatcher(function, tuple(_classes(arguments)))(*arguments)
    except NumbaError as error:
        raise CompileError(str(error)) from error


@contextmanager
def _compiling() -> Iterator[None]:
    """Inside, nobody else compiles, and NUMBA_DISABLE_JIT is of no account.

    That is for functions that are Python, too; loops have instructions in them that are not.
    """
    with global_compiler_lock:
        disabled, config.DISABLE_JIT = config.DISABLE_JIT, 0
        try:
            yield
        finally:
            config.DISABLE_JIT = disabled


def _classes(arguments: tuple[Any, ...]) -> Iterator[type]:
    for argument in arguments:
        yield type(argument)
        if isinstance(argument, tuple):
            yield from _classes(argument)


@functools.cache
def _dispatcher(function: Callable[..., Any], classes: tuple[type, ...]) -> Callable[..., Any]:
    """One for each kind of classes: Numba takes those of the same name for the same."""
    with _compiling():
        register_marks()
        dispatcher = numba.njit(nogil=True, **OPTIONS)(function)
    dispatcher._compile_for_args = _compiling()(dispatcher._compile_for_args)
    return dispatcher  # type: ignore[no-any-return]


def _called(library: Any) -> Iterator[str]:
    """The functions that it has not itself."""
    return (each.name for each in library._final_module.functions if each.is_declaration)


def _entry(name: str, function: Any) -> str:
    """Takes the arguments in a struct: to Python, each argument of a call proper is some work."""
    result, error, *others = function.args
    module, pointer = ir.Module(), ir.LiteralStructType(others).as_pointer()
    entry = ir.Function(module, ir.FunctionType(ir.IntType(32), [result, error, pointer]), ENTRY)
    builder = ir.IRBuilder(entry.append_basic_block())
    fields = ([ir.IntType(32)(0), ir.IntType(32)(n)] for n in range(len(others)))
    arguments = [builder.load(builder.gep(entry.args[2], field)) for field in fields]
    call = builder.call(ir.Function(module, function, name), [*entry.args[:2], *arguments])
    builder.ret(call)
    return str(module)


def _format(kind: Any) -> str:
    """As `struct` names it."""
    if isinstance(kind, ir.PointerType):
        return "P"
    if isinstance(kind, ir.IntType):
        return {8: "b", 32: "i", 64: "q"}[kind.width]
    return "d"


def _result(kind: Any) -> Any:
    """What comes back, as an image says it."""
    if isinstance(kind, types.NoneType):
        return None
    if isinstance(kind, types.BaseTuple):
        cls = getattr(kind, "instance_class", None)
        return [cls and _path(cls), *(_result(part) for part in kind)]
    if isinstance(kind, types.IntEnumMember):
        return [_path(kind.instance_class), _result(kind.dtype)]
    name = str(types.unliteral(kind))
    if name not in C_TYPES:
        raise CompileError(f"A loop cannot return {name}.")
    return name


def _path(cls: type) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"


@global_compiler_lock
def register_marks() -> None:
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
    """How compiled code types and calls one method of one class."""
    _register(function)

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


register_marks()
