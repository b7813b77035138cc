"""Names of kernels."""

from compiler.ir.expression import make
from compiler.ir.index import digit, index
from compiler.ir.kernel import Prefix, Reduction, Store
from compiler.ir.node import Axis
from compiler.ir.scalar import load
from compiler.schedule.naming import kernel_name
from compiler.schedule.nest import Nest

AT, R = digit("i0"), digit("r0")
OUTER, INNER = (Axis(AT, index(4)),), (Axis(R, index(8)),)


def test_names_tell_reducers_operations_and_arrays() -> None:
    x = load("x", (AT, R), "float32")
    reduction = Reduction(("m",), "maximum", (x,), ("float32",))
    store = Store("softmax_2", (AT, R), make("exp", (x,), "float32"), True)
    name = kernel_name(Nest(OUTER, INNER, (reduction, store)), 3)
    assert name == "maximum_exp_softmax_3"
    assert kernel_name(Nest(OUTER, INNER, (reduction,)), 1, product=True) == "matmul_1"


def test_scans_scatters_and_leading_digits() -> None:
    x = load("x", (AT, R), "float32")
    scan = Prefix(("p",), "sum", x, ("float32",))
    store = Store("7up", (AT,), x, False, "add", None, False)
    assert kernel_name(Nest(OUTER, INNER, (scan, store)), 0) == "scan_sum_scatter_7up_0"
    digits = kernel_name(Nest(OUTER, (), (Store("7up", (AT,), x, False),)), 1)
    assert digits == "k_7up_1"


def test_names_are_identifiers() -> None:
    x = load("x", (AT,), "float32")
    name = kernel_name(Nest(OUTER, (), (Store("a.b-c", (AT,), x, False),)), 5)
    assert name.isidentifier() and name.endswith("_5")
