"""A layout conversion in words: which index bits move where."""

from algebra.dims import standard_out_dim_names
from algebra.layout import LinearLayout

from .classify import Bit, Conversion, Move, Movement, classify

SUMMARIES = {
    Movement.NOTHING: "no-op: every register already holds what it has to.",
    Movement.REGISTERS: "registers: each thread permutes its own registers.",
    Movement.WITHIN_WARP: "within warp: lanes exchange elements (shuffles).",
    Movement.SHARED_MEMORY: (
        "through shared memory: elements change their warp (store, barrier, load)."
    ),
    Movement.ACROSS_BLOCKS: (
        "across blocks: elements change their CTA (distributed shared memory)."
    ),
}

SHUFFLES_BELOW = 2
"""Upstream goes to shared memory from this many exchanges on."""


def explain(src: LinearLayout, dst: LinearLayout) -> str:
    """Return which index bits a conversion moves where, in words.

    Args:
        src: Distributed layout.
        dst: Distributed layout of the same tensor on the same hardware.

    Returns:
        Several lines: the farthest way, the bits that move with the tensor coordinate
        they select, the cycles that they form, the bits that stay, and the copies.

    Raises:
        LayoutError: as ``classify``.

    Example:
        >>> src = LinearLayout.from_bases(
        ...     {"register": [[0, 1]], "lane": [[0, 2], [1, 0]]}, ["dim0", "dim1"]
        ... )
        >>> dst = LinearLayout.from_bases(
        ...     {"register": [[0, 2]], "lane": [[0, 1], [1, 0]]}, ["dim0", "dim1"]
        ... )
        >>> print(explain(src, dst))
        within warp: lanes exchange elements (shuffles).
        1 lane bit becomes a register bit; Triton takes shuffles for fewer than 2.
        moves:
          dim1 +2: lane bit 0 -> register bit 0
          dim1 +1: register bit 0 -> lane bit 0
        cycle: lane bit 0 -> register bit 0 -> lane bit 0
        stays:
          dim0 +1: lane bit 1
    """
    return in_words(classify(src, dst))


def in_words(conversion: Conversion) -> str:
    """Return the text of ``explain`` for a conversion that is already classified."""
    lines = [SUMMARIES[conversion.movement]]
    count = conversion.exchanges
    if count is not None:
        bits = (
            "1 lane bit becomes a register bit"
            if count == 1
            else (f"{count} lane bits become register bits")
        )
        lines.append(f"{bits}; Triton takes shuffles for fewer than {SHUFFLES_BELOW}.")
    moves = [move for move in conversion.moves if not move.stays and move.element]
    stays = [move for move in conversion.moves if move.stays and move.element]
    copies = [move for move in conversion.moves if not move.element]
    if moves:
        lines.append("moves:")
        lines += [
            f"  {_element(move)}: {_words(move.sources)} -> {_word(move.to)}"
            for move in moves
        ]
    for cycle in cycles(conversion):
        lines.append("cycle: " + " -> ".join(map(_word, cycle)))
    if stays:
        lines.append("stays:")
        lines += [f"  {_element(move)}: {_word(move.to)}" for move in stays]
    if copies:
        lines.append(f"copies in dst: {', '.join(_word(move.to) for move in copies)}")
    if conversion.unread:
        lines.append(f"not read in src: {', '.join(map(_word, conversion.unread))}")
    return "\n".join(lines)


def cycles(conversion: Conversion) -> list[tuple[Bit, ...]]:
    """Return the closed ways of single bits: each comes from the one before it.

    The first bit is repeated at the end. Bits with several sources are on no cycle.
    """
    goes_to = {
        move.sources[0]: move.to
        for move in conversion.moves
        if len(move.sources) == 1 and not move.stays
    }
    found = []
    while goes_to:
        way = [next(iter(goes_to))]
        while way[-1] in goes_to:
            way.append(goes_to.pop(way[-1]))
        if way[-1] == way[0]:
            found.append(tuple(way))
    return found


def _element(move: Move) -> str:
    """Say which coordinates a bit selects, ``dim0`` first."""
    along = dict(move.element)
    standard = [dim for dim in standard_out_dim_names(len(along) + 8) if dim in along]
    order = standard if len(standard) == len(along) else list(along)
    return " ".join(f"{dim} +{along[dim]}" for dim in order)


def _words(bits: tuple[Bit, ...]) -> str:
    return " xor ".join(map(_word, bits))


def _word(bit: Bit) -> str:
    return f"{bit[0]} bit {bit[1]}"
