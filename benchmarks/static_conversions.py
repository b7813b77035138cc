"""Instructions of layout conversions, ours against Triton's, without a GPU.

Both sides of each row are compiled for sm_90 by one Triton wheel: a kernel that loads,
converts and stores. Shuffles, byte permutes, selections, accesses to shared memory with
their wavefronts, and barriers are counted in the PTX, less those of the same kernel
without a conversion, and weighted with the device table's costs. A selection of 64 bits
counts as two, and a word that is put together from halves of two words as a byte
permute. Conflicts are certified to be none where the layouts are ours, and taken as
none for Triton. Arithmetic that does not depend on loaded data, addresses and selectors
of the thread, is listed but has no weight: loops do not repeat it. The classes in the
machine code are listed as well.

    .venv/bin/python benchmarks/static_conversions.py [--wheel ../.oracle/3.9.0]

writes benchmarks/results/static_conversions.json.
"""

import argparse
import base64
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from algebra import LinearLayout, Proved
from algebra.encodings import Blocked, DotOperand, NvidiaMma
from compiler.codegen.gluon.probe import tensor_probe
from compiler.convert import plan
from compiler.convert.hardware import distributed, hardware_of
from compiler.cost import cost, device
from verify.oracle import gluon_child
from verify.oracle.wheel import Wheel
from verify.ptx.conversion import prove_conversion

TARGET = "sm_90"
WORD = r"%?\w+"
CLASSES = {
    "shfl": r"\bshfl\.sync",
    "prmt": r"\bprmt\.b32",
    "selp": r"\bselp\.",
    "st.shared": r"\bst\.shared",
    "ld.shared": r"\bld\.shared",
    "stmatrix": r"\bstmatrix",
    "ldmatrix": r"\bldmatrix",
    "bar.sync": r"\bbar\.sync|\bbarrier\.sync",
    "bar.warp": r"\bbar\.warp\.sync",
    "alu": r"\b(?:and|or|xor|shl|shr|add|sub|lop3|bfe|bfi|setp|shf|mad|mul|not)\.",
}
"""What counts as which class; moves and conversions between widths are free."""


def blocked(*parameters: list[int]) -> Blocked:
    """Return a blocked encoding from its four lists."""
    sizes, threads, warps, order = map(tuple, parameters)
    return Blocked(
        size_per_thread=sizes,
        threads_per_warp=threads,
        warps_per_cta=warps,
        order=order,
    )


def hopper(warps: int, columns: int) -> NvidiaMma:
    """Return a wgmma accumulator."""
    return NvidiaMma(
        version=(3, 0), warps_per_cta=(warps, 1), instr_shape=(16, columns, 16)
    )


def matrix(register: list[list[int]], lane: list[list[int]]) -> LinearLayout:
    """Return a layout of one warp."""
    bases = {"register": register, "lane": lane, "warp": [], "block": []}
    return LinearLayout.from_bases(bases, ["dim0", "dim1"])


def powers(*bits: int, dim: int = 0) -> list[list[int]]:
    """Return unit vectors along one of two dims."""
    return [[1 << b, 0] if dim == 0 else [0, 1 << b] for b in bits]


