"""A function captured, lowered, evaluated and compared with eager mode."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import strategies as st
from torch.fx.experimental.proxy_tensor import make_fx

from compiler.ir.check import check_program
from compiler.ir.evaluate import run_program
from compiler.ir.node import Extern, Program
from compiler.lower import decompositions, lower

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
ALL = (*FLOATS, *INTEGERS, torch.bool)

OWN = ("a constant of the graph", "seeds of this call, from torch's generator")

Function = Callable[..., Any]


def captured(function: Function, *args: Any) -> torch.fx.GraphModule:
    names = ", ".join(f"a{number}" for number in range(len(args)))
    fixed = eval(f"lambda {names}: function({names})", {"function": function})
    functional = torch.func.functionalize(fixed, remove="mutations")
    return make_fx(
        functional, decomposition_table=decompositions(), tracing_mode="fake"
    )(*args)


class Agreement:
    def program(self, function: Function, *args: Any) -> Program:
        return lower(captured(function, *args))

    def __call__(
        self, function: Function, *args: Any, ulps: float = 2, extern: bool = False
    ) -> Program:
        """Compare values, types and strides of results and changed arguments."""
        program = self.program(function, *args)
        check_program(program)
        reasons = [
            f"{node.target}: {node.reason}"
            for node in program.nodes
            if isinstance(node, Extern) and node.reason not in OWN
        ]
        assert extern or not reasons, reasons
        mine = [_copied(arg) for arg in args]
        theirs = [_copied(arg) for arg in args]
        found = run_program(program, mine)
        wanted = function(*theirs)
        wanted = wanted if isinstance(wanted, (tuple, list)) else (wanted,)
        assert len(found) == len(wanted)
        for a, b in zip(found, wanted, strict=True):
            _same(a, b, ulps)
            if isinstance(a, torch.Tensor) and a.numel():
                assert _strides(a) == _strides(b)
        for a, b in zip(mine, theirs, strict=True):
            if isinstance(a, torch.Tensor):
                _same(a, b, ulps)
        return program


def _copied(value: Any) -> Any:
    """Copy a tensor with its strides and what lies between its elements."""
    if not isinstance(value, torch.Tensor):
        return value
    storage = value.untyped_storage().clone()
    return value.new_empty(0).set_(
        storage, value.storage_offset(), value.shape, value.stride()
    )


def _strides(value: torch.Tensor) -> list[int]:
    pairs = zip(value.shape, value.stride(), strict=True)
    return [stride for extent, stride in pairs if extent != 1]


def _same(found: Any, wanted: Any, ulps: float) -> None:
    if not isinstance(wanted, torch.Tensor):
        assert found == wanted
        return
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    if not wanted.dtype.is_floating_point or ulps == 0:
        assert torch.equal(found.isnan(), wanted.isnan())
        assert torch.equal(found.nan_to_num(), wanted.nan_to_num())
        return
    epsilon = torch.finfo(wanted.dtype).eps
    finite = wanted[wanted.isfinite()].double().abs()
    # an error of cancellation is relative to the operands, which are about this large
    size = min(float(finite.mean()), 1.0) if finite.numel() else 0.0
    torch.testing.assert_close(
        found, wanted, rtol=ulps * epsilon, atol=ulps * epsilon * size, equal_nan=True
    )


@pytest.fixture(scope="session")
def agree() -> Agreement:
    return Agreement()


SPECIAL = (0.0, -0.0, 1.0, -1.0, float("inf"), float("-inf"), float("nan"), 0.5)


def values(
    shape: tuple[int, ...], dtype: torch.dtype, seed: int, special: bool = True
) -> torch.Tensor:
    """Return random numbers of a type, corner cases among them."""
    generator = torch.Generator().manual_seed(seed)
    if dtype == torch.bool:
        return torch.randint(0, 2, shape, generator=generator).bool()
    if not dtype.is_floating_point:
        limits = torch.iinfo(dtype)
        small = torch.randint(-9, 10, shape, generator=generator)
        small = small.abs() if dtype == torch.uint8 else small
        pick = torch.randint(0, 12, shape, generator=generator)
        out = small.to(dtype)
        if special:
            out = torch.where(pick == 0, torch.tensor(limits.max, dtype=dtype), out)
            out = torch.where(pick == 1, torch.tensor(limits.min, dtype=dtype), out)
        return out
    out = torch.randn(shape, generator=generator, dtype=torch.float64) * 3
    if special:
        pick = torch.randint(0, 40, shape, generator=generator)
        for number, value in enumerate(SPECIAL):
            out = torch.where(pick == number, torch.tensor(value).double(), out)
    return out.to(dtype)


EXTENTS = (0, 1, 2, 3, 5)


@st.composite
def tensors(
    draw: st.DrawFn,
    dtypes: tuple[torch.dtype, ...] = ALL,
    least_rank: int = 0,
    most_rank: int = 3,
    shape: tuple[int, ...] | None = None,
    special: bool = True,
    least: int = 0,
) -> torch.Tensor:
    """Tensors of all types and strides: permuted, strided, offset, expanded."""
    dtype = draw(st.sampled_from(dtypes))
    if shape is None:
        extents = [extent for extent in EXTENTS if extent >= least]
        shape = tuple(
            draw(
                st.lists(
                    st.sampled_from(extents), min_size=least_rank, max_size=most_rank
                )
            )
        )
    seed = draw(st.integers(0, 999))
    layout = draw(st.sampled_from(("contiguous", "reversed", "strided", "expanded")))
    if layout == "contiguous" or not shape:
        return values(shape, dtype, seed, special)
    if layout == "reversed":
        order = tuple(range(len(shape)))[::-1]
        return values(shape[::-1], dtype, seed, special).permute(order)
    if layout == "strided":
        wide = (*shape[:-1], 2 * shape[-1] + 1)
        return values(wide, dtype, seed, special)[..., 1::2]
    dim = draw(st.integers(0, len(shape) - 1))
    thin = (*shape[:dim], min(shape[dim], 1), *shape[dim + 1 :])
    return values(thin, dtype, seed, special).expand(shape)


@pytest.fixture(scope="session")
def tensors_of() -> Callable[..., st.SearchStrategy[torch.Tensor]]:
    return tensors


@pytest.fixture(scope="session")
def values_of() -> Callable[..., torch.Tensor]:
    return values
