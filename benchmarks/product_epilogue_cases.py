"""Products of five models with what reads them, as programs and in float64.

Shapes, layouts, types and epilogues are those that the compiler sees in the models of
``fusing_gpu_models.py`` under bfloat16 autocast, where residual streams are float32.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.nn import functional

from compiler.ir.expression import Expression
from compiler.ir.index import add, contiguous_strides, digit, index, mul
from compiler.ir.kernel import Free, Kernel, Schedule, Step
from compiler.ir.node import (
    Axis,
    Buffer,
    Extern,
    Map,
    Node,
    Program,
    Reduce,
    Reference,
    Tiling,
)
from compiler.ir.scalar import apply, cast, constant, load

HALF = "bfloat16"
EPSILON = 1e-5
aten = torch.ops.aten

Exact = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""Takes the product and the other array, both float64."""


def _float(value: float) -> Expression:
    return constant(value, "float32")


def _gelu(x: Expression, other: Expression) -> Expression:
    half = apply("mul", _float(0.5), x)
    return apply(
        "mul",
        half,
        apply("add", _float(1.0), apply("erf", apply("mul", x, _float(0.5**0.5)))),
    )


def _gelu_tanh(x: Expression, other: Expression) -> Expression:
    half = cast(cast(apply("mul", x, _float(0.5)), HALF), "float32")
    cube = apply("mul", apply("mul", x, x), apply("mul", x, _float(0.044715)))
    inner = apply("mul", apply("add", x, cube), _float(0.7978845608028654))
    return apply("mul", half, apply("add", apply("tanh", inner), _float(1.0)))


def _gated(x: Expression, other: Expression) -> Expression:
    below = apply("add", _float(1.0), apply("exp", apply("neg", other)))
    silu = cast(cast(apply("truediv", other, below), HALF), "float32")
    return apply("mul", silu, x)


def _added(x: Expression, other: Expression) -> Expression:
    return apply("add", other, x)


def _plain(x: Expression, other: Expression) -> Expression:
    return x


EPILOGUES: Mapping[str, tuple[Callable[..., Expression], Exact]] = {
    "gelu": (_gelu, lambda x, _: functional.gelu(x)),
    "gelu_tanh": (_gelu_tanh, lambda x, _: functional.gelu(x, approximate="tanh")),
    "gated": (_gated, lambda x, y: functional.silu(y) * x),
    "residual": (_added, lambda x, y: x + y),
    "plain": (_plain, lambda x, _: x),
}
"""Name -> value by the product and the other array; the same in float64."""

_READS_OTHER = ("gated", "residual")


