"""Which lines, tiles, warps and orders suit permutations on this GPU?

    PYTHONPATH=. python benchmarks/permute_tuning.py --out results.json

Times launches of the permutation kernel that differ in one choice from the default of
``compiler.permuting.vector_launch``, as fractions of a copy, and block sizes of the
kernels for matrices of few rows or columns. Outputs are compared with the default
launch's. Kernels are compiled by several processes first.
"""

import argparse
import json
import multiprocessing
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
import triton

# this folder has an algebra.py of its own
sys.path[0] = str(Path(__file__).resolve().parent.parent)
from benchmarks.permute_speed_gpu import DTYPES, in_turn, maps, random_bytes
from compiler.codegen.gluon.permute import kernel_constants, permute_kernel
from compiler.codegen.triton.transpose import deinterleave_kernel, interleave_kernel
from compiler.permuting.granularity import coarsen_to
from compiler.permuting.index_map import IndexMap
from compiler.permuting.vector_launch import (
    VectorLaunch,
    plan_vector_launch,
    without_overlap,
)
from compiler.permuting.vector_search import ORDERS, Order, plan_vectors
from compiler.triton_api import reinterpret

MAPS = ("reversal", "nhwc", "morton", "nc/32hw32", "random 0", "random 1")


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to launch: the default, or one choice changed."""

    change: str
    line_bytes: int = 256
    tile_bytes: int = 1 << 14
    warps: int = 16
    order: Order = "target"
    backward: bool = False


VARIANTS = [
    *(Variant(f"order {order}", order=order) for order in ORDERS),
    *(Variant(f"{warps} warps", warps=warps) for warps in (4, 8)),
    *(Variant(f"lines of {size}", line_bytes=size) for size in (128, 512)),
    Variant("tiles of 32 KiB", tile_bytes=1 << 15),
    Variant("backward", backward=True),
]


def launch_of(map: IndexMap, width: int, variant: Variant) -> VectorLaunch | None:
    """Return the launch of a variant, if there is one."""
    map, width = coarsen_to(map, width, 4)
    choice = plan_vectors(
        map.invert() if variant.backward else map,
        width,
        line_bits=(variant.line_bytes // width).bit_length() - 1,
        tile_bits=(variant.tile_bytes // width).bit_length() - 1,
        order=variant.order,
    )
    default = plan_vector_launch(map, width)
    if choice is None or default is None:
        return None
    plan = choice.plan
    if width << plan.tile_bits > 1 << 17:
        return None
    lanes = min(len(plan.threads), plan.tile_bits - plan.vector_bits) - 5
    warps = min(1 << lanes, variant.warps)
    clear = without_overlap(plan, warps)
    if clear is None:
        return None
    return replace(default, plan=clear, backward=variant.backward, num_warps=warps)


def cases(bits: int, seed: int) -> Iterator[tuple[int, str, Variant, VectorLaunch]]:
    """Yield what is timed."""
    for width in DTYPES:
        for name, map in maps(bits, seed):
            for variant in VARIANTS if name in MAPS else ():
                launch = launch_of(map, width, variant)
                if launch is not None:
                    yield width, name, variant, launch


def compile_share(share: tuple[int, int, int, int]) -> None:
    """Compile every count-th kernel into Triton's cache."""
    number, count, bits, seed = share
    for _, _, _, launch in list(cases(bits, seed))[number::count]:
        permute_kernel.warmup(
            *(torch.int32, torch.int32),
            **kernel_constants(launch),
            num_warps=launch.num_warps,
            grid=(1,),
        )


