"""Equal expressions are one object, and passes visit each once."""

import copy
import gc
import pickle
from collections.abc import Hashable

from compiler.ir.expression import (
    Expression,
    leaves,
    loads,
    make,
    nodes,
    rewrite,
    substitute,
)
from compiler.ir.index import add, digit, index, mul

D, E = digit("d"), digit("e")


def constant(value: Hashable, dtype: str) -> Expression:
    return make("constant", (), dtype, value)


def test_equal_parts_are_one_object() -> None:
    assert make("load", (D,), "float32", "x") is make("load", (D,), "float32", "x")
    assert make("load", (D,), "float32", "x") is not make("load", (E,), "float32", "x")
    assert make("load", (D,), "float32", "x") is not make("load", (D,), "int32", "x")


def test_constants_differ_by_type_and_sign() -> None:
    kinds = [True, 1, 1.0, 0.0, -0.0, float("nan"), 0, False]
    made = [constant(value, "float32") for value in kinds]
    assert len({id(node) for node in made}) == len(kinds)
    assert constant(float("nan"), "float32") is constant(float("nan"), "float32")


def test_what_nobody_holds_is_forgotten() -> None:
    value = make("load", (D,), "float32", "short-lived")
    first = id(value)
    del value
    gc.collect()
    again = make("load", (D,), "float32", "short-lived")
    assert again.data == "short-lived" and first


def test_copies_and_pickles_are_the_object() -> None:
    value = add(mul(D, 4), E)
    assert pickle.loads(pickle.dumps(value)) is value
    assert copy.copy(value) is value


def test_operands_come_before_users_and_once() -> None:
    x = make("load", (D,), "float32", "x")
    square = make("mul", (x, x), "float32")
    order = list(nodes(square, x))
    assert order == [D, x, square]
    assert loads(square) == [x] and leaves("digit", square) == [D]


def test_a_deep_graph_needs_no_stack() -> None:
    value = make("load", (D,), "float32", "x")
    for _ in range(20_000):
        value = make("neg", (value,), "float32")
    assert sum(1 for _ in nodes(value)) == 20_002
    renamed = substitute(value, {D: E})
    assert loads(renamed)[0].args == (E,)


def test_substitution_is_simultaneous() -> None:
    swapped = substitute(add(mul(D, 4), E), {D: E, E: D})
    assert swapped is add(mul(E, 4), D)
    # a sum that folds to a leaf is not changed again
    folded = substitute(add(D, mul(E, 2)), {D: E, E: index(0)})
    assert folded is E


def test_a_rewrite_that_changes_nothing_returns_the_graph() -> None:
    value = make("exp", (make("load", (add(D, 1),), "float32", "x"),), "float32")
    assert rewrite(value, lambda node: node) is value


def test_memory_is_shared_between_roots() -> None:
    seen: list[Expression] = []
    done: dict[int, Expression] = {}
    x = make("load", (D,), "float32", "x")
    roots = [make(op, (x,), "float32") for op in ("exp", "neg")]

    def change(node: Expression) -> Expression:
        seen.append(node)
        return node

    for root in roots:
        rewrite(root, change, done)
    assert seen.count(x) == 1


def test_expressions_print_as_they_read() -> None:
    x = make("load", (D,), "float32", "x")
    assert repr(make("cast", (x,), "bfloat16")) == "cast(x[d]):bfloat16"
    assert repr(make("local", (), "float32", "total")) == "total"
