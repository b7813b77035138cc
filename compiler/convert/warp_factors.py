"""Any conversion within a warp as selections, one shuffle a word, selections.

Let (r', l') = C(r, l) be the source place of a destination place, with the blocks
C = [[Crr, Crl], [Clr, Cll]]. A slot k holds what one shuffle brings. For any B let

    k = r + B l,    W = Cll + Clr B,    l' = Clr k + W l,    r' = E k + F l',
    F W = Crl + Crr B,    E = Crr + F Clr.

What warps, blocks and the offset add is carried along. Lane l receives slot k from lane
l' and keeps it as register r; lane l' sends its register r'. Substituting gives C back,
so the factors are right for every B that makes W invertible. One exists exactly if
[Clr | Cll] has full row rank. This covers bit permutations, the mixed transpositions of
Triton among them, and everything else.

Two choices are tried. With W = 1, where it can be had, the slots with Clr k = 0 need no
shuffle. Otherwise B of the least rank, lanes - rank Cll, keeps selections few. Either
way the number of shuffles is the least that any plan has: see ``least_shuffles``.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from algebra.affine import AffineLayout
from algebra.gauss import Echelon, apply, inverse, kernel, matmul, solve

from .hardware import Hardware, hardware_of


@dataclass(frozen=True, slots=True)
class Blocks:
    """The four blocks of a source map, and what warps, blocks and the offset add.

    Attributes:
        new: Sizes of the destination.
        old: Sizes of the source.
        rr: Register -> source register, one column each.
        lr: Register -> source lane.
        rl: Lane -> source register.
        ll: Lane -> source lane.
        rw: Warp and block bits -> source register.
        lw: Warp and block bits -> source lane.
        r0: Source register of place zero.
        l0: Source lane of place zero.
    """

    new: Hardware
    old: Hardware
    rr: tuple[int, ...]
    lr: tuple[int, ...]
    rl: tuple[int, ...]
    ll: tuple[int, ...]
    rw: tuple[int, ...]
    lw: tuple[int, ...]
    r0: int
    l0: int


@dataclass(frozen=True, slots=True)
class Factors:
    """One way to factor a conversion; see the module.

    Attributes:
        kept: Thread -> slot that it keeps as register zero, one column a thread bit:
            B for lanes, and the same for warps and blocks.
        kept_start: Slot that thread zero keeps as register zero.
        lane: Thread -> lane that slot zero comes from.
        lane_start: Lane that slot zero of thread zero comes from.
        sent: Slot -> register that is sent.
        sent_by: Thread -> register that it sends for slot zero.
        sent_start: Register that thread zero sends for slot zero.
    """

    kept: tuple[int, ...]
    kept_start: int
    lane: tuple[int, ...]
    lane_start: int
    sent: tuple[int, ...]
    sent_by: tuple[int, ...]
    sent_start: int


def within_warp(source: AffineLayout) -> Blocks | None:
    """Cut a source map to its blocks, or None if it changes warps."""
    new = hardware_of(source)
    old = Hardware(*source.linear.out_bits)
    columns = source.linear.columns
    split = new.registers + new.lanes
    for bit, column in enumerate([*columns, source.packed_offset]):
        own = 0
        if split <= bit < new.bits:
            own = 1 << bit - new.registers + old.registers
        if (column ^ own) & old.outer_mask:
            return None
    registers = [column & old.register_mask for column in columns]
    lanes = [(column & old.lane_mask) >> old.registers for column in columns]
    return Blocks(
        new,
        old,
        rr=tuple(registers[: new.registers]),
        lr=tuple(lanes[: new.registers]),
        rl=tuple(registers[new.registers : split]),
        ll=tuple(lanes[new.registers : split]),
        rw=tuple(registers[split:]),
        lw=tuple(lanes[split:]),
        r0=source.packed_offset & old.register_mask,
        l0=(source.packed_offset & old.lane_mask) >> old.registers,
    )


def with_full_rank(blocks: Blocks, src: AffineLayout) -> Blocks | None:
    """Use copies in the source until every lane is read, or None if they don't do.

    A column of a destination bit may change by any place that holds element zero;
    bits whose lane part depends on the others change first those of lanes.

    Args:
        blocks: A source map.
        src: Layout that it leads to.
    """
    lanes = blocks.new.lanes
    order = [*blocks.lr, *blocks.ll]
    missing = lanes - Echelon(order).rank
    if not missing:
        return blocks
    registers, old = blocks.new.registers, blocks.old
    rr, lr = [*blocks.rr, *blocks.rl], list(order)
    reach = old.registers + old.lanes
    for place in kernel(src.linear.columns[:reach]):
        lane = place >> old.registers
        if Echelon(lr).reduce(lane)[0]:
            spare = [tag.bit_length() - 1 for tag in kernel(lr)]
            if not spare:
                return None
            bit = max(spare)
            lr[bit] ^= lane
            rr[bit] ^= place & old.register_mask
            missing -= 1
            if not missing:
                return Blocks(
                    blocks.new,
                    old,
                    rr=tuple(rr[:registers]),
                    lr=tuple(lr[:registers]),
                    rl=tuple(rr[registers:]),
                    ll=tuple(lr[registers:]),
                    rw=blocks.rw,
                    lw=blocks.lw,
                    r0=blocks.r0,
                    l0=blocks.l0,
                )
    return None


def factorings(blocks: Blocks) -> list[Factors]:
    """Return the factorings worth comparing, the one with fewest shuffles first.

    Args:
        blocks: A source map with [lr | ll] of full row rank.
    """
    found = []
    away = [ll ^ 1 << lane for lane, ll in enumerate(blocks.ll)]
    stay = solve(blocks.lr, away)
    if stay is not None:
        outer = solve(blocks.lr, [*blocks.lw, blocks.l0])
        found.append(factor(blocks, stay, outer or ()))
    least = _least_rank(blocks)
    if least != stay:
        found.append(factor(blocks, least))
    return found


def factor(blocks: Blocks, b: Sequence[int], outer: Sequence[int] = ()) -> Factors:
    """Return the factors that belong to B; W must be invertible.

    Args:
        blocks: A source map.
        b: Lane -> slot, one column a lane bit.
        outer: The same for warp and block bits, and for the offset; default: zeros.
    """
    count = len(blocks.lw) + 1
    bw = [*outer, *[0] * (count - len(outer))]
    rr, lr = blocks.rr, blocks.lr
    w = [ll ^ apply(lr, slot) for ll, slot in zip(blocks.ll, b, strict=True)]
    back = inverse(w)
    assert back is not None, "B is chosen so that W is invertible"
    right = [rl ^ apply(rr, slot) for rl, slot in zip(blocks.rl, b, strict=True)]
    f = matmul(right, back)
    lane = [
        lw ^ apply(lr, slot)
        for lw, slot in zip([*blocks.lw, blocks.l0], bw, strict=True)
    ]
    sent = [
        rw ^ apply(rr, slot) ^ apply(f, far)
        for rw, slot, far in zip([*blocks.rw, blocks.r0], bw, lane, strict=True)
    ]
    return Factors(
        kept=(*b, *bw[:-1]),
        kept_start=bw[-1],
        lane=(*w, *lane[:-1]),
        lane_start=lane[-1],
        sent=tuple(rr_k ^ apply(f, lr_k) for rr_k, lr_k in zip(rr, lr, strict=True)),
        sent_by=(*f, *sent[:-1]),
        sent_start=sent[-1],
    )


def _least_rank(blocks: Blocks) -> list[int]:
    """Return B of rank lanes - rank Cll, each image selected by one lane bit."""
    lanes = blocks.new.lanes
    image = Echelon(blocks.ll, lanes + len(blocks.lr))
    pivots = set(image.pivots)
    free = [lane for lane in range(lanes) if lane not in pivots]
    b = [0] * lanes
    for register, lane in enumerate(blocks.lr):
        if free and image.add(lane, lanes + register):
            b[free.pop(0)] = 1 << register
    assert not free, "[lr | ll] has full row rank"
    return b


def least_shuffles(blocks: Blocks, element_bits: int) -> int:
    """Return how many 32-bit shuffles any plan within warps needs.

    A shuffle brings a lane at most 32 bits, all from one lane. So a lane needs, for
    each other lane whose elements it must get, their size over 32 bits, rounded up.
    Lane l takes register r from lane Clr r + Cll l: from ``2**rank Clr`` lanes, the
    same amount from each, its own among them if (Cll + 1) l lies in the image of Clr.
    Some lane has no own share unless that holds for all lanes and warps.

    Args:
        blocks: A source map; the source must hold each element in one lane only, else
            the bound holds for this choice of the copy to read.
        element_bits: Size of an element [bits].
    """
    image = Echelon(blocks.lr)
    away = [ll ^ 1 << lane for lane, ll in enumerate(blocks.ll)]
    own = all(not image.reduce(v)[0] for v in [*away, *blocks.lw, blocks.l0])
    each = element_bits << blocks.new.registers - image.rank
    return ((1 << image.rank) - own) * max(1, each // 32)
