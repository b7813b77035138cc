"""What each thread executes within a warp: a graph of operations on 32-bit words.

Operations that occur twice are one node, and what no output needs is not there. The
thread t = (lane, warp, block) enters by functionals: parities of some of its bits.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

LOW_WORD, HIGH_WORD, FROM_HIGH = 0x3210, 0x7654, 0x4444
"""Selectors of ``prmt``: all of the first word, of the second; its bits that say so."""


@dataclass(frozen=True, slots=True)
class Functional:
    """An affine function of the thread to F2.

    Attributes:
        mask: Bits of (lane, warp, block) whose parity is taken.
        constant: What is added.
    """

    mask: int
    constant: int = 0


@dataclass(frozen=True, slots=True)
class Input:
    """A word of the first file."""

    word: int


@dataclass(frozen=True, slots=True)
class Selp:
    """``one`` where the condition is 1, else ``zero``: nodes by position."""

    zero: int
    one: int
    condition: Functional


@dataclass(frozen=True, slots=True)
class Prmt:
    """Four bytes of two words.

    Attributes:
        low: Node with the bytes 0 to 3.
        high: Node with the bytes 4 to 7.
        selector: Byte for each place, four bits each, where all functionals are 0.
        varying: Mask of thread bits -> what is xored to the selector if its parity is
            odd.
    """

    low: int
    high: int
    selector: int
    varying: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Shfl:
    """A word of another lane of the warp.

    Attributes:
        word: Node whose value each lane gives.
        lanes: Image of each thread bit in the lane to read from.
        start: Lane that thread zero reads from.
    """

    word: int
    lanes: tuple[int, ...]
    start: int

    def is_butterfly(self, lane_bits: int) -> bool:
        """Whether the lane is the own one xor a constant."""
        own = tuple(1 << bit for bit in range(lane_bits))
        return self.lanes[:lane_bits] == own and not any(self.lanes[lane_bits:])


Node = Input | Selp | Prmt | Shfl


@dataclass(frozen=True, slots=True)
class Program:
    """What each thread executes, without control flow.

    Attributes:
        lane_bits: Log2 of the lanes of a warp.
        inputs: Words of the first file.
        nodes: In order; operands come before.
        outputs: Node of each word of the last file.
    """

    lane_bits: int
    inputs: int
    nodes: tuple[Node, ...]
    outputs: tuple[int, ...]


class Graph:
    """Nodes under construction, each once."""

    def __init__(self) -> None:
        """Start without nodes."""
        self.nodes: list[Node] = []
        self._known: dict[Node, int] = {}

    def add(self, node: Node) -> int:
        """Return the position of a node, made if it is new."""
        found = self._known.get(node)
        if found is None:
            found = self._known[node] = len(self.nodes)
            self.nodes.append(node)
        return found

    def choose(self, zero: int, one: int, condition: Functional) -> int:
        """Return ``one`` where the condition is 1, else ``zero``.

        A selection between selections by the same condition skips the inner ones.
        """
        if not condition.mask:
            return one if condition.constant else zero
        if condition.constant:
            zero, one = one, zero
            condition = Functional(condition.mask)
        first, second = self.nodes[zero], self.nodes[one]
        if isinstance(first, Selp) and first.condition == condition:
            zero = first.zero
        if isinstance(second, Selp) and second.condition == condition:
            one = second.one
        return zero if zero == one else self.add(Selp(zero, one, condition))

    def permute(
        self, low: int, high: int, selector: int, varying: tuple[tuple[int, int], ...]
    ) -> int:
        """Return four bytes of two words; whole words need no node."""
        if not varying:
            if selector == LOW_WORD:
                return low
            if selector == HIGH_WORD:
                return high
            if not selector & FROM_HIGH:
                high = low
            elif selector & FROM_HIGH == FROM_HIGH:
                low, selector = high, selector ^ FROM_HIGH
        if low == high:
            selector &= ~FROM_HIGH
            kept = ((mask, change & ~FROM_HIGH) for mask, change in varying)
            varying = tuple((mask, change) for mask, change in kept if change)
            if not varying and selector == LOW_WORD:
                return low
        return self.add(Prmt(low, high, selector, varying))

    def program(self, lane_bits: int, inputs: int, outputs: Sequence[int]) -> Program:
        """Keep what the outputs need."""
        needed = set(outputs)
        for position in range(len(self.nodes) - 1, -1, -1):
            if position in needed:
                needed.update(operands(self.nodes[position]))
        kept = sorted(needed)
        new = {old: position for position, old in enumerate(kept)}
        nodes = tuple(_renumbered(self.nodes[old], new) for old in kept)
        return Program(lane_bits, inputs, nodes, tuple(new[old] for old in outputs))


def operands(node: Node) -> tuple[int, ...]:
    """Return the nodes that a node reads."""
    match node:
        case Selp():
            return node.zero, node.one
        case Prmt():
            return node.low, node.high
        case Shfl():
            return (node.word,)
    return ()


def _renumbered(node: Node, new: dict[int, int]) -> Node:
    match node:
        case Selp():
            return replace(node, zero=new[node.zero], one=new[node.one])
        case Prmt():
            return replace(node, low=new[node.low], high=new[node.high])
        case Shfl():
            return replace(node, word=new[node.word])
    return node
