"""Index expressions: simplification never changes a value."""

import random
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from compiler.ir.expression import Expression, nodes
from compiler.ir.index import (
    add,
    constant_value,
    digit,
    flatten,
    floordiv,
    index,
    maximum,
    minimum,
    mod,
    mul,
    symbol,
    unflatten,
)
from compiler.ir.ranges import Ranges

ROW, COLUMN, SIZE = digit("i"), digit("j"), symbol("N")
BUILD: dict[str, Callable[..., Expression]] = {
    "add": add,
    "mul": mul,
    "floordiv": floordiv,
    "mod": mod,
    "minimum": minimum,
    "maximum": maximum,
}
PLAIN: dict[str, Callable[..., int]] = {
    "add": lambda *a: sum(a),
    "mul": lambda a, *rest: a * PLAIN["mul"](*rest) if rest else a,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "minimum": min,
    "maximum": max,
}


def value(root: Expression, at: dict[str, int]) -> int:
    """Evaluate by the definition of each operation."""
    found: dict[int, int] = {}
    for node in nodes(root):
        if node.op in ("digit", "symbol"):
            found[id(node)] = at[str(node.data)]
        elif node.op == "constant":
            found[id(node)] = int(str(node.data))
        else:
            found[id(node)] = PLAIN[node.op](*(found[id(a)] for a in node.args))
    return found[id(root)]


def trees() -> st.SearchStrategy[Any]:
    leaf = st.sampled_from(["i", "j", "N"]) | st.integers(-9, 9)
    positive = st.integers(1, 9) | st.just("N")
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.tuples(
                st.sampled_from(["add", "mul", "minimum", "maximum"]), inner, inner
            ),
            st.tuples(st.sampled_from(["floordiv", "mod"]), inner, positive),
        ),
        max_leaves=12,
    )


def built(tree: Any, at: dict[str, int]) -> tuple[Expression, int]:
    if isinstance(tree, int):
        return index(tree), tree
    if isinstance(tree, str):
        return {"i": ROW, "j": COLUMN, "N": SIZE}[tree], at[tree]
    op, *args = tree
    parts = [built(arg, at) for arg in args]
    return BUILD[op](*(p[0] for p in parts)), PLAIN[op](*(p[1] for p in parts))


@given(trees(), st.integers(0, 7), st.integers(0, 4), st.integers(1, 5))
def test_building_and_simplifying_keep_the_value(
    tree: Any, i: int, j: int, n: int
) -> None:
    """Sizes: i < 8, j < N."""
    at = {"i": i, "j": min(j, n - 1), "N": n}
    expression, expected = built(tree, at)
    assert value(expression, at) == expected
    ranges = Ranges({ROW: 8, COLUMN: SIZE}, {SIZE: 1})
    assert value(ranges.simplify(expression), at) == expected
    low, high = ranges.bounds(expression)
    if low is not None and high is not None:
        assert value(low, at) <= expected <= value(high, at)
    if ranges.at_least(expression, 0):
        assert expected >= 0


@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.randoms())
def test_flatten_and_unflatten_are_inverse(
    extents: list[int], rng: random.Random
) -> None:
    digits = [digit(f"d{k}") for k in range(len(extents))]
    ranges = Ranges(dict(zip(digits, extents, strict=True)))
    position = flatten(digits, extents)
    back = [ranges.simplify(part) for part in unflatten(position, extents)]
    at = {f"d{k}": rng.randrange(e) for k, e in enumerate(extents)}
    assert [value(part, at) for part in back] == [at[f"d{k}"] for k in range(len(back))]


def test_equal_affine_expressions_are_one_object() -> None:
    assert add(mul(ROW, 2), COLUMN, 1) is add(1, COLUMN, ROW, ROW)
    assert mul(add(ROW, 1), 8) is add(mul(ROW, 8), 8)
    assert constant_value(add(ROW, mul(ROW, -1), 3)) == 3
