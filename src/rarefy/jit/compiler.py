"""Compiling loops to machine code that runs without Numba, by Numba's private parts.

Read from Numba 0.68 and llvmlite 0.50, and run with all from Numba 0.61 and llvmlite 0.44 on:
`compile_extra` and its flags, how compiled functions are called and what they return, and their
object code. Others may be made differently inside; private_path.py finds out.
"""

from collections.abc import Callable, Iterator
from typing import Any

from llvmlite import binding as llvm
from llvmlite import ir
from numba import types
from numba.core import compiler, typing
from numba.core.errors import NumbaError
from numba.core.registry import cpu_target

from rarefy.jit.dispatch import CompileError
from rarefy.jit.object_code import C_TYPES, ENTRY, ObjectCode, assembled
from rarefy.jit.registration import compiling

_in_use: list[Any] = []  # what was compiled, and is called at addresses that do not keep it alive


def compile_object_code(function: Callable[..., Any], arguments: tuple[Any, ...]) -> ObjectCode:
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
    with compiling():
        try:
            kinds = tuple(typing.typeof.typeof(argument) for argument in arguments)
            made = compiler.compile_extra(context, target, function, kinds, None, flags, {})
        except NumbaError as error:
            raise CompileError(str(error)) from error
        _in_use.append(made)
        name, library = made.fndesc.llvm_func_name, made.library
        llvm.add_symbol(name, library.get_pointer_to_function(name))
        signature = target.call_conv.get_function_type(made.fndesc.restype, made.fndesc.argtypes)
        return ObjectCode(
            "".join(map(_format, signature.args[2:])),
            _result(made.fndesc.restype),
            [called for called in _called(library) if not called.startswith("llvm.")],
            assembled(_entry(name, signature)).hex(),
            library._get_compiled_object(),
        )


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
    """What comes back, as `ObjectCode` says it."""
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
