"""For each place of the destination a place of the source, as near as there is one.

Where the source holds an element several times, the choice is free. Elimination takes
the source's columns from the registers outwards, so a solution uses lanes only if
registers do not suffice, and warps only if lanes do not. A lane, warp or block bit is
first tried with itself: what a thread holds already it need not fetch.
"""

from algebra.affine import AffineLayout
from algebra.errors import NotSolvableError
from algebra.gauss import Echelon

from .hardware import Hardware, hardware_of, moved


def nearest_source(src: AffineLayout, dst: AffineLayout) -> AffineLayout:
    """Return the map from destination places to source places.

    Law: ``nearest_source(src, dst).compose(src)`` equals ``dst``; it keeps the warp
    whenever some solution does.

    Args:
        src: Layout with the four hardware dims in order.
        dst: The same, over the same tensor and threads.

    Raises:
        NotSolvableError: the source lacks an element.
    """
    there, here = hardware_of(src), hardware_of(dst)
    sources = src.linear.columns
    echelon = Echelon(sources)
    columns = []
    for bit, target in enumerate(dst.linear.columns):
        remainder, tag = echelon.reduce(target)
        if remainder:
            raise _lacking(src, dst, {"linear": bit})
        if bit >= here.registers:
            own = bit - here.registers + there.registers
            rest, difference = echelon.reduce(target ^ sources[own])
            kept = difference ^ 1 << own
            if not rest and _distance(there, kept, own) <= _distance(there, tag, own):
                tag = kept
        columns.append(tag)
    offset = dst.packed_offset ^ src.packed_offset
    remainder, start = echelon.reduce(offset)
    if remainder:
        raise _lacking(src, dst, dst.offset)
    return moved(here, there, columns, start)


def _distance(there: Hardware, source: int, own: int) -> tuple[bool, bool, bool, int]:
    """Say how far a source place is from the bit ``own`` of the same thread."""
    far = source ^ 1 << own
    return (
        bool(far & there.block_mask),
        bool(far & there.outer_mask),
        bool(far & there.lane_mask),
        far.bit_count(),
    )


def _lacking(
    src: AffineLayout, dst: AffineLayout, witness: dict[str, int]
) -> NotSolvableError:
    if "linear" in witness:
        index = 1 << witness["linear"]
        image = dst.linear.apply_index(index)
        witness = {}
        for name, bits in zip(dst.linear.out_names, dst.linear.out_bits, strict=True):
            witness[name] = image & (1 << bits) - 1
            image >>= bits
    return NotSolvableError(
        f"src must hold every element that dst needs, but {witness} has no preimage "
        "in src; make src surjective, or restrict dst",
        missing=witness,
        src=src,
    )
