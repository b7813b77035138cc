import ast

import numpy as np
import pytest

from algebra import LinearLayout, UnsupportedLayoutError
from algebra.encodings import Blocked, NvidiaMma
from compiler.codegen.gluon.reduction import COMBINE, reduction_function
from compiler.convert.reduction import plan_reduction
from compiler.convert.simulate import images

ACCUMULATOR = NvidiaMma(
    version=(3, 0), warps_per_cta=(4, 1), instr_shape=(16, 32, 16)
).to_linear_layout([64, 32])
SMALL = Blocked(
    size_per_thread=(1, 8), threads_per_warp=(8, 4), warps_per_cta=(4, 1), order=(1, 0)
).to_linear_layout([16, 4])


@pytest.mark.parametrize("layout", [ACCUMULATOR, SMALL], ids=["wgmma", "copies"])
@pytest.mark.parametrize("dims", [["dim0"], ["dim1"], ["dim0", "dim1"]])
@pytest.mark.parametrize("operation", ["sum", "max"])
def test_blocks_reduce(
    layout: LinearLayout, dims: list[str], operation: str, block_machine: type
) -> None:
    plan = plan_reduction(layout, dims)
    function = reduction_function(plan, operation, "int32")
    ast.parse(function.text)
    made = function.block
    assert made is not None
    shape = [layout.out_dims[name] for name in layout.out_names]
    tensor = np.random.default_rng(1).integers(-99, 99, shape[::-1])
    flat = tensor.ravel()  # the first out-dim is the fastest
    registers, results = 1 << made.inputs, 1 << made.outputs
    file = flat[images(plan.src)].reshape(-1, registers)
    operands = [file[:, i] for i in range(registers)]
    found = block_machine(made, operands, results).outputs(results)
    axes = tuple(len(shape) - 1 - list(layout.out_names).index(dim) for dim in dims)
    reduced = tensor.sum(axes) if operation == "sum" else tensor.max(axes)
    wanted = np.asarray(reduced).ravel()[images(plan.dst)].reshape(-1, results)
    assert np.array_equal(found, wanted)


def test_a_function_that_runs_again_waits_first() -> None:
    plan = plan_reduction(ACCUMULATOR, ["dim0"])
    again = reduction_function(plan, "sum", "float32").block
    once = reduction_function(plan, "sum", "float32", repeated=False).block
    assert again is not None and once is not None
    assert again.text.count("bar.sync") == once.text.count("bar.sync") + 1 == 2
    assert "add.f32" in again.text


def test_what_has_no_instruction() -> None:
    plan = plan_reduction(ACCUMULATOR, ["dim1"])
    assert ("mean", "float32") not in COMBINE
    with pytest.raises(UnsupportedLayoutError, match="cast first"):
        reduction_function(plan, "mean", "float32")
    blocks = LinearLayout.from_bases(
        {"lane": [[1, 0]], "block": [[0, 1]]}, ["dim0", "dim1"]
    )
    with pytest.raises(UnsupportedLayoutError, match="one block"):
        reduction_function(plan_reduction(blocks, ["dim0"]), "sum", "int32")


def test_shuffles_are_those_of_32_lanes() -> None:
    lanes = [[0, 1 << bit] for bit in range(6)]
    wide = LinearLayout.from_bases({"lane": lanes}, ["dim0", "dim1"])
    with pytest.raises(UnsupportedLayoutError, match="lanes=64"):
        plan_reduction(wide, ["dim1"], "gfx942").emit("sum", "float32")