def rows() -> list[tuple[str, LinearLayout, LinearLayout, int]]:
    """Return name, source, destination and element bits of each row."""
    p = hopper(4, 64)
    ampere = NvidiaMma(version=(2, 0), warps_per_cta=(1, 1), instr_shape=(16, 8))

    def operand(parent: NvidiaMma, k_width: int) -> DotOperand:
        return DotOperand(op_idx=0, parent=parent, k_width=k_width)

    def pair(src: Any, dst: Any, *shape: int) -> tuple[LinearLayout, LinearLayout]:
        return src.to_linear_layout(shape), dst.to_linear_layout(shape)

    lanes = powers(0, 1, 2, 3, 4)
    return [
        ("FA P -> A operand, fp16 64x64", *pair(p, operand(p, 2), 64, 64), 16),
        ("FA3 P -> A operand, 8-bit 64x64", *pair(p, operand(p, 4), 64, 64), 8),
        (
            "mma.m16n8 C -> A, fp16",
            *pair(ampere, operand(ampere, 2), 16, 16),
            16,
        ),
        (
            "i64 32x32, 1 warp",
            matrix(powers(0, 1, 2, 3, 4), powers(0, 1, 2, 3, 4, dim=1)),
            matrix(
                [[0, 1], *powers(0, 1, 2, 3)],
                [*powers(1, 2, 3, 4, dim=1), [16, 0]],
            ),
            64,
        ),
        (
            "wgmma 64x64 f16 -> coalesced [1,8]",
            *pair(p, blocked([1, 8], [4, 8], [4, 1], [1, 0]), 64, 64),
            16,
        ),
        (
            "wgmma 64x64 f32 -> coalesced [1,4]",
            *pair(p, blocked([1, 4], [2, 16], [4, 1], [1, 0]), 64, 64),
            32,
        ),
        (
            "wgmma 128x256 f16, 8 warps -> column-blocked",
            *pair(hopper(8, 256), blocked([8, 1], [16, 2], [1, 8], [0, 1]), 128, 256),
            16,
        ),
        (
            "64x64 i8 row -> col",
            *pair(
                blocked([1, 16], [8, 4], [4, 1], [1, 0]),
                blocked([16, 1], [4, 8], [1, 4], [0, 1]),
                64,
                64,
            ),
            8,
        ),
        (
            "128x128 f16 row -> col",
            *pair(
                blocked([1, 8], [2, 16], [8, 1], [1, 0]),
                blocked([8, 1], [16, 2], [1, 8], [0, 1]),
                128,
                128,
            ),
            16,
        ),
        (
            "128x128 f32 row -> col",
            *pair(
                blocked([1, 4], [1, 32], [8, 1], [1, 0]),
                blocked([4, 1], [32, 1], [1, 8], [0, 1]),
                128,
                128,
            ),
            32,
        ),
        (
            "32x32 f32 row -> col, 1 warp",
            *pair(
                blocked([1, 4], [4, 8], [1, 1], [1, 0]),
                blocked([4, 1], [8, 4], [1, 1], [0, 1]),
                32,
                32,
            ),
            32,
        ),
        (
            "16x16 f16 row -> col, 1 warp",
            *pair(
                blocked([1, 8], [16, 2], [1, 1], [1, 0]),
                blocked([8, 1], [2, 16], [1, 1], [0, 1]),
                16,
                16,
            ),
            16,
        ),
        (
            "f32 32x4 one warp, m=1",
            matrix(powers(0, 1, dim=1), lanes),
            matrix([[1, 0], [0, 2]], [[0, 1], *lanes[1:]]),
            32,
        ),
        (
            "f32 32x4 one warp, m=2",
            matrix(powers(0, 1, dim=1), lanes),
            matrix([[1, 0], [2, 0]], [[0, 1], [0, 2], *lanes[2:]]),
            32,
        ),
        (
            "f32 lane-only permutation, 4 regs",
            matrix(powers(0, 1, dim=1), lanes),
            matrix(powers(0, 1, dim=1), [*lanes[1:], lanes[0]]),
            32,
        ),
        (
            "i8 32x4 one warp, m=2",
            matrix(powers(0, 1, dim=1), lanes),
            matrix([[1, 0], [2, 0]], [[0, 1], [0, 2], *lanes[2:]]),
            8,
        ),
    ]


def counted(ptx: str) -> Counter[str]:
    """Count the instructions of each class, and wavefronts without conflicts.

    What does not depend on loaded data is thread arithmetic, whatever its class.
    """
    counts: Counter[str] = Counter()
    counts["prmt"] += mixed_packs(ptx)
    data: set[str] = set()
    for line in ptx.splitlines():
        made, used = operands(line)
        moves = bool(used & data) or "ld.global" in line or "ld.shared" in line
        moves = moves or "ldmatrix" in line
        if moves:
            data |= made
        for kind, pattern in CLASSES.items():
            if re.search(pattern, line):
                if kind == "alu" and re.search(r"\w\.[bu]64\b", line):
                    break  # halves of a pair of registers, which are there already
                if kind in ARITHMETIC and not moves:
                    counts["thread"] += 1
                    break
                counts[kind] += 1 + (kind == "selp" and ".b64" in line)
                counts["wavefronts"] += wavefronts(line)
                break
    return counts


ARITHMETIC = ("prmt", "selp", "alu")


def operands(line: str) -> tuple[set[str], set[str]]:
    """Return the registers that an instruction makes, and those that it reads."""
    text = re.sub(r"//.*", "", line)
    found = re.match(r"\s*(?:@!?\S+\s+)?([a-z][\w.:]*)\s+(.*);", text)
    if not found or found[1].startswith((".", "st", "bar", "bra")):
        return set(), set()
    rest = found[2]
    cut = rest.index("}") + 1 if rest.startswith("{") else rest.find(",")
    name = r"%?\b[A-Za-z]+\d+\b"
    first, second = rest[:cut], rest[cut:]
    return set(re.findall(name, first)), set(re.findall(name, second))


def mixed_packs(ptx: str) -> int:
    """Count the words that moves put together from halves of two words.

    Each is a byte permute when it runs; halves that lie as they did cost nothing.
    """
    halves: dict[str, tuple[str, int]] = {}
    count = 0
    for line in ptx.splitlines():
        found = re.search(r"mov\.b32\s+\{(%\w+), (%\w+)\}, (%\w+);", line)
        if found:
            halves[found[1]], halves[found[2]] = (found[3], 0), (found[3], 1)
        found = re.search(r"mov\.b32\s+(%\w+), \{(%\w+), (%\w+)\};", line)
        if found:
            low, high = halves.get(found[2]), halves.get(found[3])
            whole = low and high and low[0] == high[0] and (low[1], high[1]) == (0, 1)
            count += not whole
    return count


