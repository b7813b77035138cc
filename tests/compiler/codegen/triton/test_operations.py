"""Each operation of the table has a spelling, and compiles for sm_90."""

from collections.abc import Callable

import pytest

from compiler.codegen.triton.printer import print_kernel
from compiler.ir.expression import make
from compiler.ir.index import digit
from compiler.ir.kernel import Kernel, Store
from compiler.ir.operations import OPERATIONS
from compiler.ir.scalar import load
from compiler.runtime.triton_kernel import TritonKernel
from compiler.triton_api import ttir_text

X = digit("i")
Make = Callable[..., Kernel]
BY_PRINTER = ("guard", "cast", "bitcast", "from_index", "checked_index", "random_bits")
WHOLE = ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "shift_left")
FLOATS = [
    name
    for name, row in OPERATIONS.items()
    if name not in (*BY_PRINTER, *WHOLE, "shift_right", "where")
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_all_operations_on_floats_are_known_to_triton(
    make_kernel: Make, dtype: str
) -> None:
    built = all_on_floats(make_kernel, dtype)
    signature = built.arguments(False, 90)["signature"]
    text = ttir_text(built.function, signature, {})
    assert text.count("tt.store") == len(FLOATS)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_all_operations_on_floats_compile(make_kernel: Make, dtype: str) -> None:
    assert all_on_floats(make_kernel, dtype).compile(arch=90).asm["cubin"]


def all_on_floats(make_kernel: Make, dtype: str) -> TritonKernel:
    stages, arrays = [], {"a": (dtype, (4096,)), "b": (dtype, (4096,))}
    operands = tuple(load(name, (X,), dtype) for name in "ab")
    for name in FLOATS:
        row = OPERATIONS[name]
        kind = "bool" if row.result == "bool" else dtype
        args = (*operands, operands[0])[: row.arity]
        stages.append(Store(name, (X,), make(name, args, kind), False))
        arrays[name] = (kind, (4096,))
    return TritonKernel(print_kernel(make_kernel(stages, arrays, {X: 4096})))


@pytest.mark.parametrize("dtype", ["int32", "int64", "int8", "uint8", "bool"])
def test_all_operations_on_integers_print(make_kernel: Make, dtype: str) -> None:
    names: tuple[str, ...] = ("maximum", "minimum", *WHOLE[:4])
    if dtype != "bool":
        names += ("shift_left", "shift_right", "floordiv", "remainder", "fmod", "abs")
    stages, arrays = [], {"a": (dtype, (64,)), "b": (dtype, (64,))}
    operands = tuple(load(name, (X,), dtype) for name in "ab")
    for name in names:
        args = operands[: OPERATIONS[name].arity]
        stages.append(Store(name, (X,), make(name, args, dtype), False))
        arrays[name] = (dtype, (64,))
    built = TritonKernel(print_kernel(make_kernel(stages, arrays, {X: 64})))
    assert built.compile(arch=90).asm["ptx"]
