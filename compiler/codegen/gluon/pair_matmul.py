"""A Gluon kernel for any pair of operand types, in any order in memory.

``out[m, n] = sum over k of a[m, k] * b[k, n]``, upcast in registers. The layout in
which an operand is loaded is derived: the fragment that the instruction wants, with the
bits of k, m and n renamed so that neighbours in memory are neighbours in a lane's
registers. The order of k within a step is free as long as both operands agree; that of
m or n is put right by the addresses of the result. So no operand is ever converted
between lanes: every ``convert_layout`` below asserts that it moves nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from algebra import LinearLayout
from algebra.bits import log2
from algebra.dims import LANE, REGISTER, WARP
from algebra.encodings import DotOperand, NvidiaMma
from algebra.errors import OutOfRangeError
from compiler.mixed.pairs import OperandType, UnitType, unit_type

from .quantised_matmul import KernelText
from .tensor_text import index_of, linear_layout

KERNEL: Final = "pair_matmul"
STEP: Final = 32
"""Elements along k of a step: one block of scales, and one int8 instruction."""

TILE: Final = 64
"""Rows and columns of a program's tile of the result."""

NUM_WARPS: Final = 4
ORDERS: Final = ("k", "mn")
"""Which axis of an operand is contiguous: the one summed over, or the other one."""

_POINTERS: Final = {
    "fp32": "*fp32",
    "tf32": "*fp32",
    "fp16": "*fp16",
    "bf16": "*bf16",
    "fp8e4m3": "*u8",
    "fp8e5m2": "*u8",
    "int8": "*i8",
    "int4": "*i8",
    "mxfp4": "*u8",
}
_UNIT_TYPES: Final = {
    "int8": "gl.int8",
    "fp16": "gl.float16",
    "bf16": "gl.bfloat16",
    "tf32": "gl.float32",
    "fp32": "gl.float32",
}
_FLOAT8: Final = {"fp8e4m3": "gl.float8e4nv", "fp8e5m2": "gl.float8e5"}
_HEADER = '''"""Generated: see compiler/codegen/gluon/pair_matmul.py."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import mma_v2
'''


@dataclass(frozen=True, slots=True)
class LoadedOperand:
    """How an operand is loaded, and what its bits are called.

    Attributes:
        layout: (register, lane, warp) -> (dim0, dim1) = (row, k) in memory's order;
            for the right operand rows are columns n.
        rows: Bit of the row in memory of each bit of the instruction's row.
        depth: Likewise for k.
    """

    layout: LinearLayout
    rows: tuple[int, ...]
    depth: tuple[int, ...]


def derive_operand(op_idx: int, unit: UnitType, order: str) -> LoadedOperand:
    """Return the layout that loads an operand for the instruction without a move.

    Args:
        op_idx: 0 for a, 1 for b.
        unit: What the instruction multiplies.
        order: Which axis is contiguous in memory.

    Raises:
        OutOfRangeError: ``order`` is neither.

    Example:
        >>> from compiler.mixed.pairs import UNITS
        >>> derive_operand(0, UNITS[1], "k").depth  # pair, lanes, half, instruction
        (0, 3, 4, 1, 2)
    """
    if order not in ORDERS:
        raise OutOfRangeError(f"order must be one of {ORDERS}, got order={order!r}")
    parent = NvidiaMma(version=(2, 0), warps_per_cta=(2, 2), instr_shape=(16, 8))
    operand = DotOperand(op_idx=op_idx, parent=parent, k_width=unit.per_register)
    shape = [TILE, STEP] if op_idx == 0 else [STEP, TILE]
    fragment = operand.to_linear_layout(shape)
    row_dim, k_dim = ("dim0", "dim1") if op_idx == 0 else ("dim1", "dim0")
    # neighbours along k are a lane's, whatever is contiguous: both operands must agree
    depth = _registers_first(fragment, k_dim)
    rows = (
        _registers_first(fragment, row_dim)
        if order == "mn"
        else tuple(range(log2(TILE)))
    )
    renamed = {row_dim: (0, rows), k_dim: (1, depth)}
    bases = {}
    for name in (REGISTER, LANE, WARP):
        bases[name] = [
            _rename(dict(zip(fragment.out_names, vector, strict=True)), renamed)
            for vector in fragment.bases[name]
        ]
    layout = LinearLayout.from_bases(bases, {"dim0": TILE, "dim1": STEP})
    return LoadedOperand(layout, rows, depth)


