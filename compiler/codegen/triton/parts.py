"""Strangers in one kernel: each program changes one array's tile, not all in turn.

An optimizer's step changes many arrays of one shape. A program that does the same tile
of each waits for the loads of one after the stores of the one before, holds many
registers, and there are few such programs. Where the program's number chooses what it
does, there are many short ones, and memory never waits. Mostly it chooses only the
arrays: what is done to each is the same, and printed once.

Stages are of one part where they share what differs from point to point. What all
points share, a learning rate say, each part loads for itself: a program runs one part.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import TypeAlias

from compiler.ir.expression import INDEX, Expression, loads, make, nodes, rewrite
from compiler.ir.kernel import Kernel, Store

from .emitter import Emitter
from .flat import expressions
from .operations import operands
from .tile import PART, Parts, size_of

LARGE = 1 << 14
"""Points of a kernel beyond which programs share out its parts."""

MOST_BRANCHES = 16
"""Branches that follow each other, at most."""

Own: TypeAlias = tuple[str, ...]
"""The arrays of a part that no other has, in an order that follows its form."""


def parts_of(kernel: Kernel) -> Parts:
    """Return the stages that programs may do apart, as numbers; () if they should not.

    They should where all that the kernel stores is changed in place, at many points.

    Args:
        kernel: With flat addresses and without inner axes.
    """
    if size_of([axis.extent for axis in kernel.outer]) <= LARGE:
        return ()
    stores = [stage for stage in kernel.stages if isinstance(stage, Store)]
    stored: set[str] = set()
    read: set[str] = set()
    for store in stores:
        mine = {str(load.data) for load in loads(*expressions(store))}
        if store.mode != "set" or not store.injective or store.condition is not None:
            return ()
        if mine & stored:  # it reads what an earlier one wrote
            return ()
        stored.add(store.buffer)
        read |= mine
    if len(stores) < 2 or not stored <= read:
        return ()
    found = components(
        [{store.buffer, *_own(expressions(store), stored)} for store in stores]
    )
    return found if len(found) > 1 else ()


def components(keys: Sequence[Iterable[object]]) -> Parts:
    """Return the numbers of the sets that share elements, directly or not.

    Example:
        >>> components([{1, 2}, {3}, {2, 4}, {4}])
        ((0, 2, 3), (1,))
    """
    group = list(range(len(keys)))
    owner: dict[object, int] = {}
    for number, names in enumerate(keys):
        for name in names:
            first = group[owner.setdefault(name, number)]
            mine = group[number]
            low, high = min(first, mine), max(first, mine)
            if low != high:
                group = [low if one == high else one for one in group]
    found: dict[int, list[int]] = {}
    for number, one in enumerate(group):
        found.setdefault(one, []).append(number)
    return tuple(tuple(numbers) for numbers in found.values())


def _own(roots: Sequence[Expression], stored: set[str]) -> Iterable[object]:
    """Yield values that differ from point to point, and arrays that hold such ones."""
    varies: set[Expression] = set()
    for node in nodes(*roots):
        if node.op == "digit" or any(arg in varies for arg in node.args):
            varies.add(node)
            if node.dtype != INDEX:
                yield node
        if node.op == "load" and (node in varies or str(node.data) in stored):
            yield str(node.data)


def print_parts(
    emitter: Emitter, parts: Parts, stage: Callable[[Emitter, Store], None]
) -> None:
    """Print what chooses a part, and its loads, values and stores.

    Parts that differ in their arrays alone are printed once, after what chooses among
    their arrays.

    Args:
        emitter: After its header.
        parts: Of its plan.
        stage: Prints a store.
    """
    stores = [s for s in emitter.plan.kernel.stages if isinstance(s, Store)]
    kinds = alike([[stores[number] for number in numbers] for numbers in parts])
    starts = list(accumulate(map(len, kinds), initial=0))
    for kind, first, last in zip(kinds, starts, starts[1:], strict=False):
        if len(kinds) > 1:
            emitter.line(f"if {_within(emitter, first, last, len(parts))}:")
            emitter.open()
        if len(kind) > 1:
            _choose(emitter, [own for _, own in kind], first, len(parts))
        mine = kind[0][0]
        read_first(emitter, mine)
        for store in mine:
            stage(emitter, store)
        emitter.chosen = {}
        if len(kinds) > 1:
            emitter.close()


def _within(emitter: Emitter, first: int, last: int, count: int) -> str:
    """Return whether a program's part is one of a range, as text."""
    chosen = emitter.value(PART)
    tests = [f"{chosen} >= {first}"] if first else []
    tests += [f"{chosen} < {last}"] if last < count else []
    return f"({tests[0]}) & ({tests[1]})" if len(tests) > 1 else "".join(tests)


