"""Which values are used only after they are rounded to a half type.

There an exponential may be off by some last bits of float32: products, quotients and
sums of positive terms keep a relative error, and rounding to 11 or 8 bits swallows it.
"""

from collections.abc import Sequence

from compiler.ir.expression import Expression, nodes
from compiler.ir.scalar import HALF_TYPES

_KEEPING = ("mul", "truediv", "neg")


def coarse_nodes(roots: Sequence[Expression]) -> frozenset[Expression]:
    """Return the float32 values all of whose uses end in a cast to a half type.

    On the way are only operations that keep a relative error: products, quotients,
    signs, and sums of an exponential and a positive constant.

    Args:
        roots: All expressions of a kernel.

    Example:
        >>> from compiler.ir.scalar import apply, cast, constant, load
        >>> e = apply("exp", cast(load("x", (), "bfloat16"), "float32"))
        >>> e in coarse_nodes([cast(apply("mul", e, e), "bfloat16")])
        True
        >>> e in coarse_nodes([cast(apply("sub", e, e), "bfloat16"), e])
        False
    """
    order = list(nodes(*roots))
    users: dict[Expression, list[Expression]] = {node: [] for node in order}
    for node in order:
        for arg in node.args:
            users[arg].append(node)
    ends = set(roots)
    coarse: set[Expression] = set()
    for node in reversed(order):
        if node.dtype != "float32" or node in ends or not users[node]:
            continue
        if all(_swallows(user, node, coarse) for user in users[node]):
            coarse.add(node)
    return frozenset(coarse)


def _swallows(user: Expression, node: Expression, coarse: set[Expression]) -> bool:
    if user.op == "cast":
        return user.dtype in HALF_TYPES
    if user not in coarse:
        return False
    if user.op in _KEEPING:
        return True
    if user.op != "add" or node.op != "exp":
        return False
    other = user.args[1] if user.args[0] is node else user.args[0]
    return other.op == "constant" and float(str(other.data)) > 0
