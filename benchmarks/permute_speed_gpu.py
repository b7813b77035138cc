"""How close does compiler.permute come to a copy, and to what lines of memory allow?

    PYTHONPATH=. python benchmarks/permute_speed_gpu.py --out results.json

Per width and map of 2**28 elements: the permutation, a copy of the same tensor, and a
kernel that copies the map's own lines of 256 bytes from their places to their places
without permuting within them, timed in turn. Every output is poisoned and compared
with places that torch computes from the columns, before it is timed. Then one kernel
that adds a bias, casts and permutes, against the time of its bytes; images of odd
extents; and the time that planning and a call take on the host.
"""

import argparse
import json
import math
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

# this folder has an algebra.py of its own
sys.path[0] = str(Path(__file__).resolve().parent.parent)
from algebra import gauss
from compiler import permutations, permute
from compiler.codegen.gluon.permute import line_places, span
from compiler.permuting.granularity import coarsen_to
from compiler.permuting.index_map import IndexMap
from compiler.permuting.pointwise import Pointwise
from compiler.permuting.spans import Span
from compiler.permuting.vector_launch import plan_vector_launch
from compiler.permuting.vector_search import plan_vectors

BITS = 28
DTYPES = {1: torch.int8, 2: torch.float16, 4: torch.float32}
POISON = 0xA5
CALLS = 8
HEAD_START = 4_000_000
"""Clock cycles, a few milliseconds."""
ROUNDS = 11
PERMUTATION_BAR = {1: 0.90, 2: 0.95, 4: 0.95}
RANDOM_BAR = {1: 0.86, 2: 0.91, 4: 0.93}
LIMIT_BAR = 0.99
FUSED_BAR = 1.08
Action = Callable[[], object]


@gluon.jit  # type: ignore[misc,untyped-decorator,unused-ignore]  # triton has no types
def copy_lines(source, target, SOURCE: gl.constexpr, TARGET: gl.constexpr, FROM: gl.constexpr, ONTO: gl.constexpr, OFFSET: gl.constexpr, LINE: gl.constexpr, LAYOUT: gl.constexpr):  # type: ignore[no-untyped-def]  # fmt: skip  # noqa: E501, N803
    """Copy whole lines: the r-th of the tile's source lines to the r-th target line."""
    program = gl.program_id(0)
    lines = line_places(span(program, SOURCE), FROM, LINE, 4, LAYOUT, False)
    words = gl.load(source + lines)
    base = (span(program, TARGET) ^ OFFSET) & -LINE
    gl.store(target + line_places(base, ONTO, LINE, 4, LAYOUT, False), words)


