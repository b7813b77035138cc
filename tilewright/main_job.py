"""The main job: proofs, a picture, an explanation and two permutations on real input.

Each step ends with lines for a person and a verdict; a step that finds something wrong
does not keep the others from running.
"""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from algebra.encodings import DotOperand, NvidiaMma
from algebra.render import Clip, element_table
from algebra.verdict import Proved
from compiler.convert import Movement, classify
from compiler.convert.explain import in_words

if TYPE_CHECKING:
    import torch

SEED = 2505
WEIGHT = 4096
"""Rows and columns of the int4 weight [elements]."""

IMAGES = (12, 4, 256, 256)
"""Shape of the image batch: images, channels, height, width."""


@dataclass(frozen=True, slots=True)
class Step:
    """What one step of the job found.

    Attributes:
        name: What the step does.
        good: Whether everything was as it should be.
        lines: The findings, for a person.
        seconds: How long it took [s].
        facts: The findings, for a program.
    """

    name: str
    good: bool
    lines: tuple[str, ...]
    seconds: float
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Report:
    """What the job found."""

    steps: tuple[Step, ...]

    @property
    def good(self) -> bool:
        """Whether every step was good."""
        return all(step.good for step in self.steps)

    def text(self) -> str:
        """Return the report for a person."""
        lines = []
        for number, step in enumerate(self.steps, 1):
            mark = "ok" if step.good else "FAIL"
            lines.append(f"{number}. {step.name} [{mark}, {step.seconds:.1f} s]")
            lines += [f"   {line}".rstrip() for line in step.lines]
            lines.append("")
        wrong = [step.name for step in self.steps if not step.good]
        total = sum(step.seconds for step in self.steps)
        lines.append(
            f"FAIL: {'; '.join(wrong)}"
            if wrong
            else f"PASS: {len(self.steps)} steps in {total:.1f} s"
        )
        return "\n".join(lines)

    def facts(self) -> dict[str, Any]:
        """Return the report for a program."""
        return {
            "good": self.good,
            "steps": [
                {"name": s.name, "good": s.good, "seconds": s.seconds, **s.facts}
                for s in self.steps
            ],
        }


Finding = tuple[bool, list[str], dict[str, Any]]


def main_job(begin: Callable[[str], None] = lambda name: None) -> Report:
    """Do the five steps.

    Args:
        begin: Is told the name of each step, and of each encoding, as it begins.

    Returns:
        The report; a step that raises is a step that is not good.
    """
    steps = []
    for name, work in STEPS.items():
        begin(name)
        started = time.perf_counter()
        try:
            good, lines, facts = work()
        except Exception as error:
            good, facts = False, {"error": type(error).__name__}
            lines = [f"{type(error).__name__}: {error}"]
        seconds = time.perf_counter() - started
        steps.append(Step(name, good, tuple(lines), seconds, facts))
    return Report(tuple(steps))


def prove_vectors() -> Finding:
    """Compare each vector with its layout, and prove that with its index formula.

    A vector holds the bases that the Triton wheel computed; the proof is about every
    position, against a formula that knows nothing of linear layouts.
    """
    from proofs.recorded import KINDS, vectors_of
    from verify import prove_encoding

    proved: Counter[str] = Counter()
    wrong = []
    for kind in KINDS:
        for vector in vectors_of(kind):
            about = f"{vector.encoding!r}, shape {list(vector.shape)}"
            if not vector.agrees(vector.layout()):
                wrong.append(f"{about}: the wheel's bases are {vector.bases}")
                continue
            verdict = prove_encoding(
                vector.encoding, vector.shape, release=vector.release
            )
            if isinstance(verdict, Proved):
                proved[kind] += 1
            else:
                wrong.append(f"{about}: {verdict}")
    missing = [kind for kind in KINDS if not proved[kind]]
    lines = [f"{kind:16} {proved[kind]:4} equal to Triton's, proved" for kind in KINDS]
    lines += wrong[:5] + [f"nothing proved for {kind}" for kind in missing]
    facts = {"proved": dict(proved), "wrong": len(wrong)}
    return not wrong and not missing, lines, facts


def show_layout() -> Finding:
    """Show who holds the result of one tensor core instruction."""
    mma = NvidiaMma(version=(2, 0), warps_per_cta=(1, 1), instr_shape=(16, 8))
    layout = mma.to_linear_layout([16, 8])
    lines = ["mma.m16n8: which lane and register holds each element (rows 0-3, 8-9)"]
    table = element_table(layout, Clip(rows=10)).splitlines()
    lines += table[:6] + table[10:12]
    return layout.is_invertible, lines, {"bases": layout.bases}


