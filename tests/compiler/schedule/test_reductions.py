"""Reductions unrolled, cut in two, or left alone."""

from itertools import pairwise

import pytest
import torch

from compiler.ir.evaluate import run_program
from compiler.ir.expression import loads
from compiler.ir.index import add, constant_value, contiguous_strides, digit, index, mul
from compiler.ir.node import Axis, Buffer, Map, Node, Program, Reduce, written
from compiler.ir.scalar import apply, load
from compiler.options import Options
from compiler.schedule.adjacent import Adjacent
from compiler.schedule.reductions import (
    cut,
    points_of,
    single,
    unrolled,
    with_fit_reductions,
)

A, B, R, S = digit("i0"), digit("i1"), digit("r0"), digit("r1")
TYPE = "int64"
FOUR = Options(threads=4)


def array(name: str, *shape: int, device: str = "cpu", dtype: str = TYPE) -> Buffer:
    return Buffer(
        name, dtype, tuple(map(index, shape)), device, contiguous_strides(shape)
    )


def rows(count: int, length: int, reducer: str = "sum", device: str = "cpu") -> Reduce:
    value = load("x", (A, R), TYPE)
    axes, inner = (Axis(A, index(count)),), (Axis(R, index(length)),)
    return Reduce((array("y", count, device=device),), axes, inner, reducer, (value,))


def halves(node: Reduce, options: Options = FOUR) -> tuple[Node, ...]:
    """Cut a reduction of x, which is as large as the reduction's points."""
    (read,) = loads(*node.values)
    extents = {a.digit: a.extent for a in (*node.axes, *node.reduced)}
    shape = [constant_value(extents[place]) or 0 for place in read.args]
    x = array("x", *shape, device=node.buffers[0].device)
    return cut(node, Adjacent(Program((x,), (node,), ("y",))), options, {})


def run(node: Reduce, *shape: int) -> tuple[Program, torch.Tensor]:
    program = Program((array("x", *shape),), (node,), ("y",))
    fit = with_fit_reductions(program, FOUR, [])
    x = torch.randint(-9, 9, shape)
    (found,), (wanted,) = run_program(fit, [x]), run_program(program, [x])
    assert isinstance(found, torch.Tensor) and isinstance(wanted, torch.Tensor)
    assert torch.equal(found, wanted)
    return fit, found


@pytest.mark.parametrize("reducer", ["sum", "product", "maximum", "minimum", "xor"])
def test_small_reductions_are_written_out(reducer: str) -> None:
    fit, _ = run(rows(5, 3, reducer), 5, 3)
    (node,) = fit.nodes
    assert isinstance(node, Map)


@pytest.mark.parametrize("reducer", ["sum", "argmax", "argmin", "maximum"])
def test_reductions_of_one_element_are_maps(reducer: str) -> None:
    fit, _ = run(rows(5, 1, reducer), 5, 1)
    assert all(isinstance(node, Map) for node in fit.nodes)


def test_statistics_of_one_element() -> None:
    buffers = tuple(array(n, 3, dtype="float32") for n in ("mean", "square", "count"))
    value = load("x", (A, R), "float32")
    axes, inner = (Axis(A, index(3)),), (Axis(R, index(1)),)
    node = Reduce(buffers, axes, inner, "welford", (value,))
    program = Program(
        (array("x", 3, 1, dtype="float32"),), (node,), ("mean", "square", "count")
    )
    x = torch.tensor([[1.5], [-2.0], [torch.inf]])
    mean, square, count = run_program(
        Program(program.inputs, tuple(single(node)), program.outputs), [x]
    )
    assert isinstance(mean, torch.Tensor) and isinstance(square, torch.Tensor)
    assert torch.equal(mean, x[:, 0]) and isinstance(count, torch.Tensor)
    assert square[:2].tolist() == [0, 0] and square[2].isnan() and count.eq(1).all()


def test_results_that_go_back_to_their_elements_stay_reductions() -> None:
    node = rows(5, 3)
    assert unrolled(node, {"y"}, {}) is None
    assert unrolled(node, set(), {}) is not None
    assert unrolled(rows(5, 10), set(), {}) is None
    assert unrolled(rows(5, 3, "argmax"), set(), {}) is None


def test_a_long_sum_is_shared_out() -> None:
    fit, _ = run(rows(1, 1 << 16), 1, 1 << 16)
    first, second = fit.nodes
    assert isinstance(first, Reduce) and isinstance(second, Reduce)
    assert points_of(first.buffers[0]) == 16
    assert first.buffers[0].strides is None and second.buffers[0].name == "y"


