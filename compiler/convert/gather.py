"""Gather along a dim by shuffles: where each element comes from is F2-linear.

Destination place x wants the element whose coordinates are those of x but for one dim,
where the coordinate is read from an index tensor in the same layout: i(x). Its source
place is linear in both, M i xor N x, and if M and N keep the warp, the lane to read
from and the register of that lane are known to the one who reads. A shuffle reads the
same register from all lanes, so the registers that i may select are all fetched, and
the right one is chosen after.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from algebra.affine import AffineLayout
from algebra.dims import BLOCK, LANE, WARP
from algebra.errors import DimMismatchError, NotSolvableError, UnsupportedLayoutError
from algebra.gauss import Echelon
from algebra.layout import LinearLayout
from algebra.verdict import Proved, Refuted, Verdict
from compiler.cost import Device, cost, device

from .hardware import Hardware, Layout, affine, distributed, hardware_of
from .nearest import nearest_source
from .simulate import Ids, images

if TYPE_CHECKING:
    from compiler.codegen.gluon.conversion import FunctionText


@dataclass(frozen=True, slots=True)
class Gather:
    """A plan to gather along a dim within warps.

    Attributes:
        src: Layout of the tensor that is read.
        dst: Layout of the indices and of the result.
        dim: Dim that the indices count.
        device: Target.
        source: Destination place -> source place for index zero.
        along: Index bit -> source place, xored to that.
    """

    src: AffineLayout
    dst: AffineLayout
    dim: str
    device: Device
    source: AffineLayout
    along: tuple[int, ...]

    @property
    def candidates(self) -> list[int]:
        """Register vectors that an index or a thread can add: all are fetched."""
        old, new = hardware_of(self.src), hardware_of(self.dst)
        threads = self.source.linear.columns[new.registers :]
        basis = Echelon([], max(1, len(self.along) + len(threads)))
        chosen = []
        for at, column in enumerate((*self.along, *threads)):
            if basis.add(column & old.register_mask, at):
                chosen.append(column & old.register_mask)
        vectors = [0]
        for vector in chosen:
            vectors += [vector ^ other for other in vectors]
        return vectors

    @property
    def counts(self) -> dict[str, int]:
        """Instruction class -> number for one thread, 32-bit elements."""
        registers = 1 << hardware_of(self.dst).registers
        fetched = len(self.candidates)
        counts = Counter(
            shfl=registers * fetched,
            selp=registers * (fetched - 1),
            alu=registers * 2 * len(self.along),
        )
        return dict(+counts)

    @property
    def cost(self) -> float:
        """Cycles of a multiprocessor for one warp's share [cycles]."""
        return cost(self.counts, self.device)

    def simulate(self, index: Mapping[int, int] | Ids) -> Ids:
        """Return the packed element that each destination place gets.

        Args:
            index: Destination place -> index along the dim.
        """
        places = np.arange(1 << len(self.dst.linear.columns))
        asked = np.array([int(index[int(place)]) for place in places])
        old = hardware_of(self.src)
        source = images(self.source)
        for bit, vector in enumerate(self.along):
            source = source ^ np.where(asked >> bit & 1, vector, 0)
        warps = places >> hardware_of(self.dst).registers + old.lanes
        if (source >> old.registers + old.lanes != warps).any():
            raise AssertionError("a shuffle leaves its warp")
        file = images(self.src)
        lane = source >> old.registers
        register = source & old.register_mask
        fetched = np.full(places.size, -1)
        own = images(self.source)[places] & old.register_mask
        base = own  # the candidates are the same set from any of them
        for vector in self.candidates:
            value = file[lane << old.registers | base ^ vector]
            fetched = np.where(base ^ vector == register, value, fetched)
        return fetched

    def expected(self, index: Mapping[int, int] | Ids) -> Ids:
        """Return what ``simulate`` must return."""
        places = np.arange(1 << len(self.dst.linear.columns))
        asked = np.array([int(index[int(place)]) for place in places])
        low, bits = _position(self.src.linear, self.dim)
        others = images(_without_dim(self.dst, self.src, self.dim))
        return others & ~((1 << bits) - 1 << low) | asked << low

    def prove(self) -> Verdict:
        """Prove for all places and indices that the right element is read."""
        low, bits = _position(self.src.linear, self.dim)
        linear = self.src.linear
        old, new = hardware_of(self.src), hardware_of(self.dst)
        for bit, place in enumerate(self.along):
            if place & old.outer_mask:
                return Refuted(f"index bit {bit} selects another warp")
            if linear.apply_index(place) != 1 << low + bit:
                return Refuted(f"index bit {bit} selects another element")
        if self.source.compose(self.src) != _without_dim(self.dst, self.src, self.dim):
            return Refuted("index zero selects another element")
        columns = [*self.source.linear.columns, self.source.packed_offset]
        for bit, column in enumerate(columns):
            own = 0
            if new.registers + new.lanes <= bit < new.bits:
                own = 1 << bit - new.registers + old.registers
            if (column ^ own) & old.outer_mask:
                return Refuted(f"place bit {bit} leaves its warp")
        facts = (("places", 1 << new.bits), ("indices", 1 << bits))
        return Proved("exact F2 algebra", facts)

    def emit(self, *, name: str = "gather") -> "FunctionText":
        """Return a Gluon function ``name(x, index)`` in hardware form, 32-bit elements.

        Args:
            name: Name of the function.

        Raises:
            UnsupportedLayoutError: several blocks, or not 32 lanes.
        """
        from compiler.codegen.gluon.gather import gather_function  # the door to Triton

        return gather_function(self, name=name)

    def explain(self) -> str:
        """Return the plan in words, with its instructions."""
        fetched = len(self.candidates)
        named = ", ".join(f"{n} {kind}" for kind, n in self.counts.items())
        return "\n".join(
            [
                f"gather along {self.dim} for {self.device.name}, within warps:",
                "  1. find the lane and the register that hold the element",
                f"  2. shuffle: {fetched} registers of that lane",
                f"  3. select one of {fetched}" if fetched > 1 else "  3. take it",
                f"instructions of a thread: {named}",
                f"cost: {self.cost:g} cycles of a multiprocessor a warp",
            ]
        )