def explain_conversion() -> Finding:
    """Explain FlashAttention's conversion of P, fp16 and fp8, on Hopper."""
    accumulator = NvidiaMma(
        version=(3, 0), warps_per_cta=(4, 1), instr_shape=(16, 64, 16)
    )
    src = accumulator.to_linear_layout([64, 64])
    movements = {}
    for name, k_width in (("fp16", 2), ("fp8", 4)):
        operand = DotOperand(op_idx=0, parent=accumulator, k_width=k_width)
        conversion = classify(src, operand.to_linear_layout([64, 64]))
        movements[name] = conversion.movement
    lines = [
        f"fp16 (k_width 2): {movements['fp16'].value}",
        "fp8 (k_width 4):",
        *(f"  {line}" for line in in_words(conversion).splitlines()),
    ]
    good = movements == {"fp16": Movement.NOTHING, "fp8": Movement.WITHIN_WARP}
    return good, lines, {name: way.value for name, way in movements.items()}


def permute_weight() -> Finding:
    """Permute an int4 weight into Marlin's order; compare with PyTorch's indexing."""
    import torch

    from compiler import permute
    from compiler.permutations import marlin_weight

    generator = torch.Generator().manual_seed(SEED)
    size = (WEIGHT, WEIGHT)
    weight = torch.randint(0, 16, size, dtype=torch.uint8, generator=generator)
    permute(weight[:16], marlin_weight(16, WEIGHT))
    started = time.perf_counter()
    ours = permute(weight, marlin_weight(WEIGHT, WEIGHT))
    seconds = time.perf_counter() - started
    started = time.perf_counter()
    theirs = marlin_by_indexing(weight)
    other = time.perf_counter() - started
    equal = torch.equal(ours, theirs)
    words = torch.equal(packed(ours), packed(theirs))
    lines = [
        f"{WEIGHT} x {WEIGHT} int4, seed {SEED}: {_equality(equal and words)}",
        f"permute {seconds * 1e3:.0f} ms, PyTorch {other * 1e3:.0f} ms",
    ]
    return equal and words, lines, {"seconds": seconds, "pytorch_seconds": other}


def marlin_by_indexing(weight: "torch.Tensor") -> "torch.Tensor":
    """Return Marlin's order of a K x N weight by PyTorch's reshapes and one index list.

    A unit is four 16 x 16 tiles in a row. Thread t of a warp takes column t // 4 (and
    8 further) of rows 2 (t % 4), the next one, and both 8 further, from each tile; its
    eight values are dealt out even ones first.
    """
    import torch

    deal = (0, 2, 4, 6, 1, 3, 5, 7)
    order = []
    for thread in range(32):
        column, row = thread // 4, 2 * (thread % 4)
        held = [
            16 * (row + down) + column + 8 * right
            for right in (0, 1)
            for down in (0, 1, 8, 9)
        ]
        order += [256 * tile + held[value] for tile in range(4) for value in deal]
    rows, columns = weight.shape
    tiles = weight.reshape(rows // 16, 16, columns // 16, 16).permute(0, 2, 1, 3)
    units = tiles.reshape(-1, 1024)[:, torch.tensor(order)]
    return units.reshape(rows, columns)


def packed(values: "torch.Tensor") -> "torch.Tensor":
    """Pack int4 values, one a byte, into words of eight, the first lowest."""
    import torch

    nibbles = values.reshape(-1, 8).to(torch.int64)
    shifts = torch.arange(0, 32, 4)
    return (nibbles << shifts).sum(1)


def permute_images() -> Finding:
    """Permute an image batch to channels-last; compare with PyTorch."""
    import torch

    from compiler import permute
    from compiler.permutations import nchw_to_nhwc

    generator = torch.Generator().manual_seed(SEED)
    images = torch.rand(IMAGES, generator=generator)
    count, channels, height, width = IMAGES
    layout = nchw_to_nhwc(channels, height, width)
    started = time.perf_counter()
    ours = permute(images, layout).reshape(count, height, width, channels)
    seconds = time.perf_counter() - started
    equal = torch.equal(ours, images.permute(0, 2, 3, 1).contiguous())
    lines = [
        f"{' x '.join(map(str, IMAGES))} float32, seed {SEED}: {_equality(equal)}",
        f"permute {seconds * 1e3:.0f} ms (first call)",
    ]
    return equal, lines, {"seconds": seconds}


def _equality(equal: bool) -> str:
    return "equal to PyTorch" if equal else "NOT equal to PyTorch"


STEPS: dict[str, Callable[[], Finding]] = {
    "prove the encodings of the vectors": prove_vectors,
    "show a layout": show_layout,
    "explain FlashAttention-3's fp8 P -> A operand": explain_conversion,
    "permute an int4 weight to Marlin's order": permute_weight,
    "permute images NCHW -> NHWC": permute_images,
}
"""The steps of the job, in order."""