@dataclass(frozen=True, slots=True)
class Case:
    """A product and what reads it.

    Attributes:
        name: Model and place.
        shape: Rows, columns, terms [elements].
        epilogue: A key of :data:`EPILOGUES`.
        times: How often the model does it.
        bias: Whether a row is added.
        weight_rows: Whether rows of the right factor are adjacent; else its columns
            are, as in a transposed weight.
        dtype: Of the result and of the other array.
        batch: The result has this many matrices of rows; 1: it is one matrix.
        turned: Whether the result's rows are adjacent, within a matrix.
        normed: Whether a normalisation reads the result: its kernel could take the map,
            so that none of its own would be saved.
        stays: Whether more than the normalisation reads the result.
        left_columns: Whether columns of the left factor are adjacent, as where a
            weight's gradient is computed; else its rows are.
        gap: Between what is adjacent in the factors [elements].
    """

    name: str
    shape: tuple[int, int, int]
    epilogue: str
    times: int = 12
    bias: bool = True
    weight_rows: bool = False
    dtype: str = HALF
    batch: int = 1
    turned: bool = False
    normed: bool = False
    stays: bool = True
    left_columns: bool = False
    gap: int = 0

    @property
    def factor_strides(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return the strides of the left and of the right factor [elements]."""
        rows, columns, terms = self.shape
        left = (1, rows + self.gap) if self.left_columns else (terms + self.gap, 1)
        right = (columns + self.gap, 1) if self.weight_rows else (1, terms + self.gap)
        return left, right

    @property
    def result(self) -> tuple[int, ...]:
        """Return the extents of the result."""
        rows, columns, _ = self.shape
        inner = rows // self.batch, columns
        inner = inner[::-1] if self.turned else inner
        return inner if self.batch == 1 else (self.batch, *inner)


def _blocks(
    model: str, rows: int, width: int, hidden: int, epilogue: str, *, bias: bool = True
) -> list[Case]:
    """Return the three products of a transformer's block that something reads."""
    kind: dict[str, Any] = {"bias": bias, "weight_rows": model == "gpt2"}
    wide = "bfloat16" if model == "mixer-b16" else "float32"
    found = [
        Case(f"{model} up", (rows, hidden, width), epilogue, **kind),
        _residual(f"{model} down", (rows, width, hidden), wide, kind),
    ]
    if model != "mixer-b16":
        found.append(_residual(f"{model} out", (rows, width, width), wide, kind))
    return found


def _residual(
    name: str, shape: tuple[int, int, int], dtype: str, kind: dict[str, Any]
) -> Case:
    stays = not name.startswith("bert")  # which normalises the residual stream itself
    return Case(name, shape, "residual", dtype=dtype, normed=True, stays=stays, **kind)


CASES: tuple[Case, ...] = (
    *_blocks("bert-base", 8192, 768, 3072, "gelu"),
    *_blocks("gpt2", 8192, 768, 3072, "gelu_tanh"),
    *_blocks("llama-0.3b", 8192, 1024, 2816, "gated", bias=False),
    *_blocks("vit-base", 64 * 197, 768, 3072, "gelu"),
    *_blocks("mixer-b16", 64 * 196, 768, 3072, "gelu"),
    Case(
        "mixer-b16 tokens",
        (64 * 768, 196, 384),
        "residual",
        batch=64,
        turned=True,
        normed=True,
    ),
    Case("gpt2 words", (8192, 50257, 768), "plain", 1, bias=False),
)
"""All that the compiler can fuse in these models."""


def _array(name: str, shape: tuple[int, ...], dtype: str, device: str) -> Buffer:
    strides = contiguous_strides(shape)
    return Buffer(name, dtype, tuple(map(index, shape)), device, strides)


def program_of(case: Case, device: str = "cuda:0") -> Program:
    """Return a case as the scheduler gets it: a call, then a map that reads it."""
    rows, columns, terms = case.shape
    inputs = [
        _array("left", (rows, terms), HALF, device),
        _array("right", (terms, columns), HALF, device),
    ]
    for number, strides in enumerate(case.factor_strides):
        stepped = tuple(map(index, strides))
        inputs[number] = replace(inputs[number], strides=stepped)
    arguments = [Reference("left"), Reference("right")]
    if case.bias:
        inputs.append(_array("bias", (columns,), HALF, device))
        arguments.insert(0, Reference("bias"))
    if case.epilogue in _READS_OTHER:
        inputs.append(_array("other", case.result, case.dtype, device))
    target = aten.addmm.default if case.bias else aten.mm.default
    made = _array("made", (rows, columns), HALF, device)
    call = Extern((made,), target, tuple(arguments), {})
    axes = tuple(
        Axis(digit(f"d{number}"), index(extent))
        for number, extent in enumerate(case.result)
    )
    *outer, row, column = (axis.digit for axis in axes)
    if case.turned:
        row, column = column, row
    if outer:
        row = add(mul(outer[0], rows // case.batch), row)
    value = cast(load("made", (row, column), HALF), "float32")
    other: Expression = value
    if case.epilogue in _READS_OTHER:
        read = load("other", tuple(axis.digit for axis in axes), case.dtype)
        other = cast(read, "float32")
    value = cast(EPILOGUES[case.epilogue][0](value, other), case.dtype)
    out = Map(_array("out", case.result, case.dtype, device), axes, value)
    if not case.normed:
        return Program(tuple(inputs), (call, out), ("out",))
    more = _normalised(case, axes, device)
    outputs = ("out", "normed") if case.stays else ("normed",)
    return Program(tuple(inputs), (call, out, *more), outputs)


def _normalised(case: Case, axes: tuple[Axis, ...], device: str) -> list[Node]:
    """Return the division of each row by its root mean square, rounded."""
    *outer, last = axes
    read = cast(load("out", tuple(axis.digit for axis in axes), case.dtype), "float32")
    squares = Buffer("squares", "float32", tuple(a.extent for a in outer), device)
    summed = Reduce(
        (squares,), tuple(outer), (last,), "sum", (apply("mul", read, read),)
    )
    mean = apply(
        "mul",
        load("squares", tuple(axis.digit for axis in outer), "float32"),
        _float(1 / case.result[-1]),
    )
    scale = apply("rsqrt", apply("add", mean, _float(EPSILON)))
    value = cast(apply("mul", read, scale), HALF)
    return [summed, Map(_array("normed", case.result, HALF, device), axes, value)]


def arrays_of(case: Case, device: str = "cuda") -> list[torch.Tensor]:
    """Return random inputs in the order of the program's, of unit variance.

    Rows of the product have variance 1, so that no epilogue is all but constant.
    """
    rows, columns, terms = case.shape
    generator = torch.Generator(device).manual_seed(rows + columns + terms)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(shape, device=device, generator=generator)

    found: list[torch.Tensor] = []
    for shape, strides in zip(
        ((rows, terms), (terms, columns)), case.factor_strides, strict=True
    ):
        half = torch.bfloat16
        factor = torch.empty_strided(shape, strides, dtype=half, device=device)
        scale = terms**-0.5 if len(found) else 1.0
        found.append(factor.copy_(normal(*shape) * scale))
    if case.bias:
        found.append(normal(columns).bfloat16())
    if case.epilogue in _READS_OTHER:
        found.append(normal(*case.result).to(getattr(torch, case.dtype)))
    return found


def exact(case: Case, arrays: list[torch.Tensor]) -> list[torch.Tensor]:
    """Return the results in float64."""
    left, right, *rest = (array.double() for array in arrays)
    product = left @ right
    if case.bias:
        product += rest.pop(0)
    if case.batch > 1:
        product = product.view(case.batch, -1, product.shape[1])
    product = product.mT if case.turned else product
    other = rest[0] if rest else product
    out = EPILOGUES[case.epilogue][1](product, other)
    if not case.normed:
        return [out]
    mean = out.square().mean(-1, keepdim=True)
    normed = out * (mean + EPSILON).rsqrt()
    return [out, normed] if case.stays else [normed]


def tiled(schedule: Schedule, tiling: Tiling) -> Schedule:
    """Return the schedule with another tiling of its product.

    Raises:
        ValueError: It has no product of ours.
    """
    steps = tuple(
        replace(step, product=tiling)
        if isinstance(step, Kernel) and step.product
        else step
        for step in schedule.steps
    )
    if not any(isinstance(step, Kernel) and step.product for step in steps):
        raise ValueError("needed a schedule with a product of ours, it has none")
    return replace(schedule, steps=steps)


def on_cpu(chosen: Schedule) -> Schedule:
    """Return the schedule with all arrays on the CPU, as the interpreter wants it."""

    def moved(buffer: Any) -> Any:
        return replace(buffer, device="cpu") if isinstance(buffer, Buffer) else buffer

    steps: list[Step] = []
    for step in chosen.steps:
        if isinstance(step, Kernel):
            arrays = {name: moved(buffer) for name, buffer in step.buffers.items()}
            steps.append(replace(step, buffers=arrays))
        elif isinstance(step, Extern):
            steps.append(replace(step, outputs=tuple(map(moved, step.outputs))))
        elif isinstance(step, Free):
            steps.append(step)
        else:
            steps.append(replace(step, buffer=moved(step.buffer)))
    return replace(chosen, inputs=tuple(map(moved, chosen.inputs)), steps=tuple(steps))
