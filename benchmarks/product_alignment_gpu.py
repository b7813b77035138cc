"""Rates of the library's half-precision products by the alignment of rows and extents.

    python benchmarks/product_alignment_gpu.py --commit HASH --out rates.json

One of the three extents is odd, the others are multiples of 64. The steps between rows
are rounded up to 2, 4, 8 or 16 bytes; with ``extent`` the extent itself is rounded up
too, as when zeros are appended. ``split`` multiplies all columns but the odd last ones
at once, and those alone. Results are compared with float32's on random data first.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import torch

SIZES = {
    "columns": (8192, 50257, 768),
    "inner": (8192, 768, 50257),
    "rows": (50257, 768, 8192),
    "square_columns": (4096, 4091, 4096),
    "square_inner": (4096, 4096, 4091),
    "square_rows": (4091, 4096, 4096),
}
"""Name -> rows, columns and inner extent of a product."""

STEPS = (2, 4, 8, 16)
"""Alignments of rows [bytes]."""

Call = Callable[[], torch.Tensor]


def _rounded(extent: int, step: int) -> int:
    return -(-extent // (step // 2)) * (step // 2)


def matrix(
    rows: int, columns: int, step: int, extent: bool, turned: bool
) -> torch.Tensor:
    """Return a random matrix whose rows (columns if turned) are steps apart.

    Args:
        rows: Before rounding [elements].
        columns: Before rounding [elements].
        step: Alignment of what is between rows [bytes].
        extent: Whether the matrix is the wider one, zeros at the end.
        turned: Whether columns are contiguous.
    """
    if turned:
        return matrix(columns, rows, step, extent, False).T
    wide = torch.zeros(rows, _rounded(columns, step), device="cuda", dtype=_TYPE)
    wide[:, :columns] = torch.randn(rows, columns, device="cuda", dtype=_TYPE)
    return wide if extent else wide[:, :columns]


_TYPE = torch.bfloat16


def cases(sizes: tuple[int, int, int]) -> dict[str, tuple[Call, Call, int]]:
    """Return name -> the product, its exact value, and its operations."""
    m, n, k = sizes
    found: dict[str, tuple[Call, Call, int]] = {}
    for step in STEPS:
        for extent in (False, True):
            if extent and step == STEPS[0]:
                continue
            for left, right in ((False, False), (False, True), (True, False)):
                name = f"{step}{' extent' if extent else ''} {left:d}{right:d}"
                found[name] = _case(m, n, k, step, extent, left, right)
    return found


def _case(
    m: int, n: int, k: int, step: int, extent: bool, left: bool, right: bool
) -> tuple[Call, Call, int]:
    a = matrix(m, k, step, extent, left)
    b = matrix(k, n, step, extent, right)
    if extent:
        # zeros on the inner extent of both; rows and columns of the result alike
        inner = max(a.shape[1], b.shape[0])
        a = _grown(a, a.shape[0], inner)
        b = _grown(b, inner, b.shape[1])
    out = matrix(a.shape[0], b.shape[1], step, False, False)

    def call() -> torch.Tensor:
        return torch.mm(a, b, out=out)

    def exact() -> torch.Tensor:
        return a[:256].float() @ b.float()

    return call, exact, 2 * m * n * k


def _grown(value: torch.Tensor, rows: int, columns: int) -> torch.Tensor:
    if value.shape == (rows, columns):
        return value
    turned = value.stride(0) == 1
    shape = (columns, rows) if turned else (rows, columns)
    wide = torch.zeros(shape, device="cuda", dtype=_TYPE)
    wide = wide.T if turned else wide
    wide[: value.shape[0], : value.shape[1]] = value
    return wide


def seconds(call: Call, count: int) -> float:
    """Return the median time of a call [s]."""
    call()
    times: list[float] = []
    for _ in range(5):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(count):
            call()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / count / 1e3)
    return sorted(times)[2]


def main() -> int:
    """Measure all cases and write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commit", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--deadline", type=float, default=60.0, help="seconds")
    options = parser.parse_args()
    until = time.monotonic() + options.deadline
    rows: list[dict[str, Any]] = []
    for name, sizes in SIZES.items():
        for case, (call, exact, operations) in cases(sizes).items():
            if time.monotonic() > until:
                rows.append({"sizes": name, "case": case, "skipped": "deadline"})
                continue
            found, right = call()[:256].float(), exact()
            error = float((found - right).norm() / right.norm())
            if error > 4e-3:
                raise SystemExit(f"{name} {case}: relative error {error}")
            took = seconds(call, 4)
            rate = operations / took
            rows.append({"sizes": name, "case": case, "rate": rate, "error": error})
            print(f"{name:15s} {case:14s} {rate / 1e12:7.1f} e12/s", flush=True)
            del found, right
    report = {
        "question": "How does alignment of rows and extents change cuBLAS's rates?",
        "commit": options.commit,
        "machine": torch.cuda.get_device_name(),
        "versions": {"torch": torch.__version__},
        "sizes": SIZES,
        "cases": rows,
    }
    options.out.write_text(json.dumps(report, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