def test_axes_are_shared_out_from_the_outside() -> None:
    value = load("x", (R, S), TYPE)
    inner = (Axis(R, index(8)), Axis(S, index(8192)))
    node = Reduce((array("y"),), (), inner, "sum", (value,))
    fit, _ = run(node, 8, 8192)
    first = fit.nodes[0]
    assert isinstance(first, Reduce)
    assert [constant_value(a.extent) for a in first.axes] == [8, 2]


def test_many_rows_and_short_rows_are_left_alone() -> None:
    assert len(halves(rows(8, 1 << 16))) == 1
    assert len(halves(rows(1, 1 << 12))) == 1
    # no divisor is near
    assert len(halves(rows(1, 65537))) == 1


def test_a_gpu_wants_many_programs() -> None:
    def chunks(node: Reduce) -> int:
        parts = halves(node)
        assert isinstance(parts[0], Reduce)
        return points_of(parts[0].buffers[0]) if len(parts) == 2 else 0

    assert chunks(rows(1, 1 << 27, device="cuda:0")) == 512
    assert chunks(rows(4096, 1 << 13, device="cuda:0")) == 0
    column = Reduce(
        (array("y", 8192, device="cuda:0"),),
        (Axis(A, index(8192)),),
        (Axis(R, index(16384)),),
        "sum",
        (load("x", (R, A), TYPE),),
    )
    assert chunks(column) > 8192


def test_a_deterministic_cut_knows_only_the_reduced_extent() -> None:
    options = Options(deterministic=True, threads=8)
    few, many = (len(halves(rows(n, 1 << 20), options)) for n in (1, 1000))
    assert few == many == 2
    assert len(halves(rows(1, 1 << 18), options)) == 1


def test_values_are_taken_along() -> None:
    value = apply(
        "mul", load("x", (A, R), TYPE), load("x", (A, add(mul(R, -1), 65535)), TYPE)
    )
    node = Reduce(
        (array("y", 1),),
        (Axis(A, index(1)),),
        (Axis(R, index(65536)),),
        "sum",
        (value,),
    )
    run(node, 1, 65536)


@pytest.mark.parametrize("length", [1, 2, 9, 40])
def test_a_sum_of_negative_zeros_is_zero(length: int) -> None:
    value = load("x", (A, R), "float32")
    axes, inner = (Axis(A, index(2)),), (Axis(R, index(length)),)
    result = array("y", 2, dtype="float32")
    node = Reduce((result,), axes, inner, "sum", (value,))
    given = (array("x", 2, length, dtype="float32"),)
    fit = with_fit_reductions(Program(given, (node,), ("y",)), FOUR, [])
    (found,) = run_program(fit, [torch.full((2, length), -0.0)])
    assert isinstance(found, torch.Tensor)
    assert not found.signbit().any()
    compiled = torch.compile(lambda x: x.sum(1), backend="tilewright")
    assert not compiled(torch.full((2, length), -0.0)).signbit().any()


@pytest.mark.parametrize("maps", [1, 2])
@pytest.mark.parametrize("operation", ["erfc", "neg"])
def test_columns_that_are_hard_to_compute_get_more_programs(
    operation: str, maps: int
) -> None:
    shape, kind = (8192, 3072), "float32"
    rows_, columns = Axis(A, index(shape[0])), Axis(B, index(shape[1]))
    names = ["x", "half", "made"] if maps == 2 else ["x", "made"]
    nodes: list[Map | Reduce] = []
    for source, name in pairwise(names):
        value = apply(operation, load(source, (A, B), kind))
        if maps == 1:
            value = apply(operation, value)
        buffer = array(name, *shape, device="cuda", dtype=kind)
        nodes.append(Map(buffer, (rows_, columns), value))
    total = Reduce(
        (array("y", shape[1], device="cuda", dtype=kind),),
        (Axis(A, columns.extent),),
        (Axis(R, rows_.extent),),
        "sum",
        (load("made", (R, A), kind),),
    )
    inputs = (array("x", *shape, device="cuda", dtype=kind),)
    program = Program(inputs, (*nodes, total), ("made", "y"))
    fit = with_fit_reductions(program, FOUR, [])
    chunks = points_of(written(fit.nodes[maps])[0]) // shape[1]
    assert chunks == (32 if operation == "erfc" else 8)
