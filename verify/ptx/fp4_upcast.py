"""An upcast of fp4 in TTGIR, which Triton 3.6 and 3.7 get wrong; see docs/found.md."""

from typing import Final

_LANES: Final = (
    "lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [], block = []}>"
)
ORDERED: Final = "[[0, 1], [0, 2], [0, 4]]"
"""Registers in the order of the columns."""
EXCHANGED: Final = "[[0, 2], [0, 1], [0, 4]]"
"""Registers whose lowest bit does not tell the numbers of a byte apart."""


def _addresses(base: str, kind: str, layout: str, width: int) -> list[str]:
    """Return lines that make ``%<base>a``, pointers to a row-major tensor."""
    n, rows = base, f"tensor<32x1xi32, #{layout}>"
    whole = f"tensor<32x{width}xi32, #{layout}>"
    to = f"tensor<32x{width}x!tt.ptr<{kind}>, #{layout}>"
    slices = [f"#ttg.slice<{{dim = {dim}, parent = #{layout}}}>" for dim in (1, 0)]
    row, column = f"tensor<32xi32, {slices[0]}>", f"tensor<{width}xi32, {slices[1]}>"
    return [
        f"%{n}w = arith.constant dense<{width}> : {rows}",
        f"%{n}r = tt.make_range {{end = 32 : i32, start = 0 : i32}} : {row}",
        f"%{n}c = tt.make_range {{end = {width} : i32, start = 0 : i32}} : {column}",
        f"%{n}r1 = tt.expand_dims %{n}r {{axis = 1 : i32}} : {row} -> {rows}",
        f"%{n}c1 = tt.expand_dims %{n}c {{axis = 0 : i32}} : {column} -> "
        f"tensor<1x{width}xi32, #{layout}>",
        f"%{n}m = arith.muli %{n}r1, %{n}w : {rows}",
        f"%{n}r2 = tt.broadcast %{n}m : {rows} -> {whole}",
        f"%{n}c2 = tt.broadcast %{n}c1 : tensor<1x{width}xi32, #{layout}> -> {whole}",
        f"%{n}o = arith.addi %{n}r2, %{n}c2 : {whole}",
        f"%{n}p = tt.splat %{n} : !tt.ptr<{kind}> -> {to}",
        f"%{n}a = tt.addptr %{n}p, %{n}o : {to}, {whole}",
    ]


def upcast_kernel(registers: str) -> str:
    """Return a kernel of one warp: a row of four bytes a thread, to eight numbers.

    Args:
        registers: Bases of the result's registers, as TTGIR has them.

    Example:
        >>> "ttg.fp4_to_fp" in upcast_kernel(ORDERED)
        True
    """
    lines = [
        *_addresses("in", "i8", "src", 4),
        "%x = tt.load %ina : tensor<32x4x!tt.ptr<i8>, #src>",
        "%y = ttg.fp4_to_fp %x {axis = 1 : i32} : tensor<32x4xi8, #src> -> "
        "tensor<32x8xbf16, #dst>",
        "%z = tt.bitcast %y : tensor<32x8xbf16, #dst> -> tensor<32x8xi16, #dst>",
        *_addresses("out", "i16", "dst", 8),
        "tt.store %outa, %z : tensor<32x8x!tt.ptr<i16>, #dst>",
        "tt.return",
    ]
    return "\n".join(
        [
            "#src = #ttg.linear<{register = [[0, 1], [0, 2]], " + _LANES,
            f"#dst = #ttg.linear<{{register = {registers}, " + _LANES,
            'module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 1 : i32, '
            'ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {',
            "tt.func public @upcast(%in: !tt.ptr<i8> {tt.divisibility = 16 : i32}, "
            "%out: !tt.ptr<i16> {tt.divisibility = 16 : i32}) {",
            *lines,
            "}",
            "}",
            "",
        ]
    )
