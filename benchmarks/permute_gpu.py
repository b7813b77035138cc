"""Is compiler.permute right on a GPU, for any map and width, and how fast is it?

    PYTHONPATH=. python benchmarks/permute_gpu.py --out results.json

Correctness: random F2-affine maps of 1 to 26 bits and structured ones, each in all
five widths, into outputs that were poisoned first, compared bit for bit with places
that torch computes from the columns. Then maps of more than 31 bits, by samples and by
the way back. Speed: structured and random maps against a copy of the same tensor,
timed in turn. Whatever raises is a failure of its case; what the time limit left out
is counted as skipped.
"""

import argparse
import json
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import triton

# this folder has an algebra.py of its own
sys.path[0] = str(Path(__file__).resolve().parent.parent)
from algebra import AffineLayout, gauss
from compiler import permutations, permute
from compiler.permuting.index_map import IndexMap

DTYPES = {
    1: torch.int8,
    2: torch.float16,
    4: torch.float32,
    8: torch.int64,
    16: torch.complex128,
}
LARGEST_BITS = 26
SPEED_BITS = {1: 29, 2: 28, 4: 27, 8: 26, 16: 25}
POISON = 0xA5
CALLS = 8
HEAD_START = 4_000_000
"""Clock cycles, a few milliseconds."""


