from algebra.verdict import Proved, Unknown
from compiler.frontend.kernels import Evaluated
from compiler.frontend.summary import buffer_bytes, summarise
from compiler.frontend.validator import Certificate
from compiler.ir.index import index, symbol
from compiler.ir.kernel import Allocate, Kernel, Schedule
from compiler.ir.node import Buffer, Extern, Reference


def array(name: str, size: int, dtype: str = "float32") -> Buffer:
    return Buffer(name, dtype, (index(size),), "cpu", (index(1),))


def test_bytes_of_an_array() -> None:
    assert buffer_bytes(array("x", 3)) == 12
    assert buffer_bytes(array("x", 3, "bfloat16")) == 6
    assert buffer_bytes(array("x", 3, "int64")) == 24
    assert buffer_bytes(Buffer("x", "bool", (symbol("s0"),), "cpu")) is None


def test_what_moves_which_bytes() -> None:
    x, y, z = array("x", 4), array("y", 4), array("z", 2)
    kernel = Kernel("k", (), (), (), {"x": x, "y": y}, ("model.py:1",), ("why",))
    call = Extern((z,), len, ((Reference("y"),),), {"b": Reference("x")}, reason="no")
    steps = (Allocate(y), kernel, call)
    facts = summarise(
        Schedule((x,), steps, ("z",), ("a note",)),
        {"k": Evaluated(kernel)},
        [Certificate("k", {"in_bounds": Proved(), "no_race": Unknown("time")})],
    )
    (row,) = facts["kernels"]
    assert row["name"] == "k" and row["bytes"] == 32 and not row["compiled"]
    assert row["verdicts"] == {"in_bounds": "Proved", "no_race": "Unknown: time"}
    (line,) = facts["extern_calls"]
    assert line["bytes"] == 8 + 16 + 16 and line["reason"] == "no"
    assert facts["notes"] == ["a note"]
