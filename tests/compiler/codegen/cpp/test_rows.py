"""Fused rows: a norm with its epilogue, stages in groups, parts."""

from typing import Any

import pytest
import torch

from compiler.codegen.cpp import print_kernel
from compiler.codegen.cpp.nest import FlatStore, flatten
from compiler.codegen.cpp.rows import grouped
from compiler.ir.index import digit
from compiler.ir.kernel import Prefix, Reduction, Store
from compiler.ir.scalar import apply, cast, constant, load, local

ROW, COL = digit("i"), digit("j")


def norm(kernel: Any, shape: tuple[int, int], dtype: torch.dtype) -> Any:
    kind = str(dtype).removeprefix("torch.")
    x = cast(load("x", (ROW, COL), kind), "float32")
    weight = cast(load("w", (COL,), kind), "float32")
    mean, squares = local("mean", "float32"), local("squares", "float32")
    variance = apply("truediv", squares, constant(float(shape[1]), "float32"))
    scale = apply("rsqrt", apply("add", variance, constant(1e-5, "float32")))
    value = apply("mul", apply("mul", apply("sub", x, mean), scale), weight)
    names = ("mean", "squares", "count")
    stages = [
        Reduction(names, "welford", (x,), ("float32",) * 3),
        Store("o", (ROW, COL), cast(value, kind), inner=True),
        Store("means", (ROW,), mean, inner=False),
    ]
    tensors = {
        "x": torch.randn(shape).to(dtype),
        "w": torch.randn(shape[1]).to(dtype),
        "o": torch.zeros(shape, dtype=dtype),
        "means": torch.zeros(shape[0]),
    }
    extents = {"i": shape[0]}, {"j": shape[1]}
    return kernel(f"norm_{kind}_{shape[1]}", tensors, stages, *extents), tensors


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_layer_norm(dtype: torch.dtype, same: Any, kernel: Any) -> None:
    shapes = [(5, 64), (4, 100), (3, 1), (2, 1000)]
    runs = [norm(kernel, shape, dtype) for shape in shapes]
    same(runs, ulps=64 if dtype == torch.float32 else 2, absolute=1e-6)


def test_one_long_row_is_shared_out(same: Any, kernel: Any) -> None:
    made, tensors = norm(kernel, (1, 70_001), torch.float32)
    assert "parallel" in print_kernel(made).text
    same([(made, tensors)], ulps=64, absolute=1e-6)


def test_stores_at_the_same_points_share_a_loop(kernel: Any) -> None:
    made, _ = norm(kernel, (3, 8), torch.float32)
    nest = flatten(made)
    store = next(s for s in nest.stages if isinstance(s, FlatStore) and s.inner)
    scan = Prefix(("s",), "sum", store.value, ("float32",))
    groups = grouped([*nest.stages, scan, scan, store, store])
    assert [len(group) for group in groups] == [1, 1, 1, 4]


@pytest.mark.parametrize("length", [5, 3000])
def test_a_scan_keeps_nothing_for_later_stages(
    length: int, same: Any, kernel: Any
) -> None:
    """The value is worth keeping, and first used by a scan, which goes by blocks."""
    x = apply("truediv", load("x", (ROW, COL), "float32"), constant(3.0, "float32"))
    value = cast(cast(x, "bfloat16"), "float32")
    stages = [
        Prefix(("p",), "maximum", value, ("float32",)),
        Store("scanned", (ROW, COL), local("p", "float32"), inner=True),
        Reduction(("s",), "sum", (apply("mul", value, value),), ("float32",)),
        Store("o", (ROW, COL), apply("mul", value, local("s", "float32")), inner=True),
    ]
    tensors = {name: torch.zeros(4, length) for name in ("scanned", "o")}
    tensors["x"] = torch.randn(4, length)
    made = kernel(f"scanned_{length}", tensors, stages, {"i": 4}, {"j": length})
    same([(made, tensors)], ulps=64, absolute=1e-6)