def main() -> int:
    """Run all parts; return 1 if anything failed or was skipped."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, help="where the JSON goes")
    parser.add_argument("--maps", type=int, default=200, help="random maps")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=220.0, help="time limit")
    parser.add_argument("--commit", help="recorded where git is not at hand")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--largest-bits", type=int, default=LARGEST_BITS)
    parser.add_argument("--workers", type=int, default=6, help="compile in parallel")
    parser.add_argument("--part", help="of a worker, as number/count")
    options = parser.parse_args()
    bench = Bench(options)
    if options.part:
        bench.check_part()
        return 0
    for part in (bench.check_maps, bench.check_large, bench.measure):
        try:
            part()
        except Exception as error:  # a part must not take the others down
            bench.fail(part.__name__, error)
        bench.save()
    report = bench.report
    print(
        f"cases {report['cases']}, failures {report['failures']}, "
        f"skipped {report['skipped']}, {report['seconds']:.0f} s"
    )
    return 1 if report["failures"] or report["skipped"] else 0


class Bench:
    """The state of one run: options, random data, and the report."""

    def __init__(self, options: argparse.Namespace) -> None:
        """Describe the machine and allocate nothing yet."""
        self.options = options
        self.device = torch.device(options.device)
        self.start = time.perf_counter()
        on_gpu = self.device.type == "cuda"
        self.report: dict[str, Any] = {
            "question": (__doc__ or "").splitlines()[0],
            "commit": options.commit or commit(),
            "gpu": torch.cuda.get_device_name() if on_gpu else "none",
            "versions": {
                "python": platform.python_version(),
                "torch": torch.__version__,
                "triton": triton.__version__,
                "cuda": torch.version.cuda,
            },
            "command": " ".join(sys.argv),
            "seed": options.seed,
            "largest_bits": options.largest_bits,
            "maps": 0,
            "cases": 0,
            "cases_by_width": dict.fromkeys(map(str, DTYPES), 0),
            "cases_by_kind": {},
            "failures": 0,
            "skipped": 0,
            "failed": [],
            "speed": [],
        }

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return time.perf_counter() - self.start

    def save(self) -> None:
        """Write what is known so far."""
        self.report["seconds"] = round(self.seconds, 1)
        if self.options.out:
            self.options.out.parent.mkdir(parents=True, exist_ok=True)
            self.options.out.write_text(json.dumps(self.report, indent=1) + "\n")

    def fail(self, case: str, error: object) -> None:
        """Count a failure and keep the first hundred."""
        self.report["failures"] += 1
        text = f"{type(error).__name__}: {error}"[:400]
        if self.report["failures"] <= 5 and isinstance(error, Exception):
            traceback.print_exception(error)
        print(f"  FAILED {case}: {text}", flush=True)
        if len(self.report["failed"]) < 100:
            self.report["failed"].append({"case": case, "error": text})

    def case(self, kind: str, width: int, name: str, body: Callable[[], None]) -> None:
        """Run one case; whatever it raises is its failure."""
        if self.seconds > self.options.seconds:
            self.report["skipped"] += 1
            return
        self.report["cases"] += 1
        self.report["cases_by_width"][str(width)] += 1
        kinds = self.report["cases_by_kind"]
        kinds[kind] = kinds.get(kind, 0) + 1
        try:
            body()
        except Exception as error:  # counted, and the run goes on
            self.fail(f"{kind} {name} width={width}", error)

    def random_bytes(self, count: int) -> torch.Tensor:
        """Return random bytes on the device, 256 more than asked for."""
        size, kind = (count + 256,), torch.uint8
        return torch.randint(0, 256, size, dtype=kind, device=self.device)

    def maps(self) -> list[tuple[str, IndexMap]]:
        """Return all maps to check."""
        largest = self.options.largest_bits
        maps = list(structured(largest))
        maps += random_maps(self.options.maps, self.options.seed, largest)
        return maps

    def check_maps(self) -> None:
        """Let workers compare every element of many maps in all widths."""
        count = self.options.workers
        limit = self.options.seconds * 0.75
        with tempfile.TemporaryDirectory() as folder:
            files = [Path(folder) / f"{number}.json" for number in range(count)]
            workers = [
                subprocess.Popen(
                    [
                        *(sys.executable, __file__, "--part", f"{number}/{count}"),
                        *("--out", str(file), "--seconds", str(limit)),
                        *("--maps", str(self.options.maps)),
                        *("--seed", str(self.options.seed)),
                        *("--device", self.options.device),
                        *("--largest-bits", str(self.options.largest_bits)),
                    ]
                )
                for number, file in enumerate(files)
            ]
            for number, worker in enumerate(workers):
                try:
                    code = worker.wait(timeout=max(limit + 15 - self.seconds, 1))
                except subprocess.TimeoutExpired:
                    worker.kill()
                    code = worker.wait()
                if code:
                    self.fail(f"worker {number}", RuntimeError(f"exit status {code}"))
            for file in files:
                if file.exists():
                    self.merge(json.loads(file.read_text()))
        missing = len(self.maps()) * len(DTYPES) - self.report["cases"]
        self.report["skipped"] = missing

    def merge(self, part: dict[str, Any]) -> None:
        """Add a worker's counts."""
        for name in ("maps", "cases", "failures"):
            self.report[name] += part[name]
        for name in ("cases_by_width", "cases_by_kind"):
            counts = self.report[name]
            for key, value in part[name].items():
                counts[key] = counts.get(key, 0) + value
        self.report["failed"] += part["failed"]

    def check_part(self) -> None:
        """Compare every element of a worker's share of the maps in all widths."""
        part, count = map(int, self.options.part.split("/"))
        torch.manual_seed(self.options.seed)
        data = self.random_bytes(3 * 16 << self.options.largest_bits)
        maps = self.maps()
        for number, (name, index_map) in list(enumerate(maps))[part::count]:
            self.report["maps"] += 1
            self.check_widths(data, number, name, index_map)
            self.save()
            if number // count % 9 == 8:
                print(
                    f"worker {part}: {self.report['cases']} cases, "
                    f"{self.report['failures']} failures, {self.seconds:.0f} s",
                    flush=True,
                )

    def check_widths(
        self, data: torch.Tensor, number: int, name: str, map: IndexMap
    ) -> None:
        """Compare every element of one map in all widths."""
        places = image_of_all(map, self.device)
        kind = "random" if name.startswith("random") else "structured"
        for width in DTYPES:
            batch = (1, 1, 2, 3)[(number + width) % 4] if map.bits < 24 else 1
            offset = (0, 0, width, 16)[(number // 2 + width) % 4]

            def body(
                width: int = width, batch: int = batch, offset: int = offset
            ) -> None:
                check(data, map, places, width, batch, offset)

            self.case(kind, width, f"{name} batch={batch} offset={offset}", body)

    def check_large(self) -> None:
        """Check addresses beyond 31 bits by samples and by the way back."""
        if self.device.type != "cuda" or self.options.largest_bits < LARGEST_BITS:
            return
        rng = random.Random(self.options.seed)
        reversal = IndexMap(permutations.bit_reversal(32).columns)
        cases = [
            ("reversal of 32 bits", reversal, 1, 1),
            ("random of 32 bits", random_map(rng, 32), 1, 1),
            ("random of 33 bits", random_map(rng, 33), 1, 1),
            ("random of 32 bits", random_map(rng, 32), 2, 1),
            ("random of 29 bits", random_map(rng, 29), 4, 5),
        ]
        for name, map, width, batch in cases:

            def body(
                map: IndexMap = map, width: int = width, batch: int = batch
            ) -> None:
                self.check_one_large(map, width, batch)

            self.case("large", width, f"{name} batch={batch}", body)
            torch.cuda.empty_cache()
            print(f"large: {name}, {self.seconds:.0f} s", flush=True)

    def check_one_large(self, map: IndexMap, width: int, batch: int) -> None:
        """Permute there and back, and look at a million elements in between."""
        size = 1 << map.bits
        source = self.random_bytes(batch * size * width)
        source = source[: batch * size * width].view(DTYPES[width])
        moved = permute(source, layout_of(map))
        index = torch.randint(0, size, (1 << 20,), device=self.device)
        places = image_of(map, index)
        integers = integers_of(width)
        there = moved.view(integers).view(batch, -1)[:, places]
        here = source.view(integers).view(batch, -1)[:, index]
        assert torch.equal(there, here), "samples are not where they belong"
        back = permute(moved, layout_of(map.invert()))
        assert torch.equal(back.view(integers), source.view(integers)), (
            "the inverse does not bring everything back"
        )

    def measure(self) -> None:
        """Time maps against copies, in turn."""
        if self.device.type != "cuda":
            return
        for width, bits in SPEED_BITS.items():
            bits = min(bits, self.options.largest_bits + 3)
            numel = 1 << bits
            source = self.random_bytes(numel * width)[: numel * width]
            source = source.view(DTYPES[width])
            target = torch.empty_like(source)
            for name, map in speed_maps(bits, self.options.seed):

                def body(
                    name: str = name,
                    map: IndexMap = map,
                    source: torch.Tensor = source,
                    target: torch.Tensor = target,
                    width: int = width,
                ) -> None:
                    layout = layout_of(map)
                    moved, copied = time_in_turn(
                        lambda: permute(source, layout, target),
                        lambda: target.copy_(source),
                    )
                    gigabytes = 2 * source.numel() * width / 1e9
                    row = {
                        "map": name,
                        "bits": map.bits,
                        "width": width,
                        "permute_ms": round(moved, 4),
                        "copy_ms": round(copied, 4),
                        "permute_gb_s": round(gigabytes / moved * 1e3, 1),
                        "copy_gb_s": round(gigabytes / copied * 1e3, 1),
                        "fraction_of_copy": round(copied / moved, 3),
                    }
                    self.report["speed"].append(row)
                    print(
                        f"width {width:2} {name:12} {row['permute_gb_s']:7} GB/s, copy "
                        f"{row['copy_gb_s']:7}, fraction {row['fraction_of_copy']}",
                        flush=True,
                    )

                self.case("speed", width, name, body)


def check(
    data: torch.Tensor,
    map: IndexMap,
    places: torch.Tensor,
    width: int,
    batch: int,
    offset: int,
) -> None:
    """Permute and compare every element with its place."""
    count = (batch << map.bits) * width
    source = data[offset : offset + count].view(DTYPES[width])
    poisoned = torch.full((count,), POISON, dtype=torch.uint8, device=data.device)
    target = poisoned.view(DTYPES[width])
    result = permute(source, layout_of(map), target)
    assert result is target, "out was not returned"
    shape = (batch, 1 << map.bits, -1)
    got = target.view(integers_of(width)).view(shape)
    expected = source.view(integers_of(width)).view(shape)
    wrong = int((got[:, places] != expected).any(-1).sum())
    assert wrong == 0, f"{wrong} of {batch << map.bits} elements are wrong"


def layout_of(map: IndexMap) -> AffineLayout:
    """Return the map as a layout."""
    return AffineLayout(permutations.from_columns(map.columns), {"index": map.offset})


def integers_of(width: int) -> torch.dtype:
    """Return an integer type to compare elements as; 16 bytes are two of it."""
    widths = {1: torch.int8, 2: torch.int16, 4: torch.int32}
    return widths.get(width, torch.int64)


def image_of(map: IndexMap, index: torch.Tensor) -> torch.Tensor:
    """Return the map at each index, bit by bit."""
    places = torch.full_like(index, map.offset)
    for bit, column in enumerate(map.columns):
        places ^= ((index >> bit) & 1) * column
    return places


def image_of_all(map: IndexMap, device: torch.device) -> torch.Tensor:
    """Return the map at every index."""
    return image_of(map, torch.arange(1 << map.bits, device=device))


def random_map(rng: random.Random, bits: int, kind: int | None = None) -> IndexMap:
    """Draw a map: a dense matrix, permuted bits, permuted and sheared, or split."""
    kind = rng.randrange(4) if kind is None else kind
    columns = [1 << i for i in range(bits)]
    if kind == 0:
        columns = dense(rng, bits)
    elif kind == 1:
        rng.shuffle(columns)
    elif kind == 2:
        rng.shuffle(columns)
        for _ in range(bits):
            i, j = rng.randrange(bits), rng.randrange(bits)
            if i != j:
                columns[i] ^= columns[j]
    else:
        low = rng.randrange(bits + 1)
        high = [column << low for column in dense(rng, bits - low)]
        columns = [*dense(rng, low), *high]
    offset = rng.getrandbits(bits) if bits and rng.random() < 0.5 else 0
    return IndexMap(tuple(columns), offset)


def dense(rng: random.Random, bits: int) -> list[int]:
    """Draw an invertible matrix."""
    while True:
        columns = [rng.getrandbits(bits) if bits else 0 for _ in range(bits)]
        if gauss.rank(columns) == bits:
            return columns


def random_maps(count: int, seed: int, largest: int) -> Iterator[tuple[str, IndexMap]]:
    """Yield maps of 1 to ``largest`` bits, more of the large ones."""
    rng = random.Random(seed)
    for number in range(count):
        if number % 3 == 0:
            bits = rng.randint(1, min(14, largest))
        else:
            bits = rng.randint(min(14, largest), largest)
        kind = number % 4
        yield f"random {number} kind={kind} bits={bits}", random_map(rng, bits, kind)


def structured(largest: int) -> Iterator[tuple[str, IndexMap]]:
    """Yield the named maps, and the smallest and degenerate ones."""
    bits, side = largest & ~1, largest // 2
    yield "no bits", IndexMap(())
    yield "one bit, flipped", IndexMap((1,), 1)
    for name, layout in (
        ("identity", permutations.permute_axes((1 << bits,), (0,))),
        ("bit reversal", permutations.bit_reversal(bits)),
        ("transpose", permutations.transpose(1 << side, 1 << (bits - side))),
        ("wide transpose", permutations.transpose(4, 1 << (bits - 2))),
        ("tall transpose", permutations.transpose(1 << (bits - 3), 8)),
        ("morton", permutations.morton(1 << side, 1 << (bits - side))),
        ("gray", permutations.gray(bits)),
        ("reversal", permutations.reversal(bits)),
        ("rotate90", permutations.rotate90(1 << side)),
        ("nchw to nhwc", permutations.nchw_to_nhwc(64, 64, 64)),
        ("nc/32hw32", permutations.nc32hw32(128, 32, 32)),
        ("pixel shuffle", permutations.pixel_shuffle(16, 64, 64, 4)),
        ("block scales", permutations.block_scales(4096, 256)),
        ("marlin", permutations.marlin_weight(4096, 4096)),
        ("marlin tile", permutations.marlin_tile()),
        ("awq", permutations.awq_order()),
    ):
        map = IndexMap.from_layout(layout)
        if map.bits <= largest:
            yield name, map


def speed_maps(bits: int, seed: int) -> Iterator[tuple[str, IndexMap]]:
    """Yield the maps that are timed."""
    rng = random.Random(seed)
    side = bits // 2
    named = {
        "reversal": permutations.bit_reversal(bits),
        "transpose": permutations.transpose(1 << side, 1 << (bits - side)),
        "morton": permutations.morton(1 << side, 1 << (bits - side)),
        "nhwc": permutations.permute_axes((1 << (bits - 18), 64, 1 << 12), (0, 2, 1)),
        "gray": permutations.gray(bits),
    }
    for name, layout in named.items():
        yield name, IndexMap.from_layout(layout)
    for number in range(2):
        yield f"random {number}", random_map(rng, bits, 0)


def time_in_turn(
    one: Callable[[], object], other: Callable[[], object], rounds: int = 9
) -> tuple[float, float]:
    """Return the median times of two actions, alternating [ms]."""
    for action in (one, other) * 2:
        action()
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for action, kept in zip((one, other), times, strict=True):
            begin = torch.cuda.Event(enable_timing=True)
            end = torch.cuda.Event(enable_timing=True)
            torch.cuda._sleep(HEAD_START)  # so that the host runs ahead of the device
            begin.record()
            for _ in range(CALLS):
                action()
            end.record()
            end.synchronize()
            kept.append(begin.elapsed_time(end) / CALLS)
    return statistics.median(times[0]), statistics.median(times[1])


def commit() -> str:
    """Return the commit of the checkout, with ``-dirty`` if it was changed."""
    root = Path(__file__).resolve().parent.parent
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=40"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
