"""The corners of Triton that are not its public interface; used from here only.

Works with Triton 3.6 to 3.9. Import this module where it is used: it loads triton.
"""

import warnings
from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


def interpreted(kernel: Any) -> Any:
    """Return ``kernel`` as a kernel that runs on CPU tensors in Triton's interpreter.

    The ``@triton.jit`` functions of its module that it calls are interpreted too.

    Args:
        kernel: A ``@triton.jit`` function.
    """
    from triton.runtime.interpreter import InterpretedFunction

    module = kernel.fn.__globals__
    space = dict(module)

    def interpret(jitted: Any) -> Any:
        fn = jitted.fn
        copy = FunctionType(
            fn.__code__, space, fn.__name__, fn.__defaults__, fn.__closure__
        )
        copy.__kwdefaults__ = fn.__kwdefaults__
        copy.__annotations__ = fn.__annotations__
        return InterpretedFunction(copy)

    for name, value in module.items():
        if isinstance(value, triton.JITFunction) and value.fn.__globals__ is module:
            space[name] = interpret(value)
    return interpret(kernel)


def reinterpret(tensor: Any, element_bytes: int) -> Any:
    """Return ``tensor`` as a kernel argument with integer elements of another width.

    Args:
        tensor: A contiguous torch tensor, aligned to ``element_bytes``.
        element_bytes: 1, 2, 4 or 8 [bytes].
    """
    language = triton.language
    types = {
        1: language.int8,
        2: language.int16,
        4: language.int32,
        8: language.int64,
    }
    return triton.reinterpret(tensor, types[element_bytes])


def compile_kernel(
    kernel: Any,
    signature: Mapping[str, str],
    constants: Mapping[str, Any],
    *,
    aligned: Sequence[str] = (),
    num_warps: int = 4,
    arch: int = 90,
) -> Any:
    """Compile for an NVIDIA GPU that need not be there.

    Args:
        kernel: A ``@triton.jit`` function.
        signature: Parameter name -> type in Triton's spelling (``"*i32"``, ``"i64"``).
        constants: Parameter name -> value of each ``tl.constexpr``.
        aligned: Parameters that are multiples of 16.
        num_warps: Warps of a program.
        arch: Compute capability times ten.

    Returns:
        Triton's compiled kernel; ``.asm["ptx"]`` is the PTX.
    """
    names = list(kernel.arg_names)
    source = ASTSource(
        fn=kernel,
        signature={**signature, **dict.fromkeys(constants, "constexpr")},
        constexprs={(names.index(name),): value for name, value in constants.items()},
        attrs={(names.index(name),): [["tt.divisibility", 16]] for name in aligned},
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 3.9 advises on options that are not used
        return triton.compile(
            source,
            target=GPUTarget("cuda", arch, 32),
            options={"num_warps": num_warps},
        )


def ttir_text(
    kernel: Any,
    signature: Mapping[str, str],
    constants: Mapping[str, Any],
    *,
    divisible: Mapping[str, int] | None = None,
    arch: int = 90,
) -> str:
    """Compile to Triton's first level, TTIR, and return its text with locations.

    Nothing below is compiled, and no cache is read or written.

    Args:
        kernel: A ``@triton.jit`` function.
        signature: Parameter name -> type in Triton's spelling (``"*fp32"``, ``"i32"``).
        constants: Parameter name -> value of each ``tl.constexpr``.
        divisible: Parameter name -> number that the launcher promises to divide it.
        arch: Compute capability times ten.
    """
    from triton._C.libtriton import ir
    from triton.compiler.compiler import make_backend

    names = list(kernel.arg_names)
    source = ASTSource(
        fn=kernel,
        signature={
            name: "constexpr" if name in constants else signature[name]
            for name in names
        },
        constexprs={(names.index(name),): value for name, value in constants.items()},
        attrs={
            (names.index(name),): [["tt.divisibility", by]]
            for name, by in (divisible or {}).items()
        },
    )
    target = GPUTarget("cuda", arch, 32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 3.9 advises on options that are not used
        backend = make_backend(target)
        options = backend.parse_options({})
        stages: dict[str, Any] = {}
        backend.add_stages(stages, options, source.language)
        context = ir.context()
        ir.load_dialects(context)
        backend.load_dialects(context)
        functions = backend.get_codegen_implementation(options)
        modules = backend.get_module_map()
        module = source.make_ir(target, options, functions, modules, context)
        module = stages["ttir"](module, {"target": target, **options.__dict__})
    return str(module)


def compile_gluon(
    kernel: Any,
    signature: Mapping[str, str],
    constants: Mapping[str, Any],
    *,
    aligned: Sequence[str] = (),
    num_warps: int = 4,
    arch: int = 90,
) -> Any:
    """Compile a ``@gluon.jit`` function for an NVIDIA GPU that need not be there.

    The arguments are those of ``compile_kernel``.
    """
    from triton.experimental.gluon._runtime import GluonASTSource

    names = list(kernel.arg_names)
    source = GluonASTSource(
        fn=kernel,
        signature={**signature, **dict.fromkeys(constants, "constexpr")},
        constexprs=dict(constants),
        attrs={(names.index(name),): [["tt.divisibility", 16]] for name in aligned},
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 3.9 advises on options that are not used
        return triton.compile(
            source,
            target=GPUTarget("cuda", arch, 32),
            options={"num_warps": num_warps},
        )


def relaunch(compiled: Any, programs: int, arguments: Sequence[Any]) -> None:
    """Launch again what a first launch returned, without looking at the arguments.

    Args:
        compiled: The result of ``kernel[grid](...)``.
        programs: Number of programs.
        arguments: All arguments in the kernel's order, constants too, of the same
            types and alignments as at the first launch.
    """
    compiled[(programs, 1, 1)](*arguments)
