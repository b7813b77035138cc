"""Guards on the way to a load, and what they state."""

from compiler.ir.expression import make
from compiler.ir.index import add, digit, index
from verify.obligations.points import comparison, conjuncts, guarded_loads

ROW = digit("i")
VALUE = make("load", (ROW,), "float32", "x")
OTHER = make("constant", (), "float32", 0.0)


def less(limit: int) -> object:
    one = make("from_index", (ROW,), "int64")
    return make("lt", (one, make("from_index", (index(limit),), "int64")), "bool")


def test_a_guarded_load_carries_its_guards() -> None:
    inner = make("guard", (less(3), VALUE, OTHER), "float32")  # type: ignore[arg-type]
    outer = make("guard", (less(5), inner, VALUE), "float32")  # type: ignore[arg-type]
    found = {tuple(holds for _, holds in held) for _, held in guarded_loads(outer, ())}
    assert found == {(True, True), (False,)}


def test_conjunctions_and_negations_are_taken_apart() -> None:
    both = make("bitwise_and", (less(3), less(5)), "bool")  # type: ignore[arg-type]
    denied = make("bitwise_not", (both,), "bool")
    assert len(conjuncts(((both, True),))) == 2
    assert conjuncts(((denied, False),)) == conjuncts(((both, True),))
    assert conjuncts(((denied, True),)) == [(both, False)]


def test_a_comparison_states_an_inequality_or_its_contrary() -> None:
    condition = less(3)
    assert comparison(condition, True) == ("le", add(ROW, 1), index(3))  # type: ignore[arg-type]
    assert comparison(condition, False) == ("le", index(3), ROW)  # type: ignore[arg-type]
    assert comparison(make("gt", (VALUE, OTHER), "bool"), True) is None
