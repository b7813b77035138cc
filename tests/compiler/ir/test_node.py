"""Programs know their arrays."""

from compiler.ir.index import digit, index, symbol
from compiler.ir.node import (
    REDUCERS,
    SCANS,
    SCATTERS,
    Alias,
    Assign,
    Axis,
    Buffer,
    Extern,
    Map,
    Node,
    Program,
    Reduce,
    Scan,
    Scatter,
    written,
)
from compiler.ir.scalar import load

D = digit("d")
AXES = (Axis(D, index(4)),)
VALUE = load("x", (D,), "float32")


def array(name: str) -> Buffer:
    return Buffer(name, "float32", (index(4),), "cpu")


def test_what_each_node_makes() -> None:
    a, b = array("a"), array("b")
    made: dict[Node, tuple[Buffer, ...]] = {
        Map(a, AXES, VALUE): (a,),
        Reduce((a, b), AXES, AXES, "online_softmax", (VALUE,)): (a, b),
        Scan((a,), AXES, 0, "sum", VALUE): (a,),
        Scatter(a, "x", AXES, (D,), VALUE): (a,),
        Alias(a, "x"): (a,),
        Assign("x", AXES, VALUE): (),
        Extern((a, None, b), len, (), {}): (a, b),
    }
    for node, wanted in made.items():
        assert written(node) == wanted


def test_a_program_lists_inputs_and_results() -> None:
    n = symbol("n")
    program = Program((array("x"), n), (Map(array("a"), AXES, VALUE),), ("a", n, None))
    assert list(program.buffers()) == ["x", "a"]


def test_the_tables_of_kinds() -> None:
    assert REDUCERS["welford"] == (1, 3) and REDUCERS["sum"] == (1, 1)
    assert all(takes >= 1 and gives >= 1 for takes, gives in REDUCERS.values())
    assert "sum" in SCANS and "add" in SCATTERS
