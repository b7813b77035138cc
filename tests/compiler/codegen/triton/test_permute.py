"""The Triton kernel compiles for sm_90 without a GPU, on every release at hand."""

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from compiler.codegen.triton.permute import permute_kernel
from compiler.permuting.index_map import IndexMap
from compiler.permuting.launch import plan_launch
from compiler.triton_api import compile_kernel

REVERSAL = IndexMap(tuple(1 << i for i in reversed(range(26))))
SHEAR = IndexMap((*(3 << i for i in range(25)), 1 << 25))
MAPS = {"none": IndexMap(()), "one": IndexMap((1,)), "reversal": REVERSAL}


def ptx(map: IndexMap, width: int, address_bits: int = 32) -> str:
    launch = plan_launch(map, width)
    pointer = f"*i{8 * width}"
    signature = {
        "source": pointer,
        "target": pointer,
        "table": f"*i{address_bits}",
        **dict.fromkeys(("bits", "program_bits", "low_bits"), "i32"),
    }
    kernel = compile_kernel(
        permute_kernel,
        signature,
        launch.constants,
        aligned=("source", "target", "table"),
        num_warps=launch.num_warps,
    )
    return str(kernel.asm["ptx"])


@pytest.mark.parametrize("width", [1, 2, 4, 8])
@pytest.mark.parametrize("name", MAPS)
def test_compiles_to_ptx(name: str, width: int) -> None:
    text = ptx(MAPS[name], width)
    assert ".target sm_90" in text and "st.global" in text


@pytest.mark.parametrize("address_bits", [32, 64])
@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_a_bit_reversal_moves_16_bytes_at_a_time_on_both_sides(
    width: int, address_bits: int
) -> None:
    text = ptx(REVERSAL, width, address_bits)
    wide = r"global\.v4\.b32|global\.v2\.b64"
    loads = len(re.findall(rf"\bld\.(?:{wide})", text))
    stores = len(re.findall(rf"\bst\.(?:{wide})", text))
    tile_bytes = width << len(plan_launch(REVERSAL, width).plan.source)
    threads = 32 * plan_launch(REVERSAL, width).num_warps
    assert loads == stores == tile_bytes // (16 * threads)
    assert not re.search(rf"\bst\.global\.b{8 * width}\b", text)


def test_a_shear_reads_and_writes_each_element_once() -> None:
    text = ptx(SHEAR, 4)
    launch = plan_launch(SHEAR, 4)
    each = (1 << len(launch.plan.source)) // (32 * launch.num_warps)
    assert len(re.findall(r"\bst\.global\.b32", text)) == each


@pytest.mark.slow
@pytest.mark.parametrize("release", ["3.6.0", "3.8.0", "3.9.0"])
def test_compiles_on_other_releases(
    release: str, repository: Path, tmp_path: Path
) -> None:
    wheel = repository.parent / ".oracle" / release
    if not wheel.is_dir():
        pytest.skip(f"no folder {wheel}: pip install --target it")
    script = textwrap.dedent(f"""
        import triton
        assert triton.__version__ == {release!r}, triton.__version__
        from compiler.codegen.triton.permute import permute_kernel
        from compiler.permuting.index_map import IndexMap
        from compiler.permuting.launch import plan_launch
        from compiler.triton_api import compile_kernel
        bits = ("bits", "program_bits", "low_bits")
        for columns in ([], [1], [1 << i for i in reversed(range(26))],
                        [3 << i for i in range(25)] + [1 << 25]):
            for width in (1, 2, 4, 8):
                launch = plan_launch(IndexMap(tuple(columns)), width)
                data = f"*i{{8 * width}}"
                kernel = compile_kernel(
                    permute_kernel,
                    {{"source": data, "target": data, "table": "*i32",
                      **dict.fromkeys(bits, "i32")}},
                    launch.constants, aligned=("source", "target", "table"),
                    num_warps=launch.num_warps)
                assert "st.global" in kernel.asm["ptx"]
    """)
    environment = {
        **os.environ,
        "PYTHONPATH": f"{wheel}{os.pathsep}{repository}",
        "TRITON_CACHE_DIR": str(tmp_path),
    }
    subprocess.run([sys.executable, "-c", script], env=environment, check=True)
