"""What a kernel's TTGIR costs that a person could change, by source line.

Nothing runs. For each access to global memory: how many elements a thread moves at
once, and how many 32-byte sectors a warp touches next to the fewest possible. For each
conversion of layout that the compiler left: how far elements move. For each access to
shared memory: its bank conflicts, exactly, by the rank formula of ``algebra``.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from algebra import bank_conflicts
from algebra.errors import LayoutError
from algebra.layout import LinearLayout
from algebra.ttgir import parse_encoding
from compiler.convert import classify
from verify.mlir import (
    Module,
    Operation,
    TensorType,
    Type,
    operations_of,
    read_module,
)
from verify.ttir import evaluate, function_of
from verify.ttir.arithmetic import bits_of

from .sectors import Traffic, traffic_of


@dataclass(frozen=True, slots=True)
class Line:
    """What one operation costs.

    Attributes:
        source: Source line.
        kind: ``load``, ``store``, ``atomic``, ``conversion`` or ``shared``.
        text: For a person.
        vector: Elements that a thread moves at once; of global accesses.
        sectors: 32-byte sectors that a warp touches at once.
        least_sectors: The fewest that hold as many bytes.
        movement: How far a conversion moves elements.
        conflicts: Extra wavefronts of an access to shared memory.
    """

    source: str
    kind: str
    text: str
    vector: int = 0
    sectors: int = 0
    least_sectors: int = 0
    movement: str = ""
    conflicts: int = 0


@dataclass(frozen=True, slots=True)
class PerformanceReport:
    """The lines, in the order of the kernel.

    Attributes:
        kernel: Name.
        lines: One for each operation that moves data.
    """

    kernel: str
    lines: tuple[Line, ...]

    @property
    def conversions(self) -> tuple[Line, ...]:
        """The conversions of layout that are left, beyond renamed registers."""
        return tuple(
            line
            for line in self.lines
            if line.kind == "conversion" and line.movement not in ("no-op", "registers")
        )

    @property
    def max_bank_conflicts(self) -> int:
        """The most extra wavefronts of an access to shared memory."""
        return max((line.conflicts for line in self.lines), default=0)

    def __str__(self) -> str:
        width = max((len(line.source) for line in self.lines), default=0)
        return "\n".join(
            [
                f"{self.kernel}:",
                *(f"  {line.source:<{width}}  {line.text}" for line in self.lines),
            ]
        )


def performance_of(
    kernel: Any,
    signature: Mapping[str, str],
    constants: Mapping[str, Any],
    *,
    aligned: tuple[str, ...] = (),
    num_warps: int = 4,
    arch: int = 90,
) -> PerformanceReport:
    """Compile a kernel for a GPU that need not be there, and report.

    Args:
        kernel: A ``@triton.jit`` function.
        signature: Parameter -> type in Triton's spelling.
        constants: Values of the ``tl.constexpr`` parameters.
        aligned: Parameters that are multiples of 16.
        num_warps: Warps of a program.
        arch: Compute capability times ten.
    """
    from compiler.triton_api import compile_kernel

    compiled = compile_kernel(
        kernel, signature, constants, aligned=aligned, num_warps=num_warps, arch=arch
    )
    return performance(compiled.asm["ttgir"])


def performance(text: str) -> PerformanceReport:
    """Report on TTGIR text.

    Raises:
        ParseError: the text is malformed; names line and construct.
    """
    module = read_module(text)
    function = function_of(module, None)
    layouts = Layouts(module)
    traffic = traffic_of(evaluate(module), layouts)
    lines: list[Line] = []
    for operation in operations_of(function.body):
        lines += _lines(module, operation, layouts, traffic)
    return PerformanceReport(function.name, tuple(lines))


def assert_no_conversion(report: PerformanceReport) -> None:
    """Fail where a conversion of layout is left; for use in tests.

    Raises:
        AssertionError: names the lines.
    """
    if report.conversions:
        listed = "; ".join(f"{c.source}: {c.text}" for c in report.conversions)
        raise AssertionError(f"conversions of layout in {report.kernel}: {listed}")


class Layouts:
    """Reads the layouts of a module's types."""

    def __init__(self, module: Module) -> None:
        self.header = "\n".join(
            f"{name} = {text}"
            for name, text in module.aliases.items()
            if text.startswith(("#ttg.", "#ttng.")) and "shared_memory" not in text
        )
        self.known: dict[tuple[str, tuple[int, ...]], LinearLayout | None] = {}

    def of(self, kind: Type) -> LinearLayout | None:
        """Return the layout of a tensor; ``None`` where it is not known."""
        if not isinstance(kind, TensorType) or not kind.encoding:
            return None
        key = (kind.encoding, kind.shape)
        if key not in self.known:
            try:
                encoding = parse_encoding(f"{self.header}\n{kind.encoding}")
                self.known[key] = encoding.to_linear_layout(list(kind.shape))
            except LayoutError:
                self.known[key] = None
        return self.known[key]


def _lines(
    module: Module,
    operation: Operation,
    layouts: Layouts,
    traffic: Mapping[int, Traffic],
) -> Iterator[Line]:
    source = module.source_of(operation)
    found = traffic.get(operation.line)
    if found is not None:
        bits = found.vector * found.element_bits
        text = (
            f"{found.kind} of {found.buffer}: {bits} bits a thread, {found.sectors} "
            f"sectors a warp ({found.least} at least)"
        )
        yield Line(
            source,
            found.kind,
            text,
            vector=found.vector,
            sectors=found.sectors,
            least_sectors=found.least,
        )
    if operation.name == "ttg.convert_layout":
        yield _conversion(source, operation, layouts)
    if operation.name in ("ttg.local_alloc", "ttg.local_load", "ttg.local_store"):
        yield from _shared(source, operation, layouts)


def _conversion(source: str, operation: Operation, layouts: Layouts) -> Line:
    src = layouts.of(operation.types[0])
    dst = layouts.of(operation.result_type())
    movement = "unknown"
    if src is not None and dst is not None:
        try:
            movement = str(classify(src, dst).movement.value)
        except LayoutError as error:
            movement = f"unknown: {error}"
    text = f"conversion of {operation.types[0]}: {movement}"
    return Line(source, "conversion", text, movement=movement)


def _shared(source: str, operation: Operation, layouts: Layouts) -> Iterator[Line]:
    kinds = [*operation.types, *operation.result_types]
    memory = [k for k in kinds if isinstance(k, TensorType) and k.memory]
    values = [k for k in kinds if isinstance(k, TensorType) and not k.memory]
    if not memory or not values:
        return
    shared, value = layouts.of(memory[0]), layouts.of(values[0])
    what = operation.name.partition(".")[2]
    if shared is None or value is None:
        yield Line(source, "shared", f"{what}: a layout that is not modelled")
        return
    try:
        count = bank_conflicts(value, shared, bits_of(values[0]))
    except LayoutError as error:
        yield Line(source, "shared", f"{what}: {error}")
        return
    text = f"{what} of {values[0]}: {count} bank conflicts"
    yield Line(source, "shared", text, conflicts=count)
