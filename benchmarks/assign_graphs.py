"""Kernels as operator graphs: what they compute, without a word about layouts.

Each function returns a graph; the tile's sizes are its arguments, the arrays' sizes
are symbols. ``assign_triton`` has the same kernels in Triton.
"""

import math
from collections.abc import Callable, Mapping

from compiler.ir import scalar
from compiler.ir.expression import Expression
from compiler.ir.index import add, floordiv, mul, symbol
from compiler.ir.tile import TileGraph, coordinate
from compiler.ir.tile_builder import TileBuilder, less

D0, D1 = coordinate(0), coordinate(1)


def program(axis: int, size: int) -> Expression:
    """Return where a program's tile starts along a dim."""
    return mul(symbol(f"program{axis}"), size)


def softmax(rows: int = 4, columns: int = 1024) -> TileGraph:
    """Softmax of fp16 rows."""
    b = TileBuilder("softmax")
    n = b.size("n", divisible=16, typical=columns)
    m = b.size("m", typical=4096)
    b.buffer("x", "float16", [m, n])
    b.buffer("y", "float16", [m, n])
    row = add(program(0, rows), D0)
    inside = less(D1, n)
    x = b.load("x", [row, D1], [rows, columns], inside, other=-60000.0)
    wide = b.cast(x, "float32")
    top = b.expand_dims(b.reduce("maximum", wide, 1), 1)
    power = b.apply("exp", b.apply("sub", wide, top))
    total = b.expand_dims(b.reduce("sum", power, 1), 1)
    y = b.apply("truediv", power, total)
    b.store("y", [row, D1], b.cast(y, "float16"), inside)
    return b.graph()


def layernorm_backward(rows: int = 8, columns: int = 1024) -> TileGraph:
    """Gradients of a layer norm: of its input, and a program's part of the weights'."""
    b = TileBuilder("layernorm_backward")
    n = b.size("n", divisible=16, typical=columns)
    m = b.size("m", typical=4096)
    for name in ("x", "dy", "dx"):
        b.buffer(name, "float16", [m, n])
    b.buffer("w", "float16", [n])
    b.buffer("mean", "float32", [m])
    b.buffer("rstd", "float32", [m])
    b.buffer("dw", "float32", [m, n])
    b.buffer("db", "float32", [m, n])
    row = add(program(0, rows), D0)
    inside = less(D1, n)
    shape = [rows, columns]
    x = b.cast(b.load("x", [row, D1], shape, inside), "float32")
    dy = b.cast(b.load("dy", [row, D1], shape, inside), "float32")
    along = less(D0, n)
    w = b.cast(b.load("w", [D0], [columns], along), "float32")
    first = add(program(0, rows), D0)
    mean = b.expand_dims(b.load("mean", [first], [rows]), 1)
    rstd = b.expand_dims(b.load("rstd", [first], [rows]), 1)
    centred = b.apply("mul", b.apply("sub", x, mean), rstd)
    xhat = b.map(
        lambda v: scalar.apply("where", inside, v, scalar.constant(0.0, "float32")),
        centred,
    )
    wdy = b.apply("mul", dy, w)
    share = scalar.apply(
        "truediv", scalar.constant(1.0, "float32"), scalar.from_index(n, "float32")
    )
    c1 = b.reduce("sum", b.apply("mul", xhat, wdy), 1)
    c2 = b.reduce("sum", wdy, 1)
    c1 = b.expand_dims(b.map(lambda v: scalar.apply("mul", v, share), c1), 1)
    c2 = b.expand_dims(b.map(lambda v: scalar.apply("mul", v, share), c2), 1)
    inner = b.apply("sub", wdy, b.apply("add", b.apply("mul", xhat, c1), c2))
    dx = b.apply("mul", inner, rstd)
    b.store("dx", [row, D1], b.cast(dx, "float16"), inside)
    dw = b.reduce("sum", b.apply("mul", dy, xhat), 0)
    db = b.reduce("sum", dy, 0)
    b.store("dw", [symbol("program0"), D0], dw, along)
    b.store("db", [symbol("program0"), D0], db, along)
    return b.graph()


