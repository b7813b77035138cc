"""Hardware indices as packed bits, and affine maps between them.

An index packs (register, lane, warp, block), the register lowest, in the order of
``algebra.dims.HARDWARE_DIMS``; what a thread is, without its registers, are the bits
above the registers. A conversion only ever changes the number of registers.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from algebra.affine import AffineLayout
from algebra.dims import BLOCK, HARDWARE_DIMS, LANE, REGISTER, WARP
from algebra.errors import DimMismatchError, UnsupportedLayoutError
from algebra.layout import LinearLayout

Layout = LinearLayout | AffineLayout


@dataclass(frozen=True, slots=True)
class Hardware:
    """Log2 of the numbers of registers, lanes, warps and blocks [bits]."""

    registers: int
    lanes: int
    warps: int
    blocks: int

    @property
    def threads(self) -> int:
        """Bits that select a thread."""
        return self.lanes + self.warps + self.blocks

    @property
    def bits(self) -> int:
        """Bits of a packed index."""
        return self.registers + self.threads

    @property
    def register_mask(self) -> int:
        """The register bits of a packed index."""
        return (1 << self.registers) - 1

    @property
    def lane_mask(self) -> int:
        """The lane bits of a packed index."""
        return ((1 << self.lanes) - 1) << self.registers

    @property
    def outer_mask(self) -> int:
        """The warp and block bits of a packed index."""
        low = self.registers + self.lanes
        return ((1 << self.bits) - 1) >> low << low

    @property
    def block_mask(self) -> int:
        """The block bits of a packed index."""
        low = self.bits - self.blocks
        return ((1 << self.bits) - 1) >> low << low

    @property
    def dims(self) -> dict[str, int]:
        """In-dim -> log2 of its size [bits]."""
        return {
            REGISTER: self.registers,
            LANE: self.lanes,
            WARP: self.warps,
            BLOCK: self.blocks,
        }

    def with_registers(self, registers: int) -> "Hardware":
        """Return the same threads with another number of registers [bits]."""
        return Hardware(registers, self.lanes, self.warps, self.blocks)


def hardware_of(layout: AffineLayout) -> Hardware:
    """Return the sizes of a layout whose in-dims are the four, in order."""
    return Hardware(*layout.linear.in_bits)


def affine(
    ins: dict[str, int], outs: dict[str, int], columns: Sequence[int], offset: int
) -> AffineLayout:
    """Make an affine layout from packed columns and a packed offset.

    Args:
        ins: In-dim -> log2 of its size [bits].
        outs: Out-dim -> log2 of its size [bits].
        columns: One packed image for each input bit.
        offset: Packed image of zero.
    """
    linear = LinearLayout.from_columns(ins, outs, columns)
    parts = {}
    for name, bits in outs.items():
        parts[name] = offset & (1 << bits) - 1
        offset >>= bits
    return AffineLayout(linear, parts)


def moved(
    ins: Hardware, outs: Hardware, columns: Sequence[int], offset: int = 0
) -> AffineLayout:
    """Make a map from new hardware indices to old ones."""
    return affine(ins.dims, outs.dims, columns, offset)


def distributed(layout: Layout, which: str) -> AffineLayout:
    """Bring a layout to the four in-dims in order, with absent ones of size 1.

    Args:
        layout: Distributed layout, linear or affine.
        which: How an error names it.

    Raises:
        UnsupportedLayoutError: it is no layout, or an in-dim is not distributed, e.g.
            ``offset``.
    """
    if not isinstance(layout, LinearLayout | AffineLayout):
        raise UnsupportedLayoutError(
            f"a conversion needs a LinearLayout or an AffineLayout, got {which} of "
            f"type {type(layout).__name__}; an encoding's is "
            "encoding.to_linear_layout(shape)",
            which=which,
        )
    linear, offset = (
        (layout, 0)
        if isinstance(layout, LinearLayout)
        else (layout.linear, layout.packed_offset)
    )
    foreign = [dim for dim in linear.in_names if dim not in HARDWARE_DIMS]
    if foreign:
        raise UnsupportedLayoutError(
            f"a conversion needs distributed layouts, in-dims among "
            f"{list(HARDWARE_DIMS)}, got {which} with the in-dims "
            f"{list(linear.in_names)}; convert from and to registers",
            which=which,
            in_dims=linear.in_names,
        )
    columns: list[int] = []
    bits = {}
    for dim in HARDWARE_DIMS:
        images = linear.in_columns(dim) if dim in linear.in_names else ()
        bits[dim] = len(images)
        columns += images
    outs = dict(zip(linear.out_names, linear.out_bits, strict=True))
    return affine(bits, outs, columns, offset)


def check_same_tensor(src: AffineLayout, dst: AffineLayout) -> AffineLayout:
    """Return ``dst`` with the out-dims in the order of ``src``.

    Raises:
        DimMismatchError: the tensors, or the numbers of lanes, warps or blocks, differ.
    """
    for dim in (LANE, WARP, BLOCK):
        here, there = src.in_dims[dim], dst.in_dims[dim]
        if here != there:
            raise DimMismatchError(
                f"src and dst need as many of {dim}, got {here} in src and {there} in "
                "dst; take both from one kernel",
                dim=dim,
                src=here,
                dst=there,
            )
    if src.out_dims != dst.out_dims:
        raise DimMismatchError(
            f"src and dst need the same tensor, got {src.out_dims} in src and "
            f"{dst.out_dims} in dst; give both the same shape",
            src=src.out_dims,
            dst=dst.out_dims,
        )
    if dst.linear.out_names == src.linear.out_names:
        return dst
    offset = dst.offset
    return AffineLayout(dst.linear.transpose_outs(src.linear.out_names), offset)