def _rename(
    vector: dict[str, int], renamed: Mapping[str, tuple[int, Sequence[int]]]
) -> list[int]:
    image = [0, 0]
    for name, value in vector.items():
        at, bits = renamed[name]
        for bit, onto in enumerate(bits):
            if value >> bit & 1:
                image[at] |= 1 << onto
    return image


def _registers_first(fragment: LinearLayout, dim: str) -> tuple[int, ...]:
    """Return new numbers for a dim's bits: registers' first, then lanes', warps'."""
    found: dict[int, int] = {}
    at = list(fragment.out_names).index(dim)
    for name in (REGISTER, LANE, WARP):
        for vector in fragment.bases[name]:
            if vector[at]:
                found[log2(vector[at])] = len(found)
    return tuple(found[bit] for bit in range(fragment.get_out_dim_size_log2(dim)))


def pair_kernel_text(
    a: OperandType, b: OperandType, orders: tuple[str, str] = ("k", "k")
) -> KernelText:
    """Return the kernel that multiplies a pair of operand types.

    Its parameters are a, b, their scales, the result (float32; int32 where both are
    integers), m, n and k. Four-bit elements lie two to a byte along the contiguous
    axis, the first in the low half. Scales are uint8 [m or n, k / 32]; without blocks
    they are not read. The grid is (cdiv(m, 64), cdiv(n, 64)).

    Args:
        a: Left operand.
        b: Right operand.
        orders: Which axis of each is contiguous.

    Raises:
        OutOfRangeError: There is no such order.
    """
    return _Writer(a, b, orders).write()


