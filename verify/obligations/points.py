"""What a kernel touches: each load and store, where, and under which guard."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from compiler.ir.expression import Expression, make
from compiler.ir.index import Index
from compiler.ir.kernel import Kernel, Prefix, Reduction, Store
from compiler.ir.ranges import Ranges


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """A load or store of a kernel.

    Attributes:
        buffer: Name of the array.
        coordinates: One index for each dim.
        guards: Truth values (expressions) that hold wherever it happens; each with
            whether it holds or fails.
        stage: Number of the stage.
        inner: Whether it happens at each inner point, or once an outer point.
        writes: Whether it is a store.
        folded: Whether it happens once for all points of the folded axes.
    """

    buffer: str
    coordinates: tuple[Expression, ...]
    guards: tuple[tuple[Expression, bool], ...]
    stage: int
    inner: bool
    writes: bool
    folded: bool = False


def ranges_of(kernel: Kernel, least: dict[Expression, int]) -> Ranges:
    """Return where the digits of a kernel run."""
    axes = (*kernel.outer, *kernel.inner)
    extents: dict[Expression, Index] = {axis.digit: axis.extent for axis in axes}
    return Ranges(extents, least)


def accesses(kernel: Kernel) -> list[Access]:
    """Return every load and store, in the order of the stages."""
    found: list[Access] = []
    inner_digits = {axis.digit for axis in kernel.inner}
    for number, stage in enumerate(kernel.stages):
        for root, guards in _roots(stage):
            for load, held in guarded_loads(root, guards):
                inside = not isinstance(stage, Store) or stage.inner
                found.append(
                    Access(
                        str(load.data),
                        load.args,
                        held,
                        number,
                        inside or _mentions(load, inner_digits),
                        False,
                    )
                )
        if isinstance(stage, Store):
            held = _assumed(stage.condition)
            where = stage.buffer, stage.target, held, number, stage.inner
            found.append(Access(*where, True, stage.folded))
    return found


def fresh_arrays(kernels: Sequence[Kernel]) -> list[set[str]]:
    """Return for each kernel the arrays whose whole content comes from it alone."""
    writers: dict[str, int] = {}
    for kernel in kernels:
        for name in {s.buffer for s in kernel.stages if isinstance(s, Store)}:
            writers[name] = writers.get(name, 0) + 1
    found = []
    for kernel in kernels:
        reads = {access.buffer for access in accesses(kernel) if not access.writes}
        plain = {
            stage.buffer
            for stage in kernel.stages
            if isinstance(stage, Store)
            and stage.mode == "set"
            and stage.injective
            and writers[stage.buffer] == 1
        }
        found.append(plain - reads)
    return found


def _assumed(condition: Expression | None) -> tuple[tuple[Expression, bool], ...]:
    return () if condition is None else ((condition, True),)


def _roots(
    stage: Reduction | Prefix | Store,
) -> Iterator[tuple[Expression, tuple[tuple[Expression, bool], ...]]]:
    if isinstance(stage, Reduction):
        for value in stage.values:
            yield value, ()
    elif isinstance(stage, Prefix):
        yield stage.value, ()
    else:
        if stage.condition is not None:
            yield stage.condition, ()
        held = _assumed(stage.condition)
        for coordinate in stage.target:
            yield coordinate, held
        yield stage.value, held


def guarded_loads(
    root: Expression, guards: tuple[tuple[Expression, bool], ...]
) -> list[tuple[Expression, tuple[tuple[Expression, bool], ...]]]:
    """Return the loads below a root with the guards on the way, each way once."""
    found: list[tuple[Expression, tuple[tuple[Expression, bool], ...]]] = []
    seen: set[tuple[int, tuple[tuple[int, bool], ...]]] = set()
    stack = [(root, guards)]
    while stack:
        node, held = stack.pop()
        key = (id(node), tuple((id(c), h) for c, h in held))
        if key in seen:
            continue
        seen.add(key)
        if node.op == "load":
            found.append((node, held))
        if node.op == "guard":
            condition, value, other = node.args
            stack.append((condition, held))
            stack.append((value, (*held, (condition, True))))
            stack.append((other, (*held, (condition, False))))
        else:
            stack.extend((arg, held) for arg in node.args)
    return found


def conjuncts(
    guards: tuple[tuple[Expression, bool], ...],
) -> list[tuple[Expression, bool]]:
    """Return simple truth values that follow from guards: ``and`` is taken apart."""
    found: list[tuple[Expression, bool]] = []
    stack = list(guards)
    while stack:
        condition, holds = stack.pop()
        if condition.dtype == "bool" and condition.op == "bitwise_not":
            stack.append((condition.args[0], not holds))
        elif condition.op == ("bitwise_and" if holds else "bitwise_or"):
            stack.extend((arg, holds) for arg in condition.args)
        else:
            found.append((condition, holds))
    return found


def _mentions(root: Expression, digits: set[Expression]) -> bool:
    from compiler.ir.expression import leaves

    return any(leaf in digits for leaf in leaves("digit", root))


def comparison(
    condition: Expression, holds: bool
) -> tuple[str, Expression, Expression] | None:
    """Return (``"le"`` or ``"eq"``, a, b) of indices that a truth value states.

    ``a < b`` is ``a + 1 <= b``. None where it states nothing of that kind (``ne``, or
    a comparison of values that are no indices).
    """
    if condition.op not in ("eq", "ne", "lt", "le", "gt", "ge"):
        return None
    left, right = (_as_index(arg) for arg in condition.args)
    if left is None or right is None:
        return None
    op = condition.op
    if not holds:
        op = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "le": "gt", "gt": "le"}[
            op
        ]
    from compiler.ir.index import add

    if op == "eq":
        return "eq", left, right
    if op in ("lt", "le"):
        return "le", add(left, 1 if op == "lt" else 0), right
    if op in ("gt", "ge"):
        return "le", add(right, 1 if op == "gt" else 0), left
    return None


def _as_index(value: Expression) -> Expression | None:
    if value.dtype == "index":
        return value
    if value.op == "from_index" and value.dtype == "int64":
        return value.args[0]
    if value.op == "constant" and value.dtype.startswith("int"):
        return make("constant", (), "index", int(str(value.data)))
    return None
