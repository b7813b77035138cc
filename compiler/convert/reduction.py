"""Reductions along dims of a tensor: each element once, whatever the layout repeats.

The places whose element differs from that of place zero along the reduced dims only
are a subspace; those that hold the very same element, copies, are another one inside.
Representatives of the one modulo the other, one place vector for each bit of the
reduced dims, say which values to combine: registers where registers do, then lanes,
then warps. A file is known by its content, place -> element, and by the subspace V of
elements that each place has combined so far: it holds the sum over a coset of V. A
vector that brings something new makes V larger by one dimension; a copy never does.

* ``Fold``: a thread combines two of its registers; half of them are left.
* ``Exchange``: each lane combines what another lane of its warp has.
* ``Pass``: one place of each set of copies stores to shared memory, and every thread
  loads and combines what the other warps have.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from algebra.affine import AffineLayout
from algebra.errors import DimMismatchError, UnsupportedLayoutError
from algebra.gauss import Echelon, kernel
from algebra.layout import LinearLayout
from algebra.verdict import Verdict
from compiler.cost import Device, cost, device

from .copies import without_copies
from .hardware import Hardware, Layout, affine, distributed, hardware_of
from .steps import Registers

if TYPE_CHECKING:
    from compiler.codegen.gluon.conversion import FunctionText


@dataclass(frozen=True, slots=True)
class Fold:
    """Combine register r with r xor ``place``; keep those with ``pivot`` 0.

    Attributes:
        place: Register bits.
        pivot: The register bit that goes.
    """

    place: int
    pivot: int


@dataclass(frozen=True, slots=True)
class Exchange:
    """Combine each place x with place x xor ``place`` of the same warp.

    Attributes:
        place: Register and lane bits.
    """

    place: int


@dataclass(frozen=True, slots=True)
class Pass:
    """Combine each place x with x xor all sums of ``places``, through shared memory.

    Attributes:
        address: Place -> offset, one for each coset of V.
        silent: Bits of a place: who has one of them set holds a copy and stores not.
        places: Vectors that change warps.
    """

    address: AffineLayout
    silent: int
    places: tuple[int, ...]


ReductionStep = Registers | Fold | Exchange | Pass


@dataclass(frozen=True, slots=True)
class Reduction:
    """A plan to reduce a tensor along some dims.

    Attributes:
        src: Layout of the tensor.
        dims: Out-dims that are reduced.
        dst: Layout of the result, over the other dims: ``src`` without registers that
            were combined.
        device: Target.
        steps: What to execute.
    """

    src: AffineLayout
    dims: tuple[str, ...]
    dst: AffineLayout
    device: Device
    steps: tuple[ReductionStep, ...]

    @property
    def counts(self) -> dict[str, int]:
        """Instruction class -> number for one thread, 32-bit elements."""
        return dict(_work(self.src, self.steps))

    @property
    def cost(self) -> float:
        """Cycles of a multiprocessor for one warp's share [cycles]."""
        counts = self.counts
        combined = counts.pop("add", 0)
        return cost({**counts, "alu": combined}, self.device)

    @property
    def shared_bytes(self) -> int:
        """Shared memory of one block, 32-bit elements [bytes]."""
        sizes = [
            4 << step.address.linear.out_bits[0]
            for step in self.steps
            if isinstance(step, Pass)
        ]
        return max(sizes, default=0)

    def simulate(self) -> bool:
        """Run the steps on the multiplicities of elements; whether all are right."""
        from .reduction_judges import simulate  # which reads the steps

        return simulate(self.src, self.steps, self.dims, self.dst)

    def prove(self) -> Verdict:
        """Prove that each place gets each element of its fibre exactly once."""
        from .reduction_judges import prove  # which reads the steps

        return prove(self.src, self.steps, self.dims, self.dst)

    def emit(
        self,
        operation: str,
        dtype: str,
        *,
        name: str = "reduce",
        repeated: bool = True,
    ) -> "FunctionText":
        """Return a Gluon function ``name(x)`` in hardware form, 32-bit elements.

        Args:
            operation: ``"sum"``, ``"max"``, ``"min"`` or ``"xor"``.
            dtype: ``"float32"`` or ``"int32"``.
            name: Name of the function.
            repeated: Whether it may run more than once in a kernel.

        Raises:
            UnsupportedLayoutError: an operation or type without an instruction, several
                blocks, more than 48 KiB of shared memory, or not 32 lanes.
        """
        from compiler.codegen.gluon.reduction import reduction_function

        return reduction_function(self, operation, dtype, name=name, repeated=repeated)

    def explain(self) -> str:
        """Return the steps in words, with instructions and memory."""
        lines = [f"reduction of {', '.join(self.dims)} for {self.device.name}:"]
        here = hardware_of(self.src)
        for number, step in enumerate(self.steps, 1):
            lines.append(f"  {number}. {_words(step, here)}")
            here = after(step, here)
        named = ", ".join(f"{n} {kind}" for kind, n in self.counts.items())
        lines.append(f"instructions of a thread: {named or 'none'}")
        if self.shared_bytes:
            lines.append(f"shared memory: {self.shared_bytes} bytes")
        lines.append(f"cost: {self.cost:g} cycles of a multiprocessor a warp")
        return "\n".join(lines)


