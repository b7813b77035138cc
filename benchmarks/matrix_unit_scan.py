"""The forward recurrence by ``tl.dot``: the variant that the package does not use.

Sixteen rows of the batch a program, B in tiles of 128 and 64, in the precision "tf32x3"
(three products on the matrix unit) or "ieee" (no matrix unit). How much shared memory
does a program take, against what a multiprocessor of sm_90 has?

    python benchmarks/matrix_unit_scan.py
"""
# ruff: noqa: E501, N803

import json
import sys
from pathlib import Path

import triton
import triton.language as tl

ROOT = Path(__file__).resolve().parent.parent
# this folder has an algebra.py of its own
sys.path[0] = str(ROOT)

from compiler.triton_api import compile_kernel

SHARED_BYTES = 227 << 10
"""Of one program on sm_90, at most."""


@triton.jit  # type: ignore[misc,untyped-decorator,unused-ignore]  # triton has no types
def matrix_unit_kernel(x, weight, bias, start, out, steps, batch, n, ROWS: tl.constexpr, WIDE: tl.constexpr, NARROW: tl.constexpr, PRECISION: tl.constexpr):  # type: ignore[no-untyped-def]  # fmt: skip
    """Run a whole scan for some rows."""
    rows = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None]
    wide = tl.arange(0, WIDE)
    narrow = WIDE + tl.arange(0, NARROW)
    held = rows < batch
    mask_wide = held & (wide < n)[None, :]
    mask_narrow = held & (narrow < n)[None, :]
    in_narrow = (narrow < n)[None, :]
    w00 = tl.load(weight + wide[:, None] * n + wide[None, :])
    w01 = tl.load(
        weight + wide[:, None] * n + narrow[None, :], mask=in_narrow, other=0.0
    )
    w10 = tl.load(
        weight + narrow[:, None] * n + wide[None, :],
        mask=(narrow < n)[:, None],
        other=0.0,
    )
    w11 = tl.load(
        weight + narrow[:, None] * n + narrow[None, :],
        mask=in_narrow & (narrow < n)[:, None],
        other=0.0,
    )
    b0 = tl.load(bias + wide)[None, :]
    b1 = tl.load(bias + narrow, mask=narrow < n, other=0.0)[None, :]
    h0 = tl.load(start + rows * n + wide[None, :], mask=mask_wide, other=0.0)
    h1 = tl.load(start + rows * n + narrow[None, :], mask=mask_narrow, other=0.0)
    for t in range(0, steps):
        place = (t * batch + rows).to(tl.int64) * n
        z0 = tl.load(x + place + wide[None, :], mask=mask_wide, other=0.0)
        z1 = tl.load(x + place + narrow[None, :], mask=mask_narrow, other=0.0)
        z0 = tl.dot(
            h1,
            w10,
            tl.dot(h0, w00, z0, input_precision=PRECISION),
            input_precision=PRECISION,
        )
        z1 = tl.dot(
            h1,
            w11,
            tl.dot(h0, w01, z1, input_precision=PRECISION),
            input_precision=PRECISION,
        )
        s0 = tl.maximum(tl.abs(z0) + b0, 0.0)
        s1 = tl.maximum(tl.abs(z1) + b1, 0.0)
        h0 = tl.where(z0 == 0, 0.0, tl.where(z0 < 0, -s0, s0))
        h1 = tl.where(z1 == 0, 0.0, tl.where(z1 < 0, -s1, s1))
        tl.store(out + place + wide[None, :], h0, mask=mask_wide)
        tl.store(out + place + narrow[None, :], h1, mask=mask_narrow)


def main() -> None:
    """Compile for sm_90, which needs no GPU, and print what a program would hold."""
    tensors = ("x", "weight", "bias", "start", "out")
    signature = dict.fromkeys(tensors, "*fp32")
    signature |= dict.fromkeys(("steps", "batch", "n"), "i32")
    rows = []
    for precision, warps in (("tf32x3", 4), ("tf32x3", 8), ("ieee", 8)):
        kernel = compile_kernel(
            matrix_unit_kernel,
            signature,
            {"ROWS": 16, "WIDE": 128, "NARROW": 64, "PRECISION": precision},
            aligned=tensors,
            num_warps=warps,
        )
        shared = kernel.metadata.shared
        row = {"precision": precision, "warps": warps, "shared_bytes": shared}
        rows.append({**row, "fits": shared <= SHARED_BYTES})
        print(rows[-1])
    report = {
        "question": (__doc__ or "").splitlines()[0],
        "triton": triton.__version__,
        "limit_bytes": SHARED_BYTES,
        "cases": len(rows),
        "rows": rows,
    }
    out = ROOT / "benchmarks" / "results" / "matrix_unit_scan.json"
    out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