def plan_gather(src: Layout, dst: Layout, dim: str, target: str = "sm_90") -> Gather:
    """Return a plan to gather along a dim by shuffles.

    Law: ``result[x] == tensor[coordinates of x, with dim := index[x]]`` for every place
    x of ``dst``; ``prove()`` is ``Proved``.

    Args:
        src: Distributed layout of the tensor, surjective.
        dst: Distributed layout of the indices and the result, on the same threads; of
            the same shape but for ``dim``.
        dim: Out-dim that is gathered along.
        target: As in ``plan``.

    Raises:
        DimMismatchError: shapes or threads differ, or there is no such dim.
        UnsupportedLayoutError: elements along the dim, or of the same rows, are in
            other warps; or the target is unknown.

    Example:
        >>> rows = LinearLayout.from_bases(
        ...     {"register": [[1, 0]], "lane": [[0, 1], [0, 2]]}, ["dim0", "dim1"])
        >>> plan_gather(rows, rows, "dim1").counts
        {'shfl': 2, 'alu': 8}
        >>> plan_gather(rows, rows, "dim0").counts["shfl"]
        4

    Source: Triton ``GatherLoweringHelper``.
    """
    goal = device(target)
    here, there = distributed(src, "src"), distributed(dst, "dst")
    _check(here, there, dim)
    low, bits = _position(here.linear, dim)
    echelon = Echelon(here.linear.columns)
    along = []
    for bit in range(bits):
        remainder, place = echelon.reduce(1 << low + bit)
        if remainder:
            raise UnsupportedLayoutError("src must hold every element of the tensor")
        along.append(place)
    try:
        source = nearest_source(here, _without_dim(there, here, dim))
    except NotSolvableError as error:
        raise UnsupportedLayoutError(str(error)) from error
    found = Gather(here, there, dim, goal, source, tuple(along))
    verdict = found.prove()
    if not isinstance(verdict, Proved):
        assert isinstance(verdict, Refuted), "decided exactly"
        raise UnsupportedLayoutError(
            f"a gather by shuffles needs all of {dim} and the same rows in one warp, "
            f"but {verdict.counterexample}; convert src first, or go through memory",
            dim=dim,
        )
    return found


def _check(src: AffineLayout, dst: AffineLayout, dim: str) -> None:
    shapes = [dict(side.out_dims) for side in (src, dst)]
    if any(dim not in shape for shape in shapes):
        raise DimMismatchError(
            f"src and dst need the dim to gather along, got dim={dim!r}, "
            f"{list(src.out_dims)} and {list(dst.out_dims)}",
            dim=dim,
        )
    for shape in shapes:
        del shape[dim]
    threads = [
        [side.in_dims[name] for name in (LANE, WARP, BLOCK)] for side in (src, dst)
    ]
    if shapes[0] != shapes[1] or threads[0] != threads[1]:
        raise DimMismatchError(
            f"src and dst need the same threads and, but for {dim}, the same shape, "
            f"got {src.in_dims} -> {src.out_dims} and {dst.in_dims} -> {dst.out_dims}",
            dim=dim,
        )


def _position(layout: LinearLayout, dim: str) -> tuple[int, int]:
    """Return the lowest bit and the number of bits of a dim in a packed element."""
    low = 0
    for name, bits in zip(layout.out_names, layout.out_bits, strict=True):
        if name == dim:
            return low, bits
        low += bits
    raise AssertionError("checked before")


def _without_dim(dst: AffineLayout, src: AffineLayout, dim: str) -> AffineLayout:
    """Return ``dst`` with the coordinate of a dim 0, as elements of ``src``."""
    outs = dict(zip(src.linear.out_names, src.linear.out_bits, strict=True))
    kept = dst.linear.transpose_outs(src.linear.out_names)
    here = Hardware(*dst.linear.in_bits)
    columns = []
    for basis in kept.bases.values():
        for vector in basis:
            columns.append(_packed(dict(zip(outs, vector, strict=True)), outs, dim))
    return affine(here.dims, outs, columns, _packed(dst.offset, outs, dim))


def _packed(vector: Mapping[str, int], outs: Mapping[str, int], dim: str) -> int:
    packed = low = 0
    for name, bits in outs.items():
        packed |= 0 if name == dim else vector[name] << low
        low += bits
    return packed