def main() -> int:
    """Time everything; return 1 if an output was wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, help="where the JSON goes")
    parser.add_argument("--bits", type=int, default=28)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--workers", type=int, default=12)
    parser.add_argument("--commit", default="unknown", help="the commit measured")
    options = parser.parse_args()
    count = options.workers
    shares = [(i, count, options.bits, options.seed) for i in range(count)]
    with multiprocessing.get_context("spawn").Pool(count) as pool:
        pool.map(compile_share, shares, chunksize=1)
    report: dict[str, Any] = {
        "question": (__doc__ or "").splitlines()[0],
        "commit": options.commit,
        "gpu": torch.cuda.get_device_name(),
        "versions": {"torch": torch.__version__, "triton": triton.__version__},
        "bits": options.bits,
        "cases": 0,
        "failures": 0,
        "skipped": 0,
        "launches": [],
        "images": [],
    }
    time_launches(report, options.bits, options.seed)
    time_images(report)
    for width in DTYPES:
        for variant in VARIANTS:
            fractions = [
                row["fraction_of_copy"]
                for row in report["launches"]
                if row["width"] == width and row["change"] == variant.change
            ]
            if fractions:
                mean = statistics.geometric_mean(fractions)
                print(f"width {width} {variant.change:16} {mean:.3f}")
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(report, indent=1) + "\n")
    return 1 if report["failures"] else 0


def time_launches(report: dict[str, Any], bits: int, seed: int) -> None:
    """Time every variant of every map against a copy."""
    expected: dict[tuple[int, str], torch.Tensor] = {}
    source = target = torch.empty(0)
    for width, name, variant, launch in cases(bits, seed):
        if (width, name) not in expected:
            source = random_bytes(width << bits).view(torch.int32)
            target = torch.empty_like(source)
        constants = kernel_constants(launch)
        order = [n for n in permute_kernel.arg_names if n in constants]
        arguments = (source, target, *(constants[n] for n in order))
        grid = 1 << launch.program_bits
        target.fill_(-1)
        compiled = permute_kernel[(grid,)](*arguments, num_warps=launch.num_warps)
        if (width, name) not in expected:
            expected = {(width, name): target.clone()}
        report["cases"] += 1
        if not torch.equal(target, expected[width, name]):
            report["failures"] += 1
            print("WRONG", width, name, variant)

        def run(
            compiled: Any = compiled, grid: int = grid, arguments: Any = arguments
        ) -> None:
            compiled[(grid, 1, 1)](*arguments)

        def copy(source: Any = source, target: Any = target) -> None:
            target.view(torch.int8).copy_(source.view(torch.int8))

        moved, copied = in_turn(run, copy, rounds=5)
        report["launches"].append(
            {
                "width": width,
                "map": name,
                "change": variant.change,
                "num_warps": launch.num_warps,
                "tile_bits": launch.plan.tile_bits,
                "access_bits": launch.plan.access_bits,
                "ms": round(moved, 4),
                "fraction_of_copy": round(copied / moved, 4),
            }
        )


def time_images(report: dict[str, Any]) -> None:
    """Time block sizes for images of 224 x 224 x 3, both ways."""
    for width, dtype in DTYPES.items():
        planar = random_bytes(1024 * 150528 * width).view(dtype)
        pixels, copied = torch.empty_like(planar), torch.empty_like(planar)
        for block in (1024, 2048, 4096):
            for warps in (4, 8):
                first, second = triton.cdiv(150528, block), triton.cdiv(50176, block)
                one, other, last = (
                    reinterpret(tensor, width) for tensor in (planar, pixels, copied)
                )

                def there(one: Any = one, other: Any = other, block: int = block,
                          warps: int = warps, tiles: int = first) -> None:  # fmt: skip
                    interleave_kernel[(1024 * tiles,)](
                        one, other, 50176, tiles, ROWS=3, BLOCK=block, num_warps=warps
                    )

                def back(other: Any = other, last: Any = last, block: int = block,
                         warps: int = warps, tiles: int = second) -> None:  # fmt: skip
                    deinterleave_kernel[(1024 * tiles,)](
                        other, last, 50176, tiles, COLUMNS=3, BLOCK=block,
                        num_warps=warps,
                    )  # fmt: skip

                def copy(planar: Any = planar, copied: Any = copied) -> None:
                    copied.copy_(planar)

                there()
                back()
                report["cases"] += 1
                report["failures"] += not torch.equal(
                    copied.view(torch.uint8), planar.view(torch.uint8)
                )
                interleave, deinterleave, straight = in_turn(
                    there, back, copy, rounds=5
                )
                report["images"].append(
                    {
                        "width": width,
                        "block": block,
                        "warps": warps,
                        "interleave_of_copy": round(straight / interleave, 4),
                        "deinterleave_of_copy": round(straight / deinterleave, 4),
                    }
                )


if __name__ == "__main__":
    sys.exit(main())
