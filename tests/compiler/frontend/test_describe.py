from compiler.frontend.describe import (
    describe_node,
    describe_program,
    describe_schedule,
)
from compiler.ir.expression import Expression, make
from compiler.ir.index import digit, index, symbol
from compiler.ir.kernel import (
    Allocate,
    Free,
    Kernel,
    Prefix,
    Reduction,
    Schedule,
    Store,
)
from compiler.ir.node import (
    Alias,
    Assign,
    Axis,
    Buffer,
    Extern,
    Map,
    Product,
    Program,
    Reduce,
    Reference,
    Scan,
    Scatter,
    Tiling,
)

ROW, COLUMN, S = digit("i"), digit("j"), symbol("s0")
ROWS, COLUMNS = Axis(ROW, index(3)), Axis(COLUMN, S)
TRUE = make("constant", (), "bool", True)


def array(name: str, *shape: Expression | int) -> Buffer:
    return Buffer(name, "float32", tuple(map(index, shape)), "cpu")


def test_a_product_has_its_factors_and_its_results() -> None:
    left, right = (make("load", (ROW, d), "float16", d.data) for d in (COLUMN, ROW))
    total = make("local", (), "float32", "sum_1")
    node = Product(
        (array("p", 3),),
        (ROWS,),
        COLUMNS,
        left,
        right,
        "sum_1",
        ((ROW,),),
        (total,),
        Tiling(64, 64, 32, 4, 2),
    )
    assert describe_node(node) == (
        "product p: float32 (3) over (i < 3): sum_1 = sum over (j < s0) of "
        "j[i, j] * i[i, i]; p[i] = sum_1"
    )


def test_each_kind_of_node_has_its_line() -> None:
    value = make("load", (ROW, COLUMN), "float32", "x")
    row = make("load", (ROW,), "float32", "y")
    text = describe_program(
        Program(
            (array("x", 3, S), S),
            (
                Map(array("m", 3, S), (ROWS, COLUMNS), value),
                Reduce((array("y", 3),), (ROWS,), (COLUMNS,), "sum", (value,)),
                Scan((array("c", 3, S),), (ROWS, COLUMNS), 1, "sum", value),
                Scatter(array("z", 3), "y", (ROWS,), (ROW,), row, "add", TRUE),
                Assign("x", (ROWS, COLUMNS), value),
                Alias(array("v", 3), "y"),
                Extern(
                    (array("e", 3), None),
                    print,
                    (Reference("y"), [S]),
                    {"k": 1},
                    ("y",),
                    reason="has no lowering",
                    origin="model.py:3",
                ),
            ),
            ("m", S, None),
        )
    )
    for part in (
        "input  x: float32 (3, s0)",
        "map    m: float32 (3, s0) over (i < 3, j < s0): x[i, j]",
        "reduce y: float32 (3) over (i < 3): sum over (j < s0) of x[i, j]",
        "scan   c: float32 (3, s0) over (i < 3, j < s0): sum along j of x[i, j]",
        "scatter z: float32 (3) = y with [i] add y[i] over (i < 3) where True",
        "assign x over (i < 3, j < s0): x[i, j]",
        "alias  v: float32 (3) of y",
        "(y, [s0], k=1), writes y",
        "because has no lowering",
        "from model.py:3",
        "output m, s0, None",
    ):
        assert part in text


def test_each_kind_of_step_has_its_line() -> None:
    value = make("load", (ROW, COLUMN), "float32", "x")
    total = make("local", (), "float32", "total")
    kernel = Kernel(
        "row_sum",
        (ROWS,),
        (COLUMNS,),
        (
            Reduction(("total",), "sum", (value,), ("float32",)),
            Prefix(("run",), "sum", value, ("float32",)),
            Store("y", (ROW,), total, inner=False),
            Store("z", (ROW, COLUMN), total, inner=True, mode="add", condition=TRUE),
        ),
        {"y": array("y", 3)},
        ("model.py:4",),
        ("one row fits",),
    )
    steps = (
        Allocate(array("y", 3)),
        Allocate(array("w", 3), reuse="y"),
        kernel,
        Free("y"),
    )
    text = describe_schedule(Schedule((), steps, ("w",), ("not fused",)))
    for part in (
        "take   y: float32 (3)\n",
        "take   w: float32 (3) in the memory of y",
        "kernel row_sum over (i < 3) and inner (j < s0)",
        "total = sum of x[i, j]",
        "run = running sum of x[i, j]",
        "y[i] = total once",
        "z[i, j] = add total where True",
        "from model.py:4",
        "because one row fits",
        "free   y",
        "notes\n  not fused",
    ):
        assert part in text