def _choose(emitter: Emitter, arrays: Sequence[Own], first: int, count: int) -> None:
    """Print which arrays the first part of a kind stands for, by the program's part.

    A compiler makes a table of jumps of equalities in a row, but keeps all pointers of
    a tree of comparisons in registers. Many branches, though, are deep for Python.

    Args:
        emitter: Prints.
        arrays: Of each part of the kind.
        first: Number of the first part.
        count: Of all parts.
    """
    names = [emitter.name(f"at{number}") for number in range(len(arrays[0]))]
    # the sum, which costs nothing, has the name: the argument would change its own
    rows = [
        [f"{n} = {emitter.pointer(a)} + 0" for n, a in zip(names, own, strict=True)]
        for own in arrays
    ]
    several = len(rows) > MOST_BRANCHES
    if several:
        for text in rows[0]:
            emitter.line(text)
    for start in range(0, len(rows), MOST_BRANCHES):
        end = min(start + MOST_BRANCHES, len(rows))
        if several:
            limit = count if end == len(rows) else end + first
            begin = start + first if start else 0
            emitter.line(f"if {_within(emitter, begin, limit, count)}:")
            emitter.indent += 1
        _branches(emitter, rows[start:end], first + start)
        if several:
            emitter.indent -= 1
    emitter.chosen = dict(zip(arrays[0], names, strict=True))


def _branches(emitter: Emitter, rows: Sequence[Sequence[str]], first: int) -> None:
    chosen = emitter.value(PART)
    for number, texts in enumerate(rows):
        last = number == len(rows) - 1
        word = "if" if number == 0 else "elif"
        if len(rows) > 1:
            test = f"{word} {chosen} == {first + number}:"
            emitter.line("else:" if last else test)
        emitter.indent += len(rows) > 1
        for text in texts:
            emitter.line(text)
        emitter.indent -= len(rows) > 1


def alike(parts: Sequence[Sequence[Store]]) -> list[list[tuple[Sequence[Store], Own]]]:
    """Return parts that differ in their own arrays alone together, and those arrays."""
    users: dict[str, set[int]] = {}
    for number, part in enumerate(parts):
        for name in _arrays(part):
            users.setdefault(name, set()).add(number)
    found: dict[object, list[tuple[Sequence[Store], Own]]] = {}
    for part in parts:
        own = tuple(name for name in _arrays(part) if len(users[name]) == 1)
        key = _form(part, {name: f"own {n}" for n, name in enumerate(own)})
        found.setdefault(key, []).append((part, own))
    return list(found.values())


def _arrays(stores: Sequence[Store]) -> list[str]:
    """Return the arrays that stages touch, in an order that follows their form."""
    found: dict[str, None] = {}
    for store in stores:
        for load in loads(*expressions(store)):
            found[str(load.data)] = None
        found[store.buffer] = None
    return list(found)


def _form(stores: Sequence[Store], names: dict[str, str]) -> object:
    """Return what stages do, with other names of arrays."""
    done: dict[int, Expression] = {}

    def renamed(node: Expression) -> Expression:
        if node.op != "load":
            return node
        name = names.get(str(node.data), node.data)
        return make("load", node.args, node.dtype, name)

    return tuple(
        (
            names.get(store.buffer, store.buffer),
            *(rewrite(root, renamed, done) for root in expressions(store)),
        )
        for store in stores
    )


def read_first(emitter: Emitter, stores: Sequence[Store]) -> None:
    """Print all loads of some stages before what is computed, and that before stores.

    Memory takes far longer to answer than to be asked.
    """
    roots = [part for store in stores for part in expressions(store)]
    seen: set[Expression] = set()
    stack = list(reversed(roots))
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if node.op == "load":
            emitter.value(node)
        else:
            stack.extend(reversed(operands(node)))
    for store in stores:
        emitter.value(store.value)
