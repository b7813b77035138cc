"""Which products run in parts: where a library is slow with them as they are."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from compiler.cost.product import LIBRARY
from compiler.ir.index import contiguous_strides, index
from compiler.ir.kernel import Allocate
from compiler.ir.node import Alias, Buffer, Extern, Program, Reference
from compiler.schedule.products import (
    aligned_parts,
    alignment,
    parts_of,
    product_of,
    product_parts,
    products,
    seconds,
)
from compiler.schedule.rows import ALIGNMENT, Layout, rounded

aten = torch.ops.aten
BATCH, WIDTH, WORDS = 8192, 768, 50257


def matrix(rows: int, columns: int, turned: bool = False, odd: bool = False) -> Layout:
    if turned:
        one = matrix(columns, rows, False, odd)
        return replace(one, shape=one.shape[::-1], strides=one.strides[::-1])
    step = columns if odd else rounded(columns, 2)
    return Layout((rows, columns), (step, 1), 0, 2)


def case(
    rows: int, columns: int, inner: int, left: bool, right: bool, odd: bool = False
) -> tuple[Layout, Layout, Layout]:
    return (
        matrix(rows, inner, left, odd),
        matrix(inner, columns, right, odd),
        matrix(rows, columns, odd=odd),
    )


HEAD = case(BATCH, WORDS, WIDTH, False, True)
TO_WEIGHT = case(WORDS, WIDTH, BATCH, True, False)
TO_INPUT = case(BATCH, WIDTH, WORDS, False, False)


def test_the_products_of_an_odd_vocabulary() -> None:
    for matrices, parts, rate in (
        (HEAD, (BATCH, 50256, WIDTH), LIBRARY.rates[2]),
        (TO_WEIGHT, (50256, WIDTH, BATCH), LIBRARY.odd_rows),
        (TO_INPUT, (BATCH, WIDTH, 50256), LIBRARY.rates[2]),
    ):
        assert parts_of(matrices, "bfloat16") == parts
        whole = 2 * BATCH * WIDTH * WORDS / rate
        fast = 2 * BATCH * WIDTH * WORDS / LIBRARY.rates[16]
        assert fast < seconds(matrices, "bfloat16") < whole


def test_steps_must_be_aligned() -> None:
    """With odd steps an extent of any kind is slow; nothing is won by parts."""
    for rows, columns, inner, turned in (
        (BATCH, WORDS, WIDTH, False),
        (WORDS, WIDTH, BATCH, True),
        (BATCH, WIDTH, WORDS, False),
    ):
        matrices = case(rows, columns, inner, turned, False, odd=True)
        assert (
            alignment(matrices)[0] == 2 and aligned_parts(matrices, "bfloat16") is None
        )
    shifted = replace(HEAD[2], offset=4)
    assert aligned_parts((*HEAD[:2], shifted), "bfloat16") is None


def test_sums_of_float16_are_not_parted() -> None:
    """What the narrow product leaves could be infinite."""
    assert parts_of(TO_INPUT, "float16") is None
    assert parts_of(HEAD, "float16") == parts_of(HEAD, "bfloat16")


def test_small_products_and_copied_matrices_stay_whole() -> None:
    assert aligned_parts(case(64, 9, 64, False, True), "bfloat16") == (64, 8, 64)
    assert parts_of(case(64, 9, 64, False, True), "bfloat16") is None
    assert aligned_parts(case(64, 7, 64, False, True), "bfloat16") is None
    assert aligned_parts(case(0, 9, 64, False, True), "bfloat16") is None
    assert seconds(case(0, 0, 0, False, True), "bfloat16") == 0
    spaced = Layout((64, 64), (128, 2), 0, 2)
    repeated = Layout((64, 64), (0, 1), 0, 2)
    for left in (spaced, repeated):
        rest = matrix(64, 65), matrix(64, 65)
        assert aligned_parts((left, *rest), "bfloat16") is None
    columns = case(65, 64, 64, True, True)
    turned = (*columns[:2], matrix(65, 64, True))
    assert aligned_parts(turned, "bfloat16") is None and not alignment(turned)[1]


extents = st.integers(8, 40)


@given(extents, extents, extents, st.booleans(), st.booleans())
def test_parts_are_the_largest_that_are_fast(
    rows: int, columns: int, inner: int, left: bool, right: bool
) -> None:
    matrices = case(rows, columns, inner, left, right)
    given_extents = (rows, columns, inner)
    parts = aligned_parts(matrices, "bfloat16")
    fast = (ALIGNMENT, False)
    assert (parts is None) == (alignment(matrices) == fast)
    if parts is None:
        return
    m, n, k = parts
    a, b, c = matrices
    part = (
        replace(a, shape=(m, k)),
        replace(b, shape=(k, n)),
        replace(c, shape=(m, n)),
    )
    assert alignment(part) == fast
    for dim, (mine, whole) in enumerate(zip(parts, given_extents, strict=True)):
        assert whole - 8 < mine <= whole
        if mine < whole:  # it had to be: as it was, it is slow
            grown = [*parts]
            grown[dim] = whole
            wide = (
                replace(a, shape=(grown[0], grown[2])),
                replace(b, shape=(grown[2], grown[1])),
                replace(c, shape=(grown[0], grown[1])),
            )
            assert alignment(wide) != fast


@given(extents, extents, extents, st.booleans(), st.booleans())
def test_parts_are_taken_where_they_are_faster(
    rows: int, columns: int, inner: int, left: bool, right: bool
) -> None:
    free = replace(LIBRARY, launch=0.0, bandwidth=1e30)
    for scale in (1, 64):
        sizes = (rows * scale + 1, columns * scale + 1, inner * scale + 1)
        matrices = case(*sizes, left, right)
        operations = 2 * sizes[0] * sizes[1] * sizes[2]
        whole = free.seconds(operations, *alignment(matrices))
        taken = seconds(matrices, "bfloat16", free)
        assert taken <= whole
        assert (parts_of(matrices, "bfloat16", free) is None) == (taken == whole)


def array(name: str, layout: Layout, device: str = "cuda:0") -> Buffer:
    shape, strides = (tuple(map(index, n)) for n in (layout.shape, layout.strides))
    return Buffer(name, "bfloat16", shape, device, strides)


def call(result: Buffer, *names: str) -> Extern:
    operator = aten.mm if len(names) == 2 else aten.addmm
    args = tuple(map(Reference, names))
    return Extern((result,), operator.default, args, {})


def test_products_of_a_schedule() -> None:
    head = call(array("h", HEAD[2]), "x", "t")
    steps = (
        Alias(array("t", HEAD[1]), "w"),
        head,
        Allocate(array("g", TO_INPUT[0])),
        call(array("p", TO_INPUT[2]), "g", "w"),
        call(array("q", matrix(BATCH, WIDTH)), "x", "v"),
    )
    inputs = (
        array("x", HEAD[0]),
        array("w", matrix(WORDS, WIDTH)),
        array("v", matrix(WIDTH, WIDTH)),
    )
    notes: list[str] = []
    parts = {"h": (BATCH, 50256, WIDTH), "p": (BATCH, WIDTH, 50256)}
    assert product_parts(inputs, steps, notes) == parts
    assert notes[0] == "h is multiplied in parts of 8192 x 50256 x 768"
    assert not product_parts(inputs, steps, [], "cpu")
    slow = replace(LIBRARY, launch=1.0)
    assert not product_parts(inputs, steps, [], library=slow)
    unknown = replace(head, outputs=(replace(array("h", HEAD[2]), strides=None),))
    assert not product_parts(inputs, (steps[0], unknown), [])


@pytest.mark.parametrize("bias", [False, True])
def test_products_of_a_program(bias: bool) -> None:
    contiguous = contiguous_strides((index(WORDS),))
    row = Buffer("b", "bfloat16", (index(WORDS),), "cuda:0", contiguous)
    inputs = array("x", HEAD[0]), array("t", HEAD[1]), row
    node = call(array("h", HEAD[2]), *(("b",) if bias else ()), "x", "t")
    (found,) = products(Program(inputs, (node,), ("h",)))
    assert found.bias == bias and found.arrays == ("x", "t", "h")
    assert found.operations == 2 * BATCH * WIDTH * WORDS
    buffers = {buffer.name: buffer for buffer in inputs}
    assert product_of(node, buffers, "cpu") is None
    single = replace(inputs[0], dtype="float32")
    assert product_of(node, {**buffers, "x": single}) is None
    assert product_of(replace(node, target=aten.mul.Tensor), buffers) is None