MACHINE = {
    "SHFL": "shfl",
    "PRMT": "prmt",
    "SEL": "selp",
    "FSEL": "selp",
    "STS": "st.shared",
    "LDS": "ld.shared",
    "STSM": "stmatrix",
    "LDSM": "ldmatrix",
    "BAR": "bar.sync",
    "WARPSYNC": "bar.warp",
}
OUTSIDE = {
    "LDG",
    "STG",
    "LDC",
    "ULDC",
    "S2R",
    "S2UR",
    "CS2R",
    "MOV",
    "BRA",
    "EXIT",
    "NOP",
}
"""Not of a conversion: global memory, parameters, control, copies of registers."""


def machine_counts(cubin: str, wheel: str) -> Counter[str]:
    """Count the machine instructions of each class in the whole kernel."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(base64.b64decode(cubin))
        file.flush()
        tool = Path(wheel) / "triton/backends/nvidia/bin/nvdisasm"
        text = subprocess.run(
            [tool, "-c", file.name], capture_output=True, text=True, check=True
        ).stdout
    counts: Counter[str] = Counter()
    for found in re.finditer(r"/\*[0-9a-f]{4}\*/\s+(?:@!?U?P\w+ )?([A-Z0-9]+)", text):
        opcode = found[1]
        if opcode not in OUTSIDE:
            counts[MACHINE.get(opcode, "alu")] += 1
    return counts


def wavefronts(line: str) -> int:
    """Return the wavefronts of a shared-memory instruction without conflicts."""
    found = re.search(r"matrix\.sync\.aligned\.m8n8\.x(\d)", line)
    if found:
        return int(found[1])
    found = re.search(r"(?:st|ld)\.shared(?:\.v(\d))?\.[bsuf](\d+)", line)
    if not found:
        return 0
    return max(1, int(found[1] or 1) * int(found[2]) // 32)


def job(text: str, warps: int, bits: int) -> list[Any]:
    """Return what the child is asked."""
    signature = {"source": f"*i{bits}", "target": f"*i{bits}"}
    return ["compile", text, "probe", signature, warps, 90]


def main() -> None:
    """Compile both sides of each row, print the table and write the result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wheel", default=str(ROOT.parent / ".oracle" / "3.9.0"))
    parser.add_argument(
        "--out", default=str(ROOT / "benchmarks/results/static_conversions.json")
    )
    arguments = parser.parse_args()
    machine = device(TARGET)
    jobs = []
    plans = []
    for _, src, dst, bits in rows():
        found = plan(src, dst, bits, TARGET)
        emission = found.emit("tensor", repeated=False)
        here = distributed(src, "src")
        there = found.dst
        none = plan(src, src, bits, TARGET).emit("tensor")
        load = tensor_probe(none.function, here, here, there="x")
        native = tensor_probe(
            none.function, here, there, there="gl.convert_layout(x, PROBE_DST)"
        )
        store = tensor_probe(none.function, there, there, there="x")
        warps = 1 << hardware_of(found.src).warps
        jobs += [job(t, warps, bits) for t in (emission.probe, native, load, store)]
        plans.append((found, emission))
    with Wheel(arguments.wheel, child=Path(gluon_child.__file__)) as wheel:
        version = wheel.version
        answers = [answer["value"] for answer in wheel.ask(jobs)]
    table = []
    for index, (name, src, dst, bits) in enumerate(rows()):
        ours, native, load, store = answers[4 * index : 4 * index + 4]
        found, emission = plans[index]
        sides: dict[str, Any] = {}
        base = [counted(one["ptx"]) for one in (load, store)]
        for side, answer in (("ours", ours), ("triton", native)):
            counts = counted(answer["ptx"])
            net = {
                kind: max(0, counts[kind] - (base[0][kind] + base[1][kind]) // 2)
                for kind in [*CLASSES, "wavefronts", "thread"]
            }
            thread_only = net.pop("thread")
            sides[side] = {
                "counts": {kind: number for kind, number in net.items() if number},
                "cost": cost(net, machine),
                "thread_arithmetic": thread_only,
                "shared_bytes": answer["shared"],
                "machine_code": dict(machine_counts(answer["cubin"], arguments.wheel)),
            }
        sides["ours"]["shared_bytes"] = found.shared_bytes
        verdict = prove_conversion(ours["ptx"], src, dst, bits)
        table.append(
            {
                "row": name,
                "way": found.way,
                "planned": emission.is_planned,
                "least_shuffles": found.least_shuffles,
                "proved": isinstance(verdict, Proved),
                **sides,
            }
        )
        print(f"{name}: {found.way}")
        for side in ("ours", "triton"):
            print(f"  {side:6} {sides[side]['cost']:8.1f}  {sides[side]['counts']}")
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True
    ).stdout.strip()
    result = {
        "commit": commit,
        "triton": version,
        "target": TARGET,
        "cases": len(table),
        "costs": {k: [c.cycles, c.origin] for k, c in machine.costs},
        "rows": table,
    }
    Path(arguments.out).write_text(json.dumps(result, indent=1) + "\n")
    worse = [r["row"] for r in table if r["ours"]["cost"] > r["triton"]["cost"]]
    print(f"dearer than Triton: {worse or 'none'}")


if __name__ == "__main__":
    main()
