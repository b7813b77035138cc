import ast
from pathlib import Path

import numpy as np
import pytest

from algebra import LinearLayout, UnsupportedLayoutError
from algebra.encodings import Blocked
from compiler.codegen.gluon.gather import gather_function
from compiler.convert.gather import plan_gather
from compiler.convert.simulate import images
from verify.oracle import gluon_child
from verify.oracle.wheel import Wheel

SRC = Blocked(
    size_per_thread=(1, 4), threads_per_warp=(4, 8), warps_per_cta=(4, 1), order=(1, 0)
).to_linear_layout([16, 32])
FEW = Blocked(
    size_per_thread=(1, 1), threads_per_warp=(4, 8), warps_per_cta=(4, 1), order=(1, 0)
).to_linear_layout([16, 8])
MIXED = LinearLayout.from_bases(
    {"register": [[1, 1], [0, 2]], "lane": [[1, 0], [2, 4], [4, 0], [0, 8], [0, 4]]},
    ["dim0", "dim1"],
)
CASES = {
    "rows": (SRC, SRC, "dim1"),
    "fewer indices": (SRC, FEW, "dim1"),
    "more indices": (FEW, SRC, "dim1"),
    "mixed": (MIXED, MIXED, "dim0"),
}


@pytest.mark.parametrize("name", CASES)
def test_blocks_gather(name: str, block_machine: type) -> None:
    plan = plan_gather(*CASES[name])
    function = gather_function(plan)
    ast.parse(function.text)
    made = function.block
    assert made is not None
    rng = np.random.default_rng(2)
    tensor = rng.integers(0, 1 << 20, 1 << sum(plan.src.linear.out_bits))
    places = 1 << len(plan.dst.linear.columns)
    index = rng.integers(0, plan.src.out_dims[plan.dim], places)
    taken, wanted = 1 << made.inputs, 1 << made.outputs
    file = tensor[images(plan.src)].reshape(-1, taken)
    asked = index.reshape(-1, wanted)
    operands = [file[:, i] for i in range(taken)]
    operands += [asked[:, i] for i in range(wanted)]
    found = block_machine(made, operands, wanted).outputs(wanted)
    assert np.array_equal(found.ravel(), tensor[plan.expected(index)])


def test_functions_compile() -> None:
    texts = []
    for src, dst, dim in CASES.values():
        plan = plan_gather(src, dst, dim)
        function = gather_function(plan)
        here, there = len(plan.src.linear.columns), len(plan.dst.linear.columns)
        texts.append(
            function.text
            + "\n".join(
                [
                    "",
                    "@gluon.jit",
                    "def probe(source, target):",
                    f"    p = gl.arange(0, {1 << here}, GATHER_SRC)",
                    f"    q = gl.arange(0, {1 << there}, GATHER_DST)",
                    "    x = gl.load(source + p)",
                    "    index = gl.load(source + q) & 7",
                    "    gl.store(target + q, gather(x, index))",
                    "",
                ]
            )
        )
    with Wheel(child=Path(gluon_child.__file__)) as wheel:
        signature = {"source": "*i32", "target": "*i32"}
        jobs = [
            [
                "compile",
                text,
                "probe",
                signature,
                src.get_in_dim_size("warp") if src.has_in_dim("warp") else 1,
                90,
            ]
            for text, (src, _, _) in zip(texts, CASES.values(), strict=True)
        ]
        for answer in wheel.ask(jobs):
            assert "shfl.sync.idx" in answer.get("value", {}).get("ptx", ""), answer


def test_several_blocks_are_refused() -> None:
    blocks = LinearLayout.from_bases(
        {"lane": [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], "block": [[1, 0]]},
        ["dim0", "dim1"],
    )
    with pytest.raises(UnsupportedLayoutError, match="one block"):
        gather_function(plan_gather(blocks, blocks, "dim1"))
