"""Steps of a conversion within warps: select what to send, shuffle, select again.

Elements of less than a word travel packed. Which ones share a word while they travel
is free within the kernel of Clr (registers that come from the same lane), so words are
made either as the source has them, which spares the sender, or as the destination
wants them, which spares the receiver.
"""

from collections.abc import Iterator, Sequence

from algebra.affine import AffineLayout
from algebra.bits import log2
from algebra.gauss import Echelon, apply, complement, inverse, kernel, matmul, solve

from .hardware import moved
from .steps import Select, Shuffle, Step
from .warp_factors import Blocks, Factors, factorings

WORD_BITS = 32


def packed_registers(registers: int, element_bits: int) -> int:
    """Return how many register bits share a word [bits].

    Example:
        >>> packed_registers(5, 8), packed_registers(1, 8), packed_registers(5, 32)
        (2, 1, 0)
    """
    return min(registers, max(0, log2(WORD_BITS) - log2(element_bits)))


def warp_plans(blocks: Blocks, element_bits: int) -> Iterator[tuple[Step, ...]]:
    """Yield the step sequences worth comparing, the one with fewest shuffles first.

    Args:
        blocks: A source map with [lr | ll] of full row rank.
        element_bits: Size of an element [bits].
    """
    for factors in factorings(blocks):
        seen = []
        for words in _packings(blocks, factors, element_bits):
            if words not in seen:
                seen.append(words)
                yield _steps(blocks, factors, words, element_bits)


def _packings(
    blocks: Blocks, factors: Factors, element_bits: int
) -> Iterator[tuple[int, ...]]:
    """Yield slot vectors that may share a word while they travel, lowest first."""
    registers = blocks.new.registers
    together = kernel(blocks.lr)
    count = packed_registers(len(together), element_bits)
    here = packed_registers(blocks.old.registers, element_bits)
    there = packed_registers(registers, element_bits)
    lanes = blocks.new.lanes
    as_sent = [
        lane | (sent >> here) << lanes
        for lane, sent in zip(blocks.lr, factors.sent, strict=True)
    ]
    whole = kernel(as_sent)
    images = [apply(factors.sent, vector) for vector in whole]
    ordered = []
    for unit in range(here):
        found = solve(images, [1 << unit])
        if found is not None:
            ordered.append(apply(whole, found[0]))
    yield _independent([*ordered, *whole, *together], registers)[:count]
    kept = kernel(blocks.lr[:there])
    yield _independent([*kept, *together], registers)[:count]


def _independent(vectors: Sequence[int], bits: int) -> tuple[int, ...]:
    span = Echelon([], max(len(vectors), bits, 1))
    return tuple(v for i, v in enumerate(vectors) if span.add(v, i))


def _steps(
    blocks: Blocks, factors: Factors, words: tuple[int, ...], element_bits: int
) -> tuple[Step, ...]:
    """Build the steps for slots in the basis ``words`` and a complement of it."""
    new, old = blocks.new, blocks.old
    here = packed_registers(old.registers, element_bits)
    there = packed_registers(new.registers, element_bits)
    basis = [*words, *complement(words, new.registers)]
    back = inverse(basis)
    assert back is not None, "a basis"
    threads = [1 << bit for bit in range(new.registers, new.bits)]
    lanes, outer = threads[: new.lanes], threads[new.lanes :]
    own = [1 << bit for bit in range(old.registers, old.bits)]
    send = [
        *matmul(factors.sent, basis),
        *(thread | sent for thread, sent in zip(own, factors.sent_by, strict=True)),
    ]
    away = [lane << new.registers for lane in factors.lane]
    slots = matmul(blocks.lr, basis)
    shuffle = [
        *(1 << bit | slot << new.registers for bit, slot in enumerate(slots)),
        *away[: len(lanes)],
        *(o | a for o, a in zip(outer, away[len(lanes) :], strict=True)),
    ]
    keep = [
        *back,
        *(
            thread | apply(back, kept)
            for thread, kept in zip(threads, factors.kept, strict=True)
        ),
    ]
    first = moved(new, old, send, factors.sent_start)
    second = moved(new, new, shuffle, factors.lane_start << new.registers)
    third = moved(new, new, keep, apply(back, factors.kept_start))
    steps: list[Step] = []
    packed = len(words)
    if not _is_identity(first) or packed != here:
        steps.append(Select(first))
    steps.append(Shuffle(second, packed))
    if not _is_identity(third) or packed != there:
        steps.append(Select(third))
    if _is_identity(second):
        return _merged(steps)
    return tuple(steps)


def _merged(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Make one selection of several when nothing crosses lanes."""
    sources = [step.source for step in steps if isinstance(step, Select)]
    if len(sources) < 2:
        return tuple(Select(source) for source in sources)
    return (Select(sources[1].compose(sources[0])),)


def _is_identity(source: AffineLayout) -> bool:
    units = tuple(1 << bit for bit in range(len(source.linear.columns)))
    same = source.linear.in_bits == source.linear.out_bits
    return same and source.linear.columns == units and not source.packed_offset
