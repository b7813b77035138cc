"""How fast is the layout algebra, next to Triton's own C++ class?

Both run in this process, alternating, on the real layouts of kernels: blocked,
tensor-core, slices, swizzled memory. Operations: construct, apply, compose, invert,
invert_and_compose. No result is kept between calls.

    python benchmarks/algebra.py [--triton FOLDER] [--out FILE]

FOLDER is a ``pip install --no-deps --target FOLDER triton==3.9.0``; it is made under
.oracle/ if it is not there.
"""

import argparse
import json
import math
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from algebra import LinearLayout

Calls = list[Callable[[], Any]]
Bases = dict[str, list[list[int]]]


def real_layouts() -> dict[str, tuple[Bases, dict[str, int]]]:
    """Return name -> (bases, out_dims): what Triton prints for everyday encodings."""
    lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]]

    def wgmma(columns: int) -> Bases:
        tail = [[0, 1 << i] for i in range(3, columns.bit_length() - 1)]
        return {
            "register": [[0, 1], [8, 0], *tail],
            "lane": lane,
            "warp": [[16, 0], [32, 0]],
            "block": [],
        }

    def shared(rows: list[list[int]], width: int) -> Bases:
        columns = [[0, 1 << i] for i in range(width)]
        return {"offset": [*columns, *rows], "block": []}

    one_d = [[1], [2], [4], [8]]
    layouts: dict[str, tuple[Bases, list[int]]] = {
        "blocked 64x64": (
            {
                "register": [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]],
                "lane": [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]],
                "warp": [[4, 0], [8, 0]],
                "block": [],
            },
            [64, 64],
        ),
        "mma C 16x8": (
            {
                "register": [[0, 1], [8, 0]],
                "lane": lane,
                "warp": [],
                "block": [],
            },
            [16, 8],
        ),
        "mma A 16x16": (
            {
                "register": [[0, 1], [8, 0], [0, 8]],
                "lane": lane,
                "warp": [],
                "block": [],
            },
            [16, 16],
        ),
        "mma B 16x8": (
            {
                "register": [[1, 0], [8, 0]],
                "lane": [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]],
                "warp": [],
                "block": [],
            },
            [16, 8],
        ),
        "mma A 8-bit 16x32": (
            {
                "register": [[0, 1], [0, 2], [8, 0], [0, 16]],
                "lane": [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]],
                "warp": [],
                "block": [],
            },
            [16, 32],
        ),
        "mma A broadcast 64x64": (
            {
                "register": [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32], [32, 0]],
                "lane": lane,
                "warp": [[0, 0], [16, 0]],
                "block": [],
            },
            [64, 64],
        ),
        "wgmma 64x64": (wgmma(64), [64, 64]),
        "wgmma 64x256": (wgmma(256), [64, 256]),
        "wgmma row slice 64": (
            {
                "register": [[8]],
                "lane": [[0], [0], [1], [2], [4]],
                "warp": [[16], [32]],
                "block": [],
            },
            [64],
        ),
        "FA3 fp8 operand 64x64": (
            {
                "register": [[0, 1], [0, 2], [8, 0], [0, 16], [0, 32]],
                "lane": [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]],
                "warp": [[16, 0], [32, 0]],
                "block": [],
            },
            [64, 64],
        ),
        "nvmma 128B fp16 8x64": (
            shared([[1, 8], [2, 16], [4, 32]], 6),
            [8, 64],
        ),
        "nvmma 64B fp16 16x32": (
            shared([[1, 0], [2, 8], [4, 16], [8, 0]], 5),
            [16, 32],
        ),
        "swizzled 64x64": (
            shared([[1, 8], [2, 16], [4, 32], [8, 0], [16, 0], [32, 0]], 6),
            [64, 64],
        ),
        "i64 32x32 columns": (
            {
                "register": [[1 << i, 0] for i in range(5)],
                "lane": [[0, 1 << i] for i in range(5)],
                "warp": [],
                "block": [],
            },
            [32, 32],
        ),
        "fp8 128x128 rows": (
            {
                "register": [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0]],
                "lane": [[0, 16], [0, 32], [0, 64], [4, 0], [8, 0]],
                "warp": [[16, 0], [32, 0], [64, 0]],
                "block": [],
            },
            [128, 128],
        ),
        "mfma 32x32 C": (
            {
                "register": [[1, 0], [2, 0], [8, 0], [16, 0]],
                "lane": [*[[0, 1 << i] for i in range(5)], [4, 0]],
                "warp": [],
                "block": [],
            },
            [32, 32],
        ),
        "blocked 1-D 2048": (
            {
                "register": [*one_d[:3], [1024]],
                "lane": [[8 << i] for i in range(5)],
                "warp": [[256], [512]],
                "block": [],
            },
            [2048],
        ),
    }
    return {
        name: (bases, {f"dim{i}": size for i, size in enumerate(shape)})
        for name, (bases, shape) in layouts.items()
    }