def plan_reduction(
    src: Layout, dims: Sequence[str], target: str = "sm_90"
) -> Reduction:
    """Return a plan to reduce a tensor along dims, without combining anything twice.

    Law: ``plan_reduction(...).prove()`` is ``Proved``.

    Args:
        src: Distributed layout, linear or affine.
        dims: Out-dims to reduce; at least one.
        target: As in ``plan``.

    Raises:
        DimMismatchError: ``src`` lacks one of ``dims``.
        UnsupportedLayoutError: a layout isn't distributed or surjective, elements to
            combine lie in different blocks, or the target is unknown.

    Example:
        >>> rows = LinearLayout.from_bases(
        ...     {"register": [[1, 0]], "lane": [[0, 1], [0, 0]]}, ["dim0", "dim1"])
        >>> plan_reduction(rows, ["dim0"]).counts
        {'add': 1}
        >>> plan_reduction(rows, ["dim1"]).counts
        {'shfl': 2, 'add': 2}
    """
    goal = device(target)
    here = distributed(src, "src")
    missing = [dim for dim in dims if dim not in here.linear.out_names]
    if missing or not dims:
        raise DimMismatchError(
            f"a reduction needs dims of src, among {list(here.linear.out_names)}, got "
            f"{list(dims)}",
            dims=tuple(dims),
        )
    if not here.linear.is_surjective:
        raise UnsupportedLayoutError("src must hold every element of the tensor")
    steps: list[ReductionStep] = []
    drop, content = without_copies(here)
    steps += drop
    done: list[int] = []
    vectors = _representatives(content, dims)
    if any(place & hardware_of(content).block_mask for place in vectors):
        raise UnsupportedLayoutError(
            "elements to combine lie in different blocks; reduce inside each block"
        )
    while vectors and vectors[0] <= hardware_of(content).register_mask:
        place, *others = vectors
        pivot = place.bit_length() - 1
        steps.append(Fold(place, pivot))
        done.append(content.linear.apply_index(place))
        cleared = [v ^ (place if v >> pivot & 1 else 0) for v in others]
        vectors = [_without(v, pivot) for v in cleared]
        content = without_register(content, pivot)
    outer = hardware_of(content).outer_mask
    for place in vectors:
        if not place & outer:
            steps.append(Exchange(place))
            done.append(content.linear.apply_index(place))
    warps = [place for place in vectors if place & outer]
    if warps:
        steps.append(_pass(content, Echelon(done), warps))
    rest = [name for name in here.linear.out_names if name not in dims]
    return Reduction(here, tuple(dims), projected(content, rest), goal, tuple(steps))


def after(step: ReductionStep, here: Hardware) -> Hardware:
    """Return the sizes of the file that a step leaves."""
    if isinstance(step, Registers):
        return hardware_of(step.source)
    if isinstance(step, Fold):
        return here.with_registers(here.registers - 1)
    return here