def transposed_add(rows: int = 64, columns: int = 64) -> TileGraph:
    """``z = x + y.T`` of fp32."""
    b = TileBuilder("transposed_add")
    m = b.size("m", divisible=16, typical=4096)
    n = b.size("n", divisible=16, typical=4096)
    b.buffer("x", "float32", [m, n])
    b.buffer("y", "float32", [n, m])
    b.buffer("z", "float32", [m, n])
    at = [add(program(0, rows), D0), add(program(1, columns), D1)]
    x = b.load("x", at, [rows, columns])
    turned = [add(program(1, columns), D0), add(program(0, rows), D1)]
    y = b.transpose(b.load("y", turned, [columns, rows]), [1, 0])
    b.store("z", at, b.apply("add", x, y))
    return b.graph()


def rope(rows: int = 32, width: int = 128) -> TileGraph:
    """Rotary embedding of neighbouring pairs, fp16; one head a program."""
    b = TileBuilder("rope")
    m = b.size("m", typical=4096)
    heads = b.size("heads", typical=32)
    b.buffer("x", "float16", [m, heads, width])
    b.buffer("y", "float16", [m, heads, width])
    b.buffer("cos", "float32", [m, width // 2])
    b.buffer("sin", "float32", [m, width // 2])
    row = add(program(0, rows), D0)
    at = [row, symbol("program1"), D1]
    x = b.load("x", at, [rows, width])
    low, high = b.split(b.reshape(x, [rows, width // 2, 2]))
    low, high = b.cast(low, "float32"), b.cast(high, "float32")
    cos = b.load("cos", [row, D1], [rows, width // 2])
    sin = b.load("sin", [row, D1], [rows, width // 2])
    left = b.apply("sub", b.apply("mul", low, cos), b.apply("mul", high, sin))
    right = b.apply("add", b.apply("mul", high, cos), b.apply("mul", low, sin))
    pairs = b.join(b.cast(left, "float16"), b.cast(right, "float16"))
    b.store("y", at, b.reshape(pairs, [rows, width]))
    return b.graph()


def cross_entropy(rows: int = 4, columns: int = 1024) -> TileGraph:
    """Loss of each row of fp16 logits, and the gradient of the sum of losses."""
    b = TileBuilder("cross_entropy")
    n = b.size("n", divisible=16, typical=columns)
    m = b.size("m", typical=4096)
    b.buffer("x", "float16", [m, n])
    b.buffer("label", "int32", [m])
    b.buffer("loss", "float32", [m])
    b.buffer("dx", "float16", [m, n])
    row = add(program(0, rows), D0)
    inside = less(D1, n)
    x = b.load("x", [row, D1], [rows, columns], inside, other=-60000.0)
    label = b.load("label", [row], [rows])
    picked = b.load(
        "x",
        [row, scalar.checked_index(scalar.local(label.name, "int32"), n, False)],
        [rows],
        operands=[label],
    )
    wide = b.cast(x, "float32")
    top = b.reduce("maximum", wide, 1)
    power = b.apply("exp", b.apply("sub", wide, b.expand_dims(top, 1)))
    total = b.reduce("sum", power, 1)
    loss = b.apply(
        "sub", b.apply("add", b.apply("log", total), top), b.cast(picked, "float32")
    )
    b.store("loss", [row], loss)
    share = b.apply("truediv", power, b.expand_dims(total, 1))
    dx = b.map(
        lambda p, at: scalar.apply(
            "sub",
            p,
            scalar.cast(
                scalar.apply("eq", scalar.from_index(D1, "int32"), at), "float32"
            ),
        ),
        share,
        b.expand_dims(label, 1),
    )
    b.store("dx", [row, D1], b.cast(dx, "float16"), inside)
    return b.graph()


def gather_rows(rows: int = 16, columns: int = 128, taken: int = 64) -> TileGraph:
    """``y[i, j] = x[i, index[i, j]]`` of fp32."""
    b = TileBuilder("gather_rows")
    m = b.size("m", typical=4096)
    b.buffer("x", "float32", [m, columns])
    b.buffer("index", "int32", [m, taken])
    b.buffer("y", "float32", [m, taken])
    row = add(program(0, rows), D0)
    x = b.load("x", [row, D1], [rows, columns])
    index = b.load("index", [row, D1], [rows, taken])
    b.store("y", [row, D1], b.gather(x, index, 1))
    return b.graph()


def reshaped_sum(rows: int = 16, outer: int = 16, inner: int = 32) -> TileGraph:
    """Sums over the middle axis of rows that are matrices, fp16."""
    b = TileBuilder("reshaped_sum")
    m = b.size("m", typical=4096)
    b.buffer("x", "float16", [m, outer * inner])
    b.buffer("y", "float16", [m, inner])
    row = add(program(0, rows), D0)
    x = b.load("x", [row, D1], [rows, outer * inner])
    cube = b.reshape(b.cast(x, "float32"), [rows, outer, inner])
    y = b.cast(b.reduce("sum", cube, 1), "float16")
    b.store("y", [row, D1], y)
    return b.graph()


def attention(rows: int = 64, columns: int = 64, width: int = 64) -> TileGraph:
    """Attention forward of fp16, one head a program, the softmax as it goes."""
    return _attention(rows, columns, width, "float16")


def _attention(rows: int, columns: int, width: int, dtype: str) -> TileGraph:
    """In fp8 the values are transposed: [heads, width, n]. Results are fp16."""
    turned = dtype != "float16"
    b = TileBuilder("attention_fp8" if turned else "attention")
    n = b.size("n", divisible=64, typical=4096)
    heads = b.size("heads", typical=64)
    for name in ("q", "k"):
        b.buffer(name, dtype, [heads, n, width])
    b.buffer("v", dtype, [heads, width, n] if turned else [heads, n, width])
    b.buffer("o", "float16", [heads, n, width])
    head = symbol("program1")
    here = add(program(0, rows), D0)
    scale = 1.4426950408889634 / math.sqrt(width)
    q = b.load("q", [head, here, D1], [rows, width])
    first = (
        b.full([rows], -1e30, "float32"),
        b.full([rows], 0.0, "float32"),
        b.full([rows, width], 0.0, "float32"),
    )
    with b.loop("step", floordiv(n, columns), *first) as inside:
        top, total, output = inside.arguments
        there = add(mul(inside.counter, columns), D0)
        k = b.load("k", [head, there, D1], [columns, width])
        if turned:
            along = add(mul(inside.counter, columns), D1)
            v = b.load("v", [head, D0, along], [width, columns])
            v = b.transpose(v, [1, 0])
        else:
            v = b.load("v", [head, there, D1], [columns, width])
        zero = b.full([rows, columns], 0.0, "float32")
        score = b.apply("mul", b.dot(q, b.transpose(k, [1, 0]), zero), scale)
        higher = b.apply("maximum", top, b.reduce("maximum", score, 1))
        power = b.apply("exp2", b.apply("sub", score, b.expand_dims(higher, 1)))
        shrink = b.apply("exp2", b.apply("sub", top, higher))
        more = b.reduce("sum", power, 1)
        total = b.apply("add", b.apply("mul", total, shrink), more)
        output = b.apply("mul", output, b.expand_dims(shrink, 1))
        output = b.dot(b.cast(power, dtype), v, output)
        inside.yields(higher, total, output)
    _, total, output = inside.results
    result = b.apply("truediv", output, b.expand_dims(total, 1))
    b.store("o", [head, here, D1], b.cast(result, "float16"))
    return b.graph()


def attention_fp8(rows: int = 64, columns: int = 64, width: int = 64) -> TileGraph:
    """Attention forward of fp8 (e5m2)."""
    return _attention(rows, columns, width, "float8_e5m2")


def int8_matmul(rows: int = 64, columns: int = 64, inner: int = 64) -> TileGraph:
    """``c = a @ (w * scale)``: fp16, int8 weights, a scale for each column."""
    b = TileBuilder("int8_matmul")
    m, n, k = (b.size(name, divisible=64, typical=4096) for name in "mnk")
    b.buffer("a", "float16", [m, k])
    b.buffer("w", "int8", [k, n])
    b.buffer("scale", "float32", [n])
    b.buffer("c", "float16", [m, n])
    row = add(program(0, rows), D0)
    zero = b.full([rows, columns], 0.0, "float32")
    with b.loop("step", floordiv(k, inner), zero) as inside:
        start = mul(inside.counter, inner)
        a = b.load("a", [row, add(start, D1)], [rows, inner])
        at = [add(start, D0), add(program(1, columns), D1)]
        w = b.cast(b.load("w", at, [inner, columns]), "float16")
        inside.yields(b.dot(a, w, inside.arguments[0]))
    scale = b.load("scale", [add(program(1, columns), D0)], [columns])
    result = b.apply("mul", inside.results[0], scale)
    at = [row, add(program(1, columns), D1)]
    b.store("c", at, b.cast(result, "float16"))
    return b.graph()


def mxfp4_matmul(rows: int = 64, columns: int = 64, inner: int = 64) -> TileGraph:
    """``c = a @ w``: bf16, weights of fp4 in pairs along K, e8m0 scales of 32 each."""
    b = TileBuilder("mxfp4_matmul")
    m, n, k = (b.size(name, divisible=64, typical=4096) for name in "mnk")
    b.buffer("a", "bfloat16", [m, k])
    b.buffer("w", "uint8", [floordiv(k, 2), n])
    b.buffer("scale", "uint8", [floordiv(k, 32), n])
    b.buffer("c", "bfloat16", [m, n])
    row = add(program(0, rows), D0)
    column = add(program(1, columns), D1)
    groups = inner // 32
    zero = b.full([rows, columns], 0.0, "float32")

    def power_of_two(value: Expression) -> Expression:
        wide = scalar.cast(value, "int16")
        moved = scalar.apply("shift_left", wide, scalar.constant(7, "int16"))
        return scalar.bitcast(moved, "bfloat16")

    with b.loop("step", floordiv(k, inner), zero) as inside:
        a = b.load("a", [row, add(mul(inside.counter, inner), D1)], [rows, inner])
        at = [add(mul(inside.counter, inner // 2), D0), column]
        w = b.upcast(b.load("w", at, [inner // 2, columns]), 0, "bfloat16")
        at = [add(mul(inside.counter, groups), D0), column]
        powers = b.map(power_of_two, b.load("scale", at, [groups, columns]))
        wide = b.fit(b.expand_dims(powers, 1), [groups, 32, columns])
        scales = b.cast(b.reshape(wide, [inner, columns]), "float32")
        scaled = b.cast(b.apply("mul", b.cast(w, "float32"), scales), "bfloat16")
        inside.yields(b.dot(a, scaled, inside.arguments[0]))
    b.store("c", [row, column], b.cast(inside.results[0], "bfloat16"))
    return b.graph()


GRAPHS: Mapping[str, Callable[..., TileGraph]] = {
    "softmax": softmax,
    "layernorm_backward": layernorm_backward,
    "transposed_add": transposed_add,
    "rope": rope,
    "cross_entropy": cross_entropy,
    "gather_rows": gather_rows,
    "reshaped_sum": reshaped_sum,
    "attention": attention,
    "attention_fp8": attention_fp8,
    "int8_matmul": int8_matmul,
    "mxfp4_matmul": mxfp4_matmul,
}
"""Name -> the graph for some tile sizes."""
