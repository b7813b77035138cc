"""Scans in steps against the scan itself."""

import pytest
import torch

from compiler.ir.evaluate import run_program, run_schedule
from compiler.ir.expression import make
from compiler.ir.index import digit, index
from compiler.ir.kernel import Kernel
from compiler.ir.node import Axis, Buffer, Program, Scan
from compiler.options import Options
from compiler.schedule import schedule
from compiler.schedule.long_scans import LONG, in_steps, with_long_scans


def scan(kind: str, shape: tuple[int, ...], along: int, device: str = "cpu") -> Scan:
    axes = tuple(Axis(digit(f"i{n}"), index(size)) for n, size in enumerate(shape))
    value = make("load", tuple(axis.digit for axis in axes), "float64", "x")
    out = Buffer("out", "float64", tuple(map(index, shape)), device)
    return Scan((out,), axes, along, kind, value)


def program_of(node: Scan, device: str = "cpu") -> Program:
    x = Buffer("x", "float64", node.buffers[0].shape, device)
    return Program((x,), (node,), ("out",))


@pytest.mark.parametrize("kind", ["sum", "product", "maximum", "minimum"])
@pytest.mark.parametrize(
    ("shape", "along", "length"),
    [((24,), 0, 6), ((3, 24), 1, 8), ((12, 5), 0, 3), ((2, 12, 3), 1, 4)],
)
def test_steps_do_what_the_scan_does(
    kind: str, shape: tuple[int, ...], along: int, length: int
) -> None:
    torch.manual_seed(0)
    x = torch.randn(shape, dtype=torch.float64)
    whole = program_of(scan(kind, shape, along))
    steps = in_steps(scan(kind, shape, along), length, {})
    parts = Program(whole.inputs, steps, whole.outputs)
    (right,) = run_program(whole, [x])
    for found in (run_program(parts, [x]), run_schedule(schedule(parts), [x])):
        torch.testing.assert_close(found[0], right)


def test_long_rows_are_cut_on_a_gpu_alone() -> None:
    for device, options, steps in (
        ("cuda:0", Options(), 4),
        ("cpu", Options(), 1),
        ("cuda:0", Options(deterministic=True), 1),
    ):
        program = program_of(scan("sum", (LONG,), 0, device), device)
        assert len(with_long_scans(program, options, []).nodes) == steps
    many = program_of(scan("sum", (1024, LONG), 1, "cuda:0"), "cuda:0")
    assert len(with_long_scans(many, Options(), []).nodes) == 1


def test_each_chunk_is_finished_where_it_is_scanned() -> None:
    """Three kernels: totals, their scan, and chunks with what came before them."""
    program = program_of(scan("sum", (LONG,), 0, "cuda:0"), "cuda:0")
    steps = schedule(program).steps
    kernels = [step for step in steps if isinstance(step, Kernel)]
    assert len(kernels) == 3
