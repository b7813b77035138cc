"""The kernels of ``assign_graphs`` in Triton, with the same tiles."""

from collections.abc import Mapping
from typing import Any

import triton
import triton.language as tl

# mypy: disable-error-code="no-untyped-def, misc, untyped-decorator, no-untyped-call"


@triton.jit
def softmax(x, y, n, m, rows: tl.constexpr, columns: tl.constexpr):
    """Softmax of fp16 rows."""
    row = tl.program_id(0) * rows + tl.arange(0, rows)[:, None]
    column = tl.arange(0, columns)[None, :]
    inside = column < n
    value = tl.load(x + row * n + column, mask=inside, other=-60000.0)
    wide = value.to(tl.float32)
    power = tl.exp(wide - tl.max(wide, 1)[:, None])
    result = power / tl.sum(power, 1)[:, None]
    tl.store(y + row * n + column, result.to(tl.float16), mask=inside)


@triton.jit
def layernorm_backward(
    x,
    dy,
    dx,
    w,
    mean,
    rstd,
    dw,
    db,
    n,
    m,
    rows: tl.constexpr,
    columns: tl.constexpr,
):
    """Gradients of a layer norm."""
    first = tl.program_id(0) * rows + tl.arange(0, rows)
    column = tl.arange(0, columns)
    at = first[:, None] * n + column[None, :]
    inside = column[None, :] < n
    value = tl.load(x + at, mask=inside, other=0.0).to(tl.float32)
    grad = tl.load(dy + at, mask=inside, other=0.0).to(tl.float32)
    weight = tl.load(w + column, mask=column < n, other=0.0).to(tl.float32)
    mu = tl.load(mean + first)
    scale = tl.load(rstd + first)
    xhat = (value - mu[:, None]) * scale[:, None]
    xhat = tl.where(inside, xhat, 0.0)
    wdy = grad * weight[None, :]
    share = 1.0 / n
    c1 = tl.sum(xhat * wdy, 1) * share
    c2 = tl.sum(wdy, 1) * share
    result = (wdy - (xhat * c1[:, None] + c2[:, None])) * scale[:, None]
    tl.store(dx + at, result.to(tl.float16), mask=inside)
    place = tl.program_id(0) * n + column
    tl.store(dw + place, tl.sum(grad * xhat, 0), mask=column < n)
    tl.store(db + place, tl.sum(grad, 0), mask=column < n)


@triton.jit
def transposed_add(x, y, z, m, n, rows: tl.constexpr, columns: tl.constexpr):
    """``z = x + y.T``."""
    row = tl.program_id(0) * rows + tl.arange(0, rows)
    column = tl.program_id(1) * columns + tl.arange(0, columns)
    at = row[:, None] * n + column[None, :]
    left = tl.load(x + at)
    right = tl.load(y + column[:, None] * m + row[None, :])
    tl.store(z + at, left + tl.trans(right))


