"""No index that a kernel computes leaves the integer type that it is computed in."""

from algebra.verdict import Proved, Refuted, Unknown, Verdict
from compiler.ir.expression import Expression
from compiler.ir.expression import nodes as expression_nodes
from compiler.ir.index import Index, add, constant_value, mul
from compiler.ir.kernel import Kernel
from compiler.ir.ranges import Ranges

from .points import Access


def no_wrap(
    kernel: Kernel, touched: list[Access], ranges: Ranges, bits: int = 64
) -> Verdict:
    """Decide that each index and each position in memory fits a signed type.

    Sub-expressions are asked too, so the claim holds in whatever order they are
    computed.

    Args:
        kernel: The loop nest.
        touched: Its accesses.
        ranges: Where digits and symbols run.
        bits: Width of the type.

    Returns:
        ``Refuted`` with the index and its greatest value; ``Unknown`` where a size is
        not bounded.
    """
    limit = (1 << (bits - 1)) - 1
    unknown: str | None = None
    seen: set[Expression] = set()
    for access in touched:
        for value in (*access.coordinates, *_positions(kernel, access)):
            for node in expression_nodes(*_roots(value)):
                if node.dtype != "index" or node in seen:
                    continue
                seen.add(node)
                low, high = ranges.bounds(node)
                least = None if low is None else constant_value(low)
                most = None if high is None else constant_value(high)
                if least is None or most is None:
                    unknown = unknown or f"{access.buffer}: {node} has no known bound"
                elif most > limit or least < -limit - 1:
                    return Refuted(
                        {"array": access.buffer, "index": node, "greatest": most}
                    )
    return Unknown(unknown) if unknown else Proved(f"ranges, {bits} bits")


def _roots(value: Index) -> list[Expression]:
    return [value] if isinstance(value, Expression) else []


def _positions(kernel: Kernel, access: Access) -> list[Expression]:
    buffer = kernel.buffers.get(access.buffer)
    if buffer is None or buffer.strides is None:
        return []
    offset = buffer.offset
    parts = [
        mul(coordinate, stride)
        for coordinate, stride in zip(access.coordinates, buffer.strides, strict=True)
    ]
    return [*parts, add(*parts, 0 if offset is None else offset)]