def library(folder: Path) -> Any:
    """Return Triton's LinearLayout class from ``folder``, installing it if missing."""
    if not (folder / "triton").exists():
        print(f"installing triton 3.9.0 into {folder}", file=sys.stderr)
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps"]
        subprocess.run([*command, "--target", str(folder), "triton==3.9.0"], check=True)
    sys.path.insert(0, str(folder))
    from triton._C.libtriton import linear_layout

    return linear_layout.LinearLayout


def operations(theirs: Any) -> dict[str, tuple[Calls, Calls]]:
    """Return operation -> (our calls, their calls), pairwise the same work."""
    calls: dict[str, tuple[Calls, Calls]] = {}

    def add(name: str, ours: Callable[[], Any], other: Callable[[], Any]) -> None:
        mine, others = calls.setdefault(name, ([], []))
        mine.append(ours)
        others.append(other)

    made: dict[str, tuple[LinearLayout, Any]] = {}
    for name, (bases, outs) in real_layouts().items():
        pairs, names, sizes = list(bases.items()), list(outs), list(outs.values())

        def build(b: Any = bases, o: Any = outs) -> LinearLayout:
            return LinearLayout.from_bases(b, o)

        def build_theirs(p: Any = pairs, n: Any = names, s: Any = sizes) -> Any:
            return theirs.from_bases(p, n, s, True)

        add("construct", build, build_theirs)
        made[name] = build(), build_theirs()
    for a, b in made.values():
        point = {n: (size - 1) * 5 // 7 for n, size in a.in_dims.items()}
        assert a.apply(point) == dict(b.apply(point))
        add("apply", partial(a.apply, point), partial(b.apply, point))
        right, right_theirs = a.pseudoinvert(), b.pseudoinvert()
        add("compose", partial(right.compose, a), partial(right_theirs.compose, b))
        if a.is_invertible:
            add("invert", a.invert, b.invert)
    for one, (a, a_theirs) in made.items():
        for other, (b, b_theirs) in made.items():
            if one != other and a.out_dims == b.out_dims:
                add(
                    "invert_and_compose",
                    partial(a.invert_and_compose, b),
                    partial(a_theirs.invert_and_compose, b_theirs),
                )
    return calls


def seconds(call: Callable[[], Any], repeats: int) -> float:
    """Return the time of one call [s]."""
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats


def measure(rounds: int, theirs: Any) -> list[dict[str, Any]]:
    """Return one row an operation, each call timed in alternation."""
    rows = []
    for name, (mine, others) in operations(theirs).items():
        ratios, ours_us, theirs_us = [], [], []
        for call, other in zip(mine, others, strict=True):
            repeats = max(20, int(2e-3 / max(1e-7, seconds(other, 20))))
            times = [
                (seconds(call, repeats), seconds(other, repeats)) for _ in range(rounds)
            ]
            ours_us.append(statistics.median(t[0] for t in times) * 1e6)
            theirs_us.append(statistics.median(t[1] for t in times) * 1e6)
            ratios.append(statistics.median(t[0] / t[1] for t in times))
        rows.append(
            {
                "operation": name,
                "layouts": len(mine),
                "ours_us": statistics.geometric_mean(ours_us),
                "triton_us": statistics.geometric_mean(theirs_us),
                "ratio": statistics.geometric_mean(ratios),
            }
        )
    return rows


def machine() -> dict[str, str]:
    """Return where this ran."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.split(":")[1].strip() for line in lines if "model name" in line]
    return {
        "cpu": f"{len(names)} x {names[0] if names else platform.machine()}",
        "python": platform.python_version(),
        "date": time.strftime("%Y-%m-%d"),
    }


def main() -> None:
    """Measure, print a table, write the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--triton", type=Path, default=ROOT / ".oracle" / "3.9.0")
    parser.add_argument("--rounds", type=int, default=9)
    results = ROOT / "benchmarks" / "results" / "algebra.json"
    parser.add_argument("--out", type=Path, default=results)
    options = parser.parse_args()
    theirs = library(options.triton)
    rows = measure(options.rounds, theirs)
    mean = math.exp(statistics.fmean(math.log(row["ratio"]) for row in rows))
    print(f"{'operation':20} {'layouts':>7} {'ours us':>9} {'triton us':>9} ratio")
    for row in rows:
        print(
            f"{row['operation']:20} {row['layouts']:7} {row['ours_us']:9.2f} "
            f"{row['triton_us']:9.2f} {row['ratio']:.2f}"
        )
    print(f"geometric mean of the ratios: {mean:.3f} (1.0 = as fast as Triton)")
    found = {"triton": options.triton.name, **machine()}
    report = {"machine": found, "rows": rows, "geomean_ratio": mean}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