def main() -> int:
    """Measure everything; return 1 if an output was wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, help="where the JSON goes")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--bits", type=int, default=BITS)
    parser.add_argument("--commit", default="unknown", help="the commit measured")
    options = parser.parse_args()
    begin = time.perf_counter()
    bench = Bench(options)
    for part in (bench.measure_maps, bench.measure_fused, bench.measure_images):
        try:
            part()
        except Exception as error:  # a part must not take the others down
            bench.fail(part.__name__, error)
    bench.summarise()
    bench.report["seconds"] = round(time.perf_counter() - begin, 1)
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(bench.report, indent=1) + "\n")
    return 1 if bench.report["failures"] else 0


class Bench:
    """Options, data and the report of one run."""

    def __init__(self, options: argparse.Namespace) -> None:
        """Describe the machine."""
        self.options = options
        self.report: dict[str, Any] = {
            "question": (__doc__ or "").splitlines()[0],
            "commit": options.commit,
            "gpu": torch.cuda.get_device_name(),
            "versions": {"torch": torch.__version__, "triton": triton.__version__},
            "seed": options.seed,
            "bits": options.bits,
            "cases": 0,
            "failures": 0,
            "skipped": 0,
            "failed": [],
            "maps": [],
            "fused": [],
            "images": [],
        }

    def fail(self, case: str, error: object) -> None:
        """Count and keep a failure."""
        self.report["failures"] += 1
        self.report["failed"].append({"case": case, "error": str(error)[:300]})
        print("FAILED", case, str(error)[:300], flush=True)

    def measure_maps(self) -> None:
        """Time all maps in all widths."""
        for width, dtype in DTYPES.items():
            source = random_bytes(width << self.options.bits).view(dtype)
            target = torch.empty_like(source)
            for name, map in maps(self.options.bits, self.options.seed):
                self.report["cases"] += 1
                try:
                    self.measure_map(source, target, name, map)
                except Exception as error:  # counted, and the run goes on
                    self.fail(f"{name} width={width}", error)

    def measure_map(
        self, source: torch.Tensor, target: torch.Tensor, name: str, map: IndexMap
    ) -> None:
        """Check one map, then time it in turn with a copy and its lines."""
        width = source.element_size()
        layout = permutations.from_columns(map.columns)
        plan_vectors.cache_clear()
        plan_vector_launch.cache_clear()
        begin = time.perf_counter()
        launch = plan_vector_launch(*coarsen_to(map, width, 4))
        planning = time.perf_counter() - begin
        integers = {1: torch.int8, 2: torch.int16, 4: torch.int32}[width]
        target.view(torch.uint8).fill_(POISON)
        permute(source, layout, target)
        index = torch.arange(1 << map.bits, dtype=torch.int32, device="cuda")
        places = torch.zeros_like(index)
        for bit, column in enumerate(map.columns):
            places ^= ((index >> bit) & 1) * column
        del index
        wrong = int(
            (target.view(integers)[places] != source.view(integers)).sum().item()
        )
        del places
        assert wrong == 0, f"{wrong} elements are wrong"
        lines = best_line_copy(source, target, map)
        moved, copied, limit = in_turn(
            lambda: permute(source, layout, target),
            lambda: target.copy_(source),
            lines,
        )
        row = {
            "map": name,
            "width": width,
            "permute_ms": round(moved, 4),
            "copy_ms": round(copied, 4),
            "lines_ms": round(limit, 4),
            "fraction_of_copy": round(copied / moved, 4),
            "fraction_of_lines": round(limit / moved, 4),
            "planning_ms": round(planning * 1e3, 2),
            "backward": launch is not None and launch.backward,
        }
        self.report["maps"].append(row)
        print(
            f"width {width} {name:12} of copy {row['fraction_of_copy']:.3f}, of lines "
            f"{row['fraction_of_lines']:.3f}, copied "
            f"in {copied:.3f} ms,"
            f" planned in {row['planning_ms']} ms",
            flush=True,
        )

    def measure_fused(self) -> None:
        """Time cast, bias and NHWC in one kernel against the time of their bytes."""
        bits = self.options.bits
        shape = (1 << (bits - 18), 64, 1 << 12)
        layout = permutations.permute_axes(shape, (0, 2, 1))
        source = torch.randn(1 << bits, device="cuda")
        scratch = torch.empty_like(source)
        bias = torch.randn(64, device="cuda")
        for dtype in (torch.float16, torch.bfloat16, torch.int8, torch.float32):
            self.report["cases"] += 1
            work = Pointwise(dtype, scale=2.0, bias=bias, first_bit=12)
            out = torch.full_like(source, 77, dtype=dtype)
            result = permute(source, layout, out, pointwise=work).view(shape[0], -1)
            there = result.view(shape[0], shape[2], 64).transpose(1, 2)
            wrong = 0
            for number in range(0, shape[0], max(shape[0] // 16, 1)):
                part = source.view(shape)[number] * 2.0 + bias[:, None]
                if dtype == torch.int8:
                    part = part.round().clamp(-128, 127)
                wrong += int((there[number] != part.to(dtype)).sum())
            if wrong:
                self.fail(f"fused {dtype}", f"{wrong} elements are wrong")
            fused, copied = in_turn(
                lambda out=out, work=work: permute(  # type: ignore[misc]
                    source, layout, out, pointwise=work
                ),
                lambda: scratch.copy_(source),
            )
            of_bytes = fused / (copied * (4 + out.element_size()) / 8)
            self.report["fused"].append(
                {
                    "dtype": str(dtype),
                    "fused_ms": round(fused, 4),
                    "copy_ms": round(copied, 4),
                    "times_bytes": round(of_bytes, 4),
                }
            )
            print(f"fused {dtype}: {of_bytes:.3f} x the bytes' time", flush=True)

    def measure_images(self) -> None:
        """Time images of 224 x 224 x 3, both ways, against copies."""
        for dtype in DTYPES.values():
            width = dtype.itemsize
            images = random_bytes(1024 * 150528 * width).view(dtype)
            images = images.view(1024, 3, 224, 224)
            self.report["cases"] += 1
            scratch = torch.empty_like(images)
            result = permutations.channels_last(images)
            expected = images.permute(0, 2, 3, 1)
            integers = {1: torch.int8, 2: torch.int16, 4: torch.int32}[width]
            if not torch.equal(result.view(integers), expected.view(integers)):
                self.fail(f"images {dtype}", "elements are wrong")
            moved, copied, eager = in_turn(
                lambda images=images: permutations.channels_last(images),  # type: ignore[misc]
                lambda images=images, scratch=scratch: scratch.copy_(images),  # type: ignore[misc]
                lambda expected=expected: expected.contiguous(),  # type: ignore[misc]
            )
            self.report["images"].append(
                {
                    "width": width,
                    "channels_last_ms": round(moved, 4),
                    "copy_ms": round(copied, 4),
                    "eager_ms": round(eager, 4),
                    "fraction_of_copy": round(copied / moved, 4),
                }
            )
            print(
                f"images width {width}: {copied / moved:.3f} of copy, eager "
                f"{copied / eager:.3f}",
                flush=True,
            )

    def summarise(self) -> None:
        """Compare with what is wanted, and print."""
        small = torch.zeros(1 << 16, device="cuda")
        layout, out = permutations.bit_reversal(16), torch.empty_like(small)
        permute(small, layout, out)
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(200):
            permute(small, layout, out)
        self.report["call_us"] = round((time.perf_counter() - begin) / 200 * 1e6, 1)
        bars = self.report["bars"] = {}
        for width in DTYPES:
            rows = [row for row in self.report["maps"] if row["width"] == width]
            shuffles = [row for row in rows if "random" not in row["map"]]
            dense = [row for row in rows if "random" in row["map"]]
            if not shuffles or not dense:
                continue
            mean = math.exp(
                statistics.fmean(math.log(row["fraction_of_copy"]) for row in shuffles)
            )
            bars[str(width)] = {
                "bit_permutations_geomean": round(mean, 4),
                "wanted": PERMUTATION_BAR[width],
                "or_of_lines_each": min(row["fraction_of_lines"] for row in shuffles),
                "or_wanted": LIMIT_BAR,
                "random_smallest": min(row["fraction_of_copy"] for row in dense),
                "random_wanted": RANDOM_BAR[width],
            }
        for width, bar in bars.items():
            print(f"width {width}: {bar}")
        print(f"a call takes {self.report['call_us']} us on the host")


def maps(bits: int, seed: int) -> list[tuple[str, IndexMap]]:
    """Return bit permutations and dense random matrices."""
    side, rng = bits // 2, random.Random(seed)
    named = {
        "reversal": permutations.bit_reversal(bits),
        "transpose": permutations.transpose(1 << side, 1 << (bits - side)),
        "nhwc": permutations.permute_axes((1 << (bits - 18), 64, 1 << 12), (0, 2, 1)),
        "morton": permutations.morton(1 << side, 1 << (bits - side)),
        "nc/32hw32": permutations.nc32hw32(1 << (bits - 14), 1 << 7, 1 << 7),
        "block scales": permutations.block_scales(1 << (bits - 13), 1 << 13),
    }
    result = [(name, IndexMap.from_layout(layout)) for name, layout in named.items()]
    for number in range(4):
        while True:
            columns = tuple(rng.getrandbits(bits) for _ in range(bits))
            if gauss.rank(columns) == bits:
                break
        result.append((f"random {number}", IndexMap(columns)))
    return result


def best_line_copy(source: torch.Tensor, target: torch.Tensor, map: IndexMap) -> Action:
    """Return the fastest of some kernels that copy the map's lines."""
    width = source.element_size()
    choice = plan_vectors(
        map,
        width,
        line_bits=(256 // width).bit_length() - 1,
        tile_bits=((1 << 14) // width).bit_length() - 1,
    )
    assert choice is not None
    plan = choice.plan
    low = (1 << plan.line_bits) - 1
    images = [1 << i for i in range(plan.line_bits)]
    onto = Span(map.apply_linear(v) & ~low for v in (*images, *plan.rows)).vectors

    def words(vectors: Any) -> tuple[int, ...]:
        return tuple(vector >> plan.word_bits for vector in vectors)

    line = 1 << plan.line_bits - plan.word_bits
    pointers = source.view(torch.int32), target.view(torch.int32)
    actions = []
    for warps in (4, 8, 16):
        constants = {
            "SOURCE": words(plan.programs),
            "TARGET": words(plan.images(plan.programs)),
            "FROM": words(plan.rows),
            "ONTO": words(onto),
            "OFFSET": map.offset >> plan.word_bits,
            "LINE": line,
            "LAYOUT": gl.BlockedLayout([1, 4], [2, 16], [warps, 1], [1, 0]),
        }
        arguments = (*pointers, *constants.values())
        grid = 1 << len(plan.programs)
        compiled = copy_lines[(grid,)](*arguments, num_warps=warps)

        def action(
            compiled: Any = compiled, grid: int = grid, arguments: Any = arguments
        ) -> None:
            compiled[(grid, 1, 1)](*arguments)

        actions.append(action)
    times = in_turn(*actions, rounds=3)
    return actions[times.index(min(times))]


def in_turn(*actions: Action, rounds: int = ROUNDS) -> list[float]:
    """Return the median times of some actions, one after another [ms]."""
    for action in actions * 2:
        action()
    times: list[list[float]] = [[] for _ in actions]
    for _ in range(rounds):
        for action, kept in zip(actions, times, strict=True):
            begin = torch.cuda.Event(enable_timing=True)
            end = torch.cuda.Event(enable_timing=True)
            torch.cuda._sleep(HEAD_START)  # so that the host runs ahead of the device
            begin.record()
            for _ in range(CALLS):
                action()
            end.record()
            end.synchronize()
            kept.append(begin.elapsed_time(end) / CALLS)
    return [statistics.median(kept) for kept in times]


def random_bytes(count: int) -> torch.Tensor:
    """Return random bytes on the GPU."""
    return torch.randint(0, 256, (count,), dtype=torch.uint8, device="cuda")


if __name__ == "__main__":
    sys.exit(main())