class _Writer:
    def __init__(self, a: OperandType, b: OperandType, orders: tuple[str, str]) -> None:
        self.kinds, self.orders = (a, b), orders
        self.unit = unit_type(a, b)
        self.loaded = [derive_operand(i, self.unit, orders[i]) for i in (0, 1)]
        self.lines: list[str] = []

    def add(self, *lines: str) -> None:
        self.lines += lines

    def write(self) -> KernelText:
        width = self.unit.per_register
        layouts = {
            "MMA": "gl.NVMMADistributedLayout(version=[2, 0], warps_per_cta=[2, 2], "
            "instr_shape=[16, 8])",
            "OPERAND_0": f"gl.DotOperandLayout(0, MMA, {width})",
            "OPERAND_1": f"gl.DotOperandLayout(1, MMA, {width})",
        }
        for i in (0, 1):
            layouts[f"LOAD_{i}"] = self._load_layout(i)
        zero = "gl.int32" if self.unit.whole else "gl.float32"
        self.add(
            "tile_m = gl.program_id(0)",
            "tile_n = gl.program_id(1)",
            f"acc = gl.zeros([{TILE}, {TILE}], {zero}, MMA)",
        )
        self._addresses(0, "m")
        self._addresses(1, "n")
        self.add(f"for start in range(0, k, {STEP}):")
        kept, self.lines = self.lines, []
        for i in (0, 1):
            self._load(i)
            self._upcast(i)
            self._arrange(i)
        self._multiply()
        self.lines = kept + ["    " + line for line in self.lines]
        self._store()
        out = "*i32" if self.unit.whole else "*fp32"
        signature = {
            "a": _POINTERS[self.kinds[0].name],
            "b": _POINTERS[self.kinds[1].name],
            "a_scale": "*u8",
            "b_scale": "*u8",
            "out": out,
            "m": "i32",
            "n": "i32",
            "k": "i32",
        }
        text = "\n".join(
            [
                _HEADER,
                *(f"{name} = gl.constexpr({value})" for name, value in layouts.items()),
                "",
                "",
                "@gluon.jit",
                f"def {KERNEL}({', '.join(signature)}):",
                *("    " + line for line in self.lines),
                "",
            ]
        )
        return KernelText(text, signature, NUM_WARPS, (0, 0))

    def _packed(self, i: int) -> int:
        """Return elements of a byte along the contiguous axis."""
        return 2 if self.kinds[i].bits == 4 else 1

    def _shape(self, i: int) -> list[int]:
        """Return the extents of what is loaded: rows, k; two elements may be one."""
        shape = [TILE, STEP]
        shape[1 if self.orders[i] == "k" else 0] //= self._packed(i)
        return shape

    def _load_layout(self, i: int) -> str:
        """Return the load's layout; packed neighbours are one register."""
        layout = self.loaded[i].layout
        axis = 1 if self.orders[i] == "k" else 0
        bases = {
            name: [list(v) for v in layout.bases[name]] for name in layout.in_names
        }
        if self._packed(i) == 2:
            neighbour = [0, 0]
            neighbour[axis] = 1
            bases[REGISTER].remove(neighbour)
            for vectors in bases.values():
                for vector in vectors:
                    vector[axis] >>= 1
        # vectors of the contiguous axis first
        bases[REGISTER].sort(key=lambda vector: (vector[axis] == 0, vector))
        return linear_layout(self._shape(i), bases[REGISTER], bases[LANE], bases[WARP])

    def _addresses(self, i: int, extent: str) -> None:
        """Name the places of an operand's first step, and of its rows' scales."""
        shape, packed = self._shape(i), self._packed(i)
        row, k = (index_of(f"LOAD_{i}", shape, dim) for dim in (0, 1))
        rows = shape[0]
        self.add(f"row_{i} = tile_{extent} * {rows} + {row}", f"k_{i} = {k}")
        name = "ab"[i]
        if self.orders[i] == "k":
            line = "k" if packed == 1 else "(k // 2)"
            self.add(f"place_{i} = {name} + row_{i}.to(gl.int64) * {line} + k_{i}")
            self.add(f"inside_{i} = row_{i} < {extent}")
        else:
            line = extent if packed == 1 else f"({extent} // 2)"
            self.add(f"place_{i} = {name} + k_{i}.to(gl.int64) * {line} + row_{i}")
            self.add(f"inside_{i} = row_{i} < {line}")

    def _load(self, i: int) -> None:
        extent = "mn"[i]
        packed = self._packed(i)
        if self.orders[i] == "k":
            start = "start" if packed == 1 else "start // 2"
            end = "k" if packed == 1 else "k // 2"
            step = start
        else:
            start, end = "start", "k"
            line = extent if packed == 1 else f"({extent} // 2)"
            step = f"start.to(gl.int64) * {line}"
        self.add(
            f"x{i} = gl.load(place_{i} + {step}, mask=inside_{i} & "
            f"(k_{i} + {start} < {end}), other=0)"
        )

    def _upcast(self, i: int) -> None:
        """Make elements of the unit's type; packed neighbours become a new last dim."""
        kind, name = self.kinds[i], f"x{i}"
        target = _UNIT_TYPES[self.unit.name]
        if kind.name == "int4":
            low = self._convert(f"(({name} << 4) >> 4)", kind, target)
            high = self._convert(f"({name} >> 4)", kind, target)
            self.add(f"{name} = gl.join({low}, {high})")
        elif kind.name == "mxfp4":
            self.add(f"{name} = {name}.to(gl.uint16)")
            for part, code in (("low", name), ("high", f"({name} >> 4)")):
                # the bits of e2m1 as float16 are too small by 2 ** 14
                bits = f"((({code} & 8) << 12) | (({code} & 7) << 9))"
                self.add(
                    f"{part} = {bits}.to(gl.uint16).to(gl.float16, bitcast=True)"
                    f" * gl.full({self._shape(i)}, 16384.0, gl.float16, LOAD_{i})"
                )
            low, high = (self._convert(p, kind, target) for p in ("low", "high"))
            self.add(f"{name} = gl.join({low}, {high})")
        else:
            self.add(f"{name} = {self._convert(name, kind, target)}")

    def _convert(self, value: str, kind: OperandType, target: str) -> str:
        if kind.name in _FLOAT8:
            value = f"{value}.to({_FLOAT8[kind.name]}, bitcast=True)"
        own = {
            "int8": "gl.int8",
            "int4": "gl.int8",
            "fp16": "gl.float16",
            "mxfp4": "gl.float16",
            "bf16": "gl.bfloat16",
            "fp32": "gl.float32",
            "tf32": "gl.float32",
        }.get(kind.name)
        if own == target:
            return value
        if own is None and target == "gl.bfloat16":
            # float8 to float32 first: bfloat16 holds each of them
            return f"{value}.to(gl.float32).to(gl.bfloat16)"
        if own == "gl.int8" and target in ("gl.bfloat16", "gl.float16"):
            return f"{value}.to(gl.float32).to({target})"
        if own == "gl.float16" and target == "gl.bfloat16":
            return f"{value}.to(gl.float32).to(gl.bfloat16)"
        return f"{value}.to({target})"

    def _arrange(self, i: int) -> None:
        """Rename memory's bits to the instruction's, and assert that nothing moves."""
        loaded, name = self.loaded[i], f"x{i}"
        row_bits, k_bits = log2(TILE), log2(STEP)
        # dims of two, the slowest first: rows, then k, then perhaps the packed bit
        names = [("row", bit) for bit in reversed(range(row_bits))]
        names += [("k", bit) for bit in reversed(range(k_bits))]
        if self._packed(i) == 2:
            lowest = ("k" if self.orders[i] == "k" else "row", 0)
            names.remove(lowest)
            names.append(lowest)
        row = [("row", loaded.rows[bit]) for bit in reversed(range(row_bits))]
        k = [("k", loaded.depth[bit]) for bit in reversed(range(k_bits))]
        wanted = [*row, *k] if i == 0 else [*k, *row]
        permutation = [names.index(item) for item in wanted]
        shape = [TILE, STEP] if i == 0 else [STEP, TILE]
        self.add(
            f"{name} = gl.reshape({name}, {[2] * len(names)})",
            f"{name} = gl.permute({name}, {permutation})",
            f"{name} = gl.reshape({name}, {shape})",
            f"{name} = gl.convert_layout({name}, OPERAND_{i}, assert_trivial=True)",
        )

    def _multiply(self) -> None:
        scaled = [i for i in (0, 1) if self.kinds[i].scale_block]
        target = "acc"
        if scaled:
            self.add(f"part = gl.zeros([{TILE}, {TILE}], gl.float32, MMA)")
            target = "part"
        precision = ', input_precision="tf32"' if self.unit.per_register == 1 else ""
        if self.unit.products == 3:
            for i in (0, 1):
                bits = f"(x{i}.to(gl.int32, bitcast=True) & -8192)"
                self.add(
                    f"high{i} = {bits}.to(gl.float32, bitcast=True)",
                    f"low{i} = x{i} - high{i}",
                )
            for left, right in (("low", "high"), ("high", "low"), ("high", "high")):
                self.add(f"{target} = mma_v2({left}0, {right}1, {target}{precision})")
        else:
            self.add(f"{target} = mma_v2(x0, x1, {target}{precision})")
        for i in scaled:
            extent, name = "mn"[i], "ab"[i]
            side = f"gl.SliceLayout({1 - i}, MMA)"
            row = self._row(i, f"gl.arange(0, {TILE}, {side})")
            self.add(
                f"line = tile_{extent} * {TILE} + {row}",
                f"code = {name}_scale + line * (k // {STEP}) + start // {STEP}",
                f"code = gl.load(code, mask=line < {extent}, other=127).to(gl.int32)",
                # code 0 is 2 ** -127, a subnormal
                "factor = gl.maximum(code << 23, 0x400000)",
                "factor = factor.to(gl.float32, bitcast=True)",
                f"part = part * gl.expand_dims(factor, {1 - i})",
            )
        if scaled:
            self.add("acc += part")

    def _row(self, i: int, index: str) -> str:
        """Return the row in memory of the instruction's row, as an expression."""
        rows = self.loaded[i].rows
        if rows == tuple(range(len(rows))):
            return index
        parts = [f"(({index} >> {b} & 1) << {onto})" for b, onto in enumerate(rows)]
        return "(" + " | ".join(parts) + ")"

    def _store(self) -> None:
        shape = [TILE, TILE]
        row, column = (self._row(i, f"({index_of('MMA', shape, i)})") for i in (0, 1))
        self.add(
            f"row = tile_m * {TILE} + {row}",
            f"column = tile_n * {TILE} + {column}",
            "gl.store(out + row.to(gl.int64) * n + column, acc, "
            "mask=(row < m) & (column < n))",
        )
