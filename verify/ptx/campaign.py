"""Compile random conversions with a Triton wheel and prove what it emits."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from algebra.verdict import Verdict
from verify.oracle import Wheel

from .conversion import prove_conversion
from .random_conversions import Conversion
from .ttgir_kernel import conversion_kernel

CHILD = Path(__file__).with_name("child.py")
ARCH = 90


@dataclass(frozen=True, slots=True)
class Outcome:
    """One conversion, compiled and judged.

    Attributes:
        conversion: What was asked for.
        verdict: About its PTX; ``None`` where the wheel gave none.
        refusal: What the wheel said instead, or how it died.
        ptx: The text.
        shared_bytes: Dynamic shared memory of the kernel [bytes].
        compile_seconds: Time in the wheel [seconds].
        proof_seconds: Processor time for the verdict [seconds].
    """

    conversion: Conversion
    verdict: Verdict | None
    refusal: str = ""
    ptx: str = ""
    shared_bytes: int = 0
    compile_seconds: float = 0.0
    proof_seconds: float = 0.0


def ptx_wheel(path: str | Path | None = None) -> Wheel:
    """Return a Triton wheel that turns TTGIR into PTX in a process of its own.

    Args:
        path: Folder that holds the wheel, or ``None`` for the installed one.
    """
    return Wheel(path, child=CHILD)


def judge(
    wheel: Wheel, conversions: Sequence[Conversion], arch: int = ARCH
) -> Iterator[Outcome]:
    """Yield the outcome of each conversion, in order.

    Args:
        wheel: From ``ptx_wheel``.
        conversions: What to compile.
        arch: Compute capability times ten.
    """
    release = ".".join(wheel.version.split(".")[:2])
    jobs = [
        [
            "ptx",
            conversion_kernel(
                *c.spelling(release), c.shape, c.element_bits, c.warps, arch
            ),
            arch,
        ]
        for c in conversions
    ]
    for conversion, answer in zip(conversions, wheel.ask(jobs), strict=True):
        if "value" not in answer:
            yield Outcome(conversion, None, next(iter(answer.values())))
            continue
        found = answer["value"]
        started = time.process_time()
        verdict = prove_conversion(
            found["ptx"],
            *conversion.layouts(release),
            conversion.element_bits,
            shared_bytes=found["shared"],
        )
        yield Outcome(
            conversion,
            verdict,
            ptx=found["ptx"],
            shared_bytes=found["shared"],
            compile_seconds=found["seconds"],
            proof_seconds=time.process_time() - started,
        )
