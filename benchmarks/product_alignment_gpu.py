"""Rates of the library's half-precision products by the alignment of rows and extents.

    python benchmarks/product_alignment_gpu.py --commit HASH --out rates.json

One of the three extents is odd, the others are multiples of 64. The steps between rows
are rounded up to 2, 4, 8 or 16 bytes; with ``extent`` the extent of what is contiguous
is rounded up too, as when zeros are appended. ``split`` has steps of 16 bytes and odd
extents, and runs in parts, as compiled programs have it. The digits say whether columns
are contiguous in the left and in the right factor. The first and last rows are compared
with float32's on random data first; outputs hold NaN before, and the gaps still after.
"""

import argparse
import json
import math
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import torch

from compiler.runtime.split import split_product
from compiler.schedule.products import aligned_parts, alignment
from compiler.schedule.rows import Layout

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
    rows: int,
    columns: int,
    step: int,
    extent: bool,
    turned: bool,
    device: str = "cuda",
) -> torch.Tensor:
    """Return a random matrix whose rows (columns if turned) are steps apart.

    Args:
        rows: Before rounding [elements].
        columns: Before rounding [elements].
        step: Alignment of what is between rows [bytes].
        extent: Whether the matrix is the wider one, zeros at the end.
        turned: Whether columns are contiguous.
        device: Where it is.
    """
    if turned:
        return matrix(columns, rows, step, extent, False, device).T
    wide = torch.zeros(rows, _rounded(columns, step), device=device, dtype=_TYPE)
    wide[:, :columns] = torch.randn(rows, columns, device=device, dtype=_TYPE)
    return wide if extent else wide[:, :columns]


_TYPE = torch.bfloat16
_CHECKED = 128
"""Rows at each end that are compared."""


def names() -> list[str]:
    """Return the cases: step in bytes, what is done about extents, which are turned."""
    kinds = [str(step) for step in STEPS]
    kinds += [f"{step} extent" for step in STEPS[1:]] + [f"{STEPS[-1]} split"]
    return [f"{kind} {turned}" for kind in kinds for turned in ("00", "01", "10")]


def matrices(
    sizes: tuple[int, int, int], case: str, device: str = "cuda"
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return a case's left factor, right factor, and memory for the result, all NaN.

    Args:
        sizes: Rows, columns and inner extent before rounding [elements].
        case: One of :func:`names`.
        device: Where they are; on ``"meta"`` they take no memory.
    """
    m, n, k = sizes
    step, *kind, turned = case.split()
    at, extent = int(step), kind == ["extent"]
    a = matrix(m, k, at, extent, turned[0] == "1", device)
    b = matrix(k, n, at, extent, turned[1] == "1", device)
    if extent:
        # zeros on the inner extent of both; rows and columns of the result alike
        inner = max(a.shape[1], b.shape[0])
        a = _grown(a, a.shape[0], inner)
        b = _grown(b, inner, b.shape[1])
    columns = b.shape[1]
    wide = torch.full(
        (a.shape[0], _rounded(columns, at)), torch.nan, device=device, dtype=_TYPE
    )
    return a, b, wide[:, :columns]


def layouts(case: tuple[torch.Tensor, ...]) -> list[Layout]:
    """Return how matrices lie in memory, as the compiler sees them."""
    return [Layout(tuple(t.shape), t.stride(), 0, t.element_size()) for t in case]


def alignment_of(sizes: tuple[int, int, int], case: str) -> str:
    """Return what the compiler takes a case's rate to depend on.

    Returns:
        The alignment in bytes; ``"rows"`` where only the number of rows is odd.
    """
    at, odd = alignment(layouts(matrices(sizes, case, "meta")))
    return "rows" if odd and at == STEPS[-1] else str(at)


def prepared(
    sizes: tuple[int, int, int], case: str
) -> tuple[Call, torch.Tensor, torch.Tensor] | None:
    """Return a case's call, its result, and the exact values of the rows at the ends.

    Returns:
        None where nothing is odd, and there are no parts.
    """
    a, b, out = given = matrices(sizes, case)
    ends = torch.cat((a[:_CHECKED], a[-_CHECKED:]))
    parts = aligned_parts(layouts(given), "bfloat16")
    if "split" in case and parts is None:
        return None

    def call() -> torch.Tensor:
        if "split" in case and parts is not None:
            return split_product(torch.mm, out, parts, a, b)
        return torch.mm(a, b, out=out)

    return call, out, ends.float() @ b.float()


def error_of(call: Call, out: torch.Tensor, exact: torch.Tensor) -> float:
    """Return the relative error of the rows at the ends after a call.

    Raises:
        SystemExit: Gaps were written, or parts of the result were not.
    """
    call()
    wide = out if out._base is None else out._base
    gaps = wide[:, out.shape[1] :]
    if not bool(gaps.isnan().all()) or bool(out.isnan().any()):
        raise SystemExit("gaps were written, or not the whole result")
    found = torch.cat((out[:_CHECKED], out[-_CHECKED:])).float()
    return float((found - exact).norm() / exact.norm())


def _grown(value: torch.Tensor, rows: int, columns: int) -> torch.Tensor:
    if value.shape == (rows, columns):
        return value
    turned = value.stride(0) == 1
    shape = (columns, rows) if turned else (rows, columns)
    wide = torch.zeros(shape, device=value.device, dtype=_TYPE)
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
        for case in names():
            row: dict[str, Any] = {"sizes": name, "case": case}
            if time.monotonic() > until:
                rows.append({**row, "skipped": "deadline"})
                continue
            made = prepared(sizes, case)
            if made is None:
                continue
            error = error_of(*made)
            if error > 4e-3:
                raise SystemExit(f"{name} {case}: relative error {error}")
            rate = 2 * math.prod(sizes) / seconds(made[0], 4)
            kind = "split" if "split" in case else alignment_of(sizes, case)
            rows.append({**row, "rate": rate, "error": error, "alignment": kind})
            print(f"{name:15s} {case:14s} {rate / 1e12:7.1f} e12/s", flush=True)
            del made
        written(options, rows)
    for kind, rate in medians(rows).items():
        print(f"{kind:>6s} {rate / 1e12:7.1f} e12/s")
    return 0


def medians(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Return alignment -> median rate of its cases [operations/s]."""
    rates: dict[str, list[float]] = {}
    for row in rows:
        if "rate" in row:
            rates.setdefault(row["alignment"], []).append(row["rate"])
    return {kind: statistics.median(found) for kind, found in sorted(rates.items())}


def written(options: argparse.Namespace, rows: list[dict[str, Any]]) -> None:
    """Write what is known so far."""
    report = {
        "question": "How does alignment of rows and extents change cuBLAS's rates?",
        "commit": options.commit,
        "machine": torch.cuda.get_device_name(),
        "versions": {"torch": torch.__version__},
        "sizes": SIZES,
        "cases": rows,
    }
    options.out.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    raise SystemExit(main())
