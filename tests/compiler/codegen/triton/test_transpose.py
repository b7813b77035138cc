"""The masked transpose compiles for sm_90 without a GPU."""

import pytest

from compiler.codegen.triton.transpose import transpose_kernel
from compiler.triton_api import compile_kernel


@pytest.mark.parametrize("width", [1, 2, 4, 8])
@pytest.mark.parametrize("tile", [(4, 1024), (64, 64)])
def test_compiles_to_ptx(tile: tuple[int, int], width: int) -> None:
    extents = ("rows", "columns", "row_tiles", "column_tiles")
    pointer = f"*i{8 * width}"
    kernel = compile_kernel(
        transpose_kernel,
        {"source": pointer, "target": pointer, **dict.fromkeys(extents, "i32")},
        {"ROWS": tile[0], "COLUMNS": tile[1]},
        aligned=("source", "target"),
        num_warps=8,
    )
    assert "st.global" in kernel.asm["ptx"]
