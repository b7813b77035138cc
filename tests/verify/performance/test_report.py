import pytest
import triton
import triton.language as tl

from algebra.errors import ParseError
from verify.mlir import read_module
from verify.performance import assert_no_conversion, performance, performance_of
from verify.performance.report import Layouts


@triton.jit  # type: ignore[untyped-decorator]
def transpose(x, y, M, N, B: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    m = tl.program_id(0) * B + tl.arange(0, B)
    n = tl.program_id(1) * B + tl.arange(0, B)
    v = tl.load(x + m[:, None] * N + n[None, :])
    tl.store(y + n[None, :] * M + m[:, None], v)


@triton.jit  # type: ignore[untyped-decorator]
def strided(x, y, B: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    o = tl.arange(0, B)
    tl.store(y + o, tl.load(x + o * 16))


POINTERS = {"x": "*fp32", "y": "*fp32"}


def test_a_transpose_moves_whole_sectors_and_converts_once() -> None:
    signature = {**POINTERS, "M": "i32", "N": "i32"}
    found = performance_of(transpose, signature, {"B": 64}, aligned=tuple(signature))
    kinds = [line.kind for line in found.lines]
    assert kinds == ["load", "conversion", "store"]
    for line in (found.lines[0], found.lines[2]):
        assert line.sectors == line.least_sectors == 16 and line.vector == 4
    assert len(found.conversions) == 1 and found.max_bank_conflicts == 0
    assert "through shared memory" in str(found)
    with pytest.raises(AssertionError, match="conversions of layout in transpose"):
        assert_no_conversion(found)


def test_a_stride_wastes_sectors() -> None:
    found = performance_of(strided, POINTERS, {"B": 1024}, aligned=("x", "y"))
    load = next(line for line in found.lines if line.kind == "load")
    store = next(line for line in found.lines if line.kind == "store")
    assert load.sectors > 4 * load.least_sectors and load.vector == 1
    assert store.sectors == store.least_sectors
    assert load.source.startswith("test_report.py:")


def test_a_layout_that_is_unknown_is_left_out() -> None:
    text = "tt.func @f(%y: !tt.ptr<f32>) {\n  tt.return\n}"
    assert performance(text).lines == ()
    kind = read_module(text).functions["f"].arguments[0].type
    assert Layouts(read_module(text)).of(kind) is None
    with pytest.raises(ParseError):
        performance("module {")