@triton.jit
def rope(x, y, cos, sin, heads, m, rows: tl.constexpr, width: tl.constexpr):
    """Rotary embedding of neighbouring pairs."""
    row = tl.program_id(0) * rows + tl.arange(0, rows)[:, None]
    at = (row * heads + tl.program_id(1)) * width + tl.arange(0, width)[None, :]
    value = tl.load(x + at)
    low, high = tl.split(tl.reshape(value, [rows, width // 2, 2]))
    low = low.to(tl.float32)
    high = high.to(tl.float32)
    half = row * (width // 2) + tl.arange(0, width // 2)[None, :]
    c = tl.load(cos + half)
    s = tl.load(sin + half)
    left = low * c - high * s
    right = high * c + low * s
    pairs = tl.join(left.to(tl.float16), right.to(tl.float16))
    tl.store(y + at, tl.reshape(pairs, [rows, width]))


@triton.jit
def cross_entropy(x, label, loss, dx, n, m, rows: tl.constexpr, columns: tl.constexpr):
    """Loss of each row of logits, and gradient."""
    row = tl.program_id(0) * rows + tl.arange(0, rows)
    column = tl.arange(0, columns)[None, :]
    at = row[:, None] * n + column
    inside = column < n
    value = tl.load(x + at, mask=inside, other=-60000.0)
    target = tl.load(label + row)
    picked = tl.load(x + row * n + target).to(tl.float32)
    wide = value.to(tl.float32)
    top = tl.max(wide, 1)
    power = tl.exp(wide - top[:, None])
    total = tl.sum(power, 1)
    tl.store(loss + row, tl.log(total) + top - picked)
    share = power / total[:, None]
    grad = share - (column == target[:, None]).to(tl.float32)
    tl.store(dx + at, grad.to(tl.float16), mask=inside)


@triton.jit
def gather_rows(
    x,
    index,
    y,
    m,
    rows: tl.constexpr,
    columns: tl.constexpr,
    taken: tl.constexpr,
):
    """``y[i, j] = x[i, index[i, j]]``."""
    row = tl.program_id(0) * rows + tl.arange(0, rows)[:, None]
    value = tl.load(x + row * columns + tl.arange(0, columns)[None, :])
    at = row * taken + tl.arange(0, taken)[None, :]
    tl.store(y + at, tl.gather(value, tl.load(index + at), 1))


@triton.jit
def reshaped_sum(x, y, m, rows: tl.constexpr, outer: tl.constexpr, inner: tl.constexpr):
    """Sums over the middle axis of rows that are matrices."""
    row = tl.program_id(0) * rows + tl.arange(0, rows)[:, None]
    width: tl.constexpr = outer * inner
    value = tl.load(x + row * width + tl.arange(0, width)[None, :]).to(tl.float32)
    total = tl.sum(tl.reshape(value, [rows, outer, inner]), 1)
    at = row * inner + tl.arange(0, inner)[None, :]
    tl.store(y + at, total.to(tl.float16))


@triton.jit
def attention(
    q,
    k,
    v,
    o,
    n,
    heads,
    rows: tl.constexpr,
    columns: tl.constexpr,
    width: tl.constexpr,
):
    """Attention forward of fp16."""
    head = tl.program_id(1) * n * width
    here = tl.program_id(0) * rows + tl.arange(0, rows)[:, None]
    feature = tl.arange(0, width)[None, :]
    scale: tl.constexpr = 1.4426950408889634 / (width**0.5)
    query = tl.load(q + head + here * width + feature)
    top = tl.full([rows], -1e30, tl.float32)
    total = tl.zeros([rows], tl.float32)
    output = tl.zeros([rows, width], tl.float32)
    for step in range(0, n // columns):
        there = step * columns + tl.arange(0, columns)[:, None]
        key = tl.load(k + head + there * width + feature)
        value = tl.load(v + head + there * width + feature)
        score = tl.dot(query, tl.trans(key)) * scale
        higher = tl.maximum(top, tl.max(score, 1))
        power = tl.exp2(score - higher[:, None])
        shrink = tl.exp2(top - higher)
        total = total * shrink + tl.sum(power, 1)
        output = tl.dot(power.to(tl.float16), value, output * shrink[:, None])
        top = higher
    result = output / total[:, None]
    tl.store(o + head + here * width + feature, result.to(tl.float16))


@triton.jit
def attention_fp8(
    q,
    k,
    v,
    o,
    n,
    heads,
    rows: tl.constexpr,
    columns: tl.constexpr,
    width: tl.constexpr,
):
    """Attention forward of fp8 (e5m2), the values transposed."""
    head = tl.program_id(1) * n * width
    here = tl.program_id(0) * rows + tl.arange(0, rows)[:, None]
    feature = tl.arange(0, width)
    scale: tl.constexpr = 1.4426950408889634 / (width**0.5)
    query = tl.load(q + head + here * width + feature[None, :])
    top = tl.full([rows], -1e30, tl.float32)
    total = tl.zeros([rows], tl.float32)
    output = tl.zeros([rows, width], tl.float32)
    for step in range(0, n // columns):
        there = step * columns + tl.arange(0, columns)
        key = tl.load(k + head + there[:, None] * width + feature[None, :])
        value = tl.load(v + head + feature[:, None] * n + there[None, :])
        score = tl.dot(query, tl.trans(key)) * scale
        higher = tl.maximum(top, tl.max(score, 1))
        power = tl.exp2(score - higher[:, None])
        shrink = tl.exp2(top - higher)
        total = total * shrink + tl.sum(power, 1)
        output = output * shrink[:, None]
        output = tl.dot(power.to(tl.float8e5), tl.trans(value), output)
        top = higher
    result = output / total[:, None]
    tl.store(o + head + here * width + feature[None, :], result.to(tl.float16))


@triton.jit
def int8_matmul(
    a,
    w,
    scale,
    c,
    m,
    n,
    k,
    rows: tl.constexpr,
    columns: tl.constexpr,
    inner: tl.constexpr,
):
    """``c = a @ (w * scale)``."""
    row = tl.program_id(0) * rows + tl.arange(0, rows)[:, None]
    column = tl.program_id(1) * columns + tl.arange(0, columns)
    total = tl.zeros([rows, columns], tl.float32)
    for step in range(0, k // inner):
        at = step * inner + tl.arange(0, inner)
        left = tl.load(a + row * k + at[None, :])
        right = tl.load(w + at[:, None] * n + column[None, :]).to(tl.float16)
        total = tl.dot(left, right, total)
    result = total * tl.load(scale + column)[None, :]
    tl.store(c + row * n + column[None, :], result.to(tl.float16))


@triton.jit
def mxfp4_matmul(
    a,
    w,
    scale,
    c,
    m,
    n,
    k,
    rows: tl.constexpr,
    columns: tl.constexpr,
    inner: tl.constexpr,
):
    """``c = a @ w`` with scaled fp4 weights, pairs along K."""
    row = tl.program_id(0) * rows + tl.arange(0, rows)[:, None]
    column = tl.program_id(1) * columns + tl.arange(0, columns)
    groups: tl.constexpr = inner // 32
    total = tl.zeros([rows, columns], tl.float32)
    for step in range(0, k // inner):
        at = step * inner + tl.arange(0, inner)
        left = tl.load(a + row * k + at[None, :])
        pair = step * (inner // 2) + tl.arange(0, inner // 2)
        right = tl.load(w + pair[:, None] * n + column[None, :])
        group = step * groups + tl.arange(0, groups)
        by = tl.load(scale + group[None, :] * n + column[:, None])
        total = tl.dot_scaled(left, None, "bf16", right, by, "e2m1", total)
    tl.store(c + row * n + column[None, :], total.to(tl.bfloat16))


@triton.jit
def _fp4_value(code):
    """Values of e2m1 codes as bf16, from their bits."""
    wide = code.to(tl.uint16)
    moved = (wide & 7) << 6 | (wide & 8) << 12
    return moved.to(tl.bfloat16, bitcast=True) * (2.0**126)


@triton.jit
def mxfp4_by_hand(
    a,
    w,
    scale,
    c,
    m,
    n,
    k,
    rows: tl.constexpr,
    columns: tl.constexpr,
    inner: tl.constexpr,
):
    """As ``mxfp4_matmul``, the weights' values computed from their bits."""
    row = tl.program_id(0) * rows + tl.arange(0, rows)[:, None]
    column = tl.program_id(1) * columns + tl.arange(0, columns)[None, :]
    groups: tl.constexpr = inner // 32
    total = tl.zeros([rows, columns], tl.float32)
    for step in range(0, k // inner):
        at = step * inner + tl.arange(0, inner)
        left = tl.load(a + row * k + at[None, :])
        pair = step * (inner // 2) + tl.arange(0, inner // 2)
        codes = tl.load(w + pair[:, None] * n + column)
        group = step * groups + tl.arange(0, groups)
        by = tl.load(scale + group[:, None] * n + column).to(tl.uint16) << 7
        by = by.to(tl.bfloat16, bitcast=True)
        pairs = tl.join(_fp4_value(codes & 15), _fp4_value(codes >> 4))
        values = tl.reshape(tl.permute(pairs, (0, 2, 1)), (groups, 32, columns))
        right = tl.reshape(values * by[:, None, :], (inner, columns))
        total = tl.dot(left, right, total)
    tl.store(c + row * n + column, total.to(tl.bfloat16))


@triton.jit
def mxfp4_by_hand_turned(
    a,
    w,
    scale,
    c,
    m,
    n,
    k,
    rows: tl.constexpr,
    columns: tl.constexpr,
    inner: tl.constexpr,
):
    """As ``mxfp4_by_hand``, the weights being the first factor, so in registers."""
    row = tl.program_id(0) * rows + tl.arange(0, rows)[:, None]
    column = tl.program_id(1) * columns + tl.arange(0, columns)
    groups: tl.constexpr = inner // 32
    total = tl.zeros([columns, rows], tl.float32)
    for step in range(0, k // inner):
        at = step * inner + tl.arange(0, inner)
        left = tl.load(a + row * k + at[None, :])
        pair = step * (inner // 2) + tl.arange(0, inner // 2)
        codes = tl.trans(tl.load(w + pair[:, None] * n + column[None, :]))
        group = step * groups + tl.arange(0, groups)
        by = tl.load(scale + group[:, None] * n + column[None, :])
        by = tl.trans(by).to(tl.uint16) << 7
        by = by.to(tl.bfloat16, bitcast=True)
        pairs = tl.join(_fp4_value(codes & 15), _fp4_value(codes >> 4))
        values = tl.reshape(pairs, (columns, groups, 32))
        right = tl.reshape(values * by[:, :, None], (columns, inner))
        total = tl.dot(right, tl.trans(left), total)
    tl.store(c + row * n + column[None, :], tl.trans(total).to(tl.bfloat16))


Kernel = tuple[Any, dict[str, str], tuple[str, ...], tuple[str, ...]]
KERNELS: Mapping[str, Kernel] = {
    "softmax": (
        softmax,
        {"x": "*fp16", "y": "*fp16", "n": "i32", "m": "i32"},
        ("x", "y", "n"),
        ("rows", "columns"),
    ),
    "layernorm_backward": (
        layernorm_backward,
        {
            **dict.fromkeys(("x", "dy", "dx", "w"), "*fp16"),
            **dict.fromkeys(("mean", "rstd", "dw", "db"), "*fp32"),
            "n": "i32",
            "m": "i32",
        },
        ("x", "dy", "dx", "w", "mean", "rstd", "dw", "db", "n"),
        ("rows", "columns"),
    ),
    "transposed_add": (
        transposed_add,
        {**dict.fromkeys("xyz", "*fp32"), "m": "i32", "n": "i32"},
        ("x", "y", "z", "m", "n"),
        ("rows", "columns"),
    ),
    "rope": (
        rope,
        {
            "x": "*fp16",
            "y": "*fp16",
            "cos": "*fp32",
            "sin": "*fp32",
            "heads": "i32",
            "m": "i32",
        },
        ("x", "y", "cos", "sin"),
        ("rows", "width"),
    ),
    "cross_entropy": (
        cross_entropy,
        {
            "x": "*fp16",
            "label": "*i32",
            "loss": "*fp32",
            "dx": "*fp16",
            "n": "i32",
            "m": "i32",
        },
        ("x", "label", "loss", "dx", "n"),
        ("rows", "columns"),
    ),
    "gather_rows": (
        gather_rows,
        {"x": "*fp32", "index": "*i32", "y": "*fp32", "m": "i32"},
        ("x", "index", "y"),
        ("rows", "columns", "taken"),
    ),
    "reshaped_sum": (
        reshaped_sum,
        {"x": "*fp16", "y": "*fp16", "m": "i32"},
        ("x", "y"),
        ("rows", "outer", "inner"),
    ),
    "attention": (
        attention,
        {**dict.fromkeys("qkvo", "*fp16"), "n": "i32", "heads": "i32"},
        (*"qkvo", "n"),
        ("rows", "columns", "width"),
    ),
    "attention_fp8": (
        attention_fp8,
        {**dict.fromkeys("qkv", "*fp8e5"), "o": "*fp16", "n": "i32", "heads": "i32"},
        (*"qkvo", "n"),
        ("rows", "columns", "width"),
    ),
    "int8_matmul": (
        int8_matmul,
        {
            "a": "*fp16",
            "w": "*i8",
            "scale": "*fp32",
            "c": "*fp16",
            **dict.fromkeys("mnk", "i32"),
        },
        ("a", "w", "scale", "c", "m", "n", "k"),
        ("rows", "columns", "inner"),
    ),
    "mxfp4_matmul": (
        mxfp4_matmul,
        {
            "a": "*bf16",
            "w": "*u8",
            "scale": "*u8",
            "c": "*bf16",
            **dict.fromkeys("mnk", "i32"),
        },
        ("a", "w", "scale", "c", "m", "n", "k"),
        ("rows", "columns", "inner"),
    ),
}
"""Name -> kernel, types, what is divisible by 16, names of the tile's sizes."""

OTHERS: Mapping[str, tuple[Any, ...]] = {
    "mxfp4_matmul": (mxfp4_by_hand, mxfp4_by_hand_turned),
}
"""Name -> more kernels with the same arguments that compute the same."""

WRONG: Mapping[str, str] = {
    "mxfp4_matmul": "tl.dot_scaled of fp4 is wrong for sm_90 in 3.6.0 and 3.7.1 "
    "(docs/found.md): the two numbers of a byte are not where the layout says",
}
"""Name -> why the machine code of the first kernel is wrong, so that it is no baseline.

Whether it is on a GPU is seen there.
"""