def _representatives(content: AffineLayout, dims: Sequence[str]) -> list[int]:
    """Return a place vector for each bit of the reduced dims, the nearest ones."""
    axis = axis_mask(content.linear, dims)
    columns = content.linear.columns
    found: list[int] = []
    span = Echelon([], max(1, len(columns)))
    for place in sorted(kernel([column & ~axis for column in columns])):
        if span.add(content.linear.apply_index(place), len(found)):
            found.append(place)
    return found


def axis_mask(layout: LinearLayout, dims: Sequence[str]) -> int:
    """Return the bits of a packed element that belong to some dims."""
    mask = position = 0
    for name, bits in zip(layout.out_names, layout.out_bits, strict=True):
        if name in dims:
            mask |= (1 << bits) - 1 << position
        position += bits
    return mask


def _without(place: int, bit: int) -> int:
    """Take one bit, which is 0, out of a place."""
    return place & (1 << bit) - 1 | place >> bit + 1 << bit


def without_register(content: AffineLayout, pivot: int) -> AffineLayout:
    """Return what is held where one register bit is 0."""
    here = hardware_of(content)
    columns = list(content.linear.columns)
    del columns[pivot]
    outs = dict(zip(content.linear.out_names, content.linear.out_bits, strict=True))
    less = here.with_registers(here.registers - 1)
    return affine(less.dims, outs, columns, content.packed_offset)


def projected(content: AffineLayout, names: Sequence[str]) -> AffineLayout:
    """Return a layout over some of its out-dims."""
    linear = content.linear.sublayout(content.linear.in_names, tuple(names))
    return AffineLayout(linear, {name: content.offset[name] for name in names})


def _pass(content: AffineLayout, combined: Echelon, warps: Sequence[int]) -> Pass:
    """Give each coset of what is combined an address, lanes first."""
    here = hardware_of(content)
    sums = [combined.reduce(column)[0] for column in content.linear.columns]
    lanes = range(here.registers, here.registers + here.lanes)
    others = [bit for bit in range(here.bits) if bit not in lanes]
    basis = Echelon([], max(1, here.bits))
    position: dict[int, int] = {}
    for bit in (*lanes, *others):
        if basis.add(sums[bit], bit):
            position[bit] = len(position)
    columns = []
    silent = 0
    for bit, element in enumerate(sums):
        tag = basis.reduce(element)[1]
        columns.append(sum(1 << at for of, at in position.items() if tag >> of & 1))
        if bit not in position:
            silent |= 1 << bit
    address = affine(here.dims, {"offset": len(position)}, columns, 0)
    return Pass(address, silent, tuple(warps))


def _work(src: AffineLayout, steps: Sequence[ReductionStep]) -> Counter[str]:
    counts: Counter[str] = Counter()
    here = hardware_of(src)
    for step in steps:
        registers = 1 << here.registers
        match step:
            case Fold():
                counts["add"] += registers // 2
            case Exchange():
                counts["shfl"] += registers
                counts["add"] += registers
            case Pass():
                active = here.registers - (step.silent & here.register_mask).bit_count()
                values = 1 << len(step.places)
                counts["st.shared"] += 1 << active
                counts["ld.shared"] += registers * values
                counts["wavefronts"] += (1 << active) + registers * values
                counts["bar.sync"] += 1
                counts["add"] += registers * (values - 1)
        here = after(step, here)
    return counts


def _words(step: ReductionStep, here: Hardware) -> str:
    match step:
        case Registers():
            return "drop copies in registers"
        case Fold():
            return (
                f"combine registers: {1 << here.registers} -> {1 << here.registers - 1}"
            )
        case Exchange():
            lane = (step.place & here.lane_mask) >> here.registers
            return f"combine with lane xor {lane}"
        case Pass():
            silent = step.silent.bit_count()
            copies = f", one of {1 << silent} copies" if silent else ""
            return f"store{copies}; barrier; combine {1 << len(step.places)} loads"
