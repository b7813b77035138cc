"""Evaluate a scheme on a matrix and its infinitesimal displacements at once.

A jet of order k is a matrix ``A + e1 E1 + ... + ek Ek`` where each ``ei`` squares to
zero. It has one component for each subset of the directions; component ``mask`` of a
product is the sum of ``left[part] @ right[mask ^ part]`` over the parts of ``mask``.
The component of all directions of ``exp`` of the jet is the k-th Frechet derivative.
For k=1 that is the structured pair ``(P R, P R' + P' R)``: three products of n x n
instead of one of 2n x 2n, which is eight, and the scaling depends on A alone.

A tape holds the factors of every product of component 0. With it the derivative in any
direction costs two products for each one that the exponential took, and nothing of the
exponential is computed again. Since all factors are polynomials of A, the transposed
tape is the tape of the transposed matrix.

Source: A. H. Al-Mohy, N. J. Higham, Computing the Frechet derivative of the matrix
exponential, SIAM J. Matrix Anal. Appl. 30 (2009), section 3, which differentiates the
same evaluation by hand.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

import torch
from torch import Tensor

from .scheme import SCHEMES, Row, Scheme, choose, squarings

CUBED_SAFELY = 1e6
"""Norms below it have cubes far from overflow."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How one batch of matrices, and no other, is exponentiated.

    Args:
        scheme: The polynomial for all of them.
        halvings: How often each matrix is halved before and squared after [batch].
        broken: Positions of the matrices that hold NaN or infinity.
        powers: Square and cube before scaling, where they decided on it.
    """

    scheme: Scheme
    halvings: tuple[int, ...]
    broken: tuple[int, ...]
    powers: tuple[Tensor, ...] = ()


@dataclass(frozen=True, slots=True)
class Tape:
    """The factors of all products of component 0, in order, and the plan."""

    plan: Plan
    factors: tuple[tuple[Tensor, Tensor], ...]

    def adjoint(self) -> "Tape":
        """Return the tape of the conjugate transposed matrix, as views."""
        return Tape(self.plan, tuple((x.mH, y.mH) for x, y in self.factors))


def make_plan(matrices: Tensor, order: int = 1) -> Plan:
    """Choose scheme and scaling by the largest absolute column sums.

    A dense skew matrix has a norm far above its largest eigenvalue. Where it would
    have to be scaled more than once, the square and the cube are made first: all powers
    but the first are bounded by those of ``max(|A^2|^(1/2), |A^3|^(1/3))``, which asks
    for fewer halvings. (A derivative has first powers of A in it, so its bound is taken
    one order higher.)

    Args:
        matrices: Real or complex floating point [batch, n, n].
        order: Of the highest derivative that must be accurate, at least 1.

    Returns:
        The plan; reading the norms waits for the device.
    """
    roundoff = torch.finfo(matrices.dtype).eps / 2
    norms = one_norms(matrices).tolist()
    limit = torch.finfo(matrices.dtype).max
    largest = max((norm for norm in norms if norm <= limit), default=0.0)
    halvings = [squarings(norm, order, roundoff) for norm in norms]
    powers: tuple[Tensor, ...] = ()
    if max(halvings, default=0) > 1 and largest < CUBED_SAFELY:
        square, cube = torch.empty_like(matrices), torch.empty_like(matrices)
        add_product(square, matrices, matrices, 0)
        add_product(cube, square, matrices, 0)
        powers = square, cube
        roots = torch.maximum(one_norms(square) ** (1 / 2), one_norms(cube) ** (1 / 3))
        fewer = [squarings(root, order + 1, roundoff) for root in roots.tolist()]
        halvings = [min(pair) for pair in zip(halvings, fewer, strict=True)]
    return Plan(
        choose(largest, order, roundoff),
        tuple(halvings),
        tuple(i for i, norm in enumerate(norms) if not norm <= limit),
        powers,
    )


def one_norms(matrices: Tensor) -> Tensor:
    """Return the largest absolute column sum of each matrix [batch].

    Example:
        >>> one_norms(torch.tensor([[[1.0, -2.0], [3.0, 4.0]]])).tolist()
        [6.0]
    """
    return matrices.abs().sum(-2).amax(-1)


def parts(mask: int) -> Iterator[int]:
    """Yield all subsets of a set of directions, itself first, as bit masks.

    Example:
        >>> list(parts(0b101))
        [5, 4, 1, 0]
    """
    part = mask
    while part:
        yield part
        part = (part - 1) & mask
    yield 0


def exp_of_jet(jet: Sequence[Tensor], plan: Plan) -> tuple[list[Tensor], Tape]:
    """Return all components of the exponential of a jet, and the tape.

    Args:
        jet: 2**k components [batch, n, n each].
        plan: From ``make_plan(jet[0])``.

    Returns:
        The 2**k components and the tape of component 0.
    """
    evaluation = _Evaluation(plan, len(jet), None)
    components = evaluation.run(jet)
    return components, Tape(replace(plan, powers=()), tuple(evaluation.recorded))


def derivative_from_tape(tape: Tape, direction: Tensor) -> Tensor:
    """Return the derivative of the exponential whose factors are on the tape.

    Args:
        tape: Of the exponential of ``A``, or its adjoint for ``A.mH``.
        direction: E [batch, n, n].

    Returns:
        ``L(A, E)`` [batch, n, n].
    """
    nothing = direction.new_empty(0)
    return _Evaluation(tape.plan, 2, tape.factors).run([nothing, direction])[1]


class _Evaluation:
    """One run of a scheme; with a tape, component 0 is not computed."""

    def __init__(
        self,
        plan: Plan,
        components: int,
        factors: tuple[tuple[Tensor, Tensor], ...] | None,
    ) -> None:
        self.plan = plan
        self.masks = range(0 if factors is None else 1, components)
        self.factors = iter(factors or ())
        self.replayed = factors is not None
        self.recorded: list[tuple[Tensor, Tensor]] = []

    def run(self, jet: Sequence[Tensor]) -> list[Tensor]:
        scheme = self.plan.scheme
        count = 2 + len(scheme.products)
        registers = [self.room_for(count, x) for x in jet]
        scales = self.scales(jet[-1])
        for mask in self.masks:
            torch.mul(jet[mask], scales, out=registers[mask][1])
        for position, (left, right) in enumerate(scheme.products, 2):
            last = position == count - 1
            if last:
                result = self.combine(registers, scheme.result, fresh=True)
            lefts = self.combine(registers, left)
            rights = lefts if left == right else self.combine(registers, right)
            if not last:
                result = [x[position] if x.numel() else x for x in registers]
            known = self.power(position)
            self.multiply(lefts, rights, result, accumulate=last, known=known)
        if not scheme.products:
            result = self.combine(registers, scheme.result, fresh=True)
        return self.square(result)

    def room_for(self, count: int, like: Tensor) -> Tensor:
        """Registers of one component; the identity is never stored."""
        return like.new_empty((count, *like.shape)) if like.numel() else like

    def scales(self, like: Tensor) -> Tensor | float:
        halvings = self.plan.halvings
        if len(halvings) == 1 or not any(halvings):
            return 0.5 ** halvings[0]  # a number needs no copy to the device
        powers = [0.5**count for count in halvings]
        scales = torch.tensor(powers, dtype=like.real.dtype, device=like.device)
        return scales.view(-1, 1, 1)

    def power(self, register: int) -> Tensor | None:
        """Return the scaled power of component 0 if the plan has it."""
        powers = self.plan.powers
        if self.replayed or not 2 <= register < 2 + len(powers):
            return None
        return powers[register - 2] * self.scales(powers[0]) ** register

    def combine(
        self, registers: Sequence[Tensor], row: Row, fresh: bool = False
    ) -> list[Tensor]:
        """Combine registers linearly; a lone one is given as it is unless fresh."""
        first, end = span(row)
        lone = end - first == 1 and row[first] == 1 and not row[0] and not fresh
        combined = []
        for mask, stack in enumerate(registers):
            if mask not in self.masks:
                combined.append(stack)
                continue
            if lone:
                combined.append(stack[first])
                continue
            coefficients = on_device(row[first:end], stack.dtype, stack.device)
            flat = stack[first:end].reshape(end - first, -1)
            sum = torch.mm(coefficients, flat).view(stack.shape[1:])
            if mask == 0 and row[0]:
                sum.diagonal(dim1=-2, dim2=-1).add_(row[0])
            combined.append(sum)
        return combined

    def multiply(
        self,
        lefts: Sequence[Tensor],
        rights: Sequence[Tensor],
        target: Sequence[Tensor],
        accumulate: bool,
        known: Tensor | None = None,
    ) -> None:
        """Write the product of two jets to the target, or add it.

        Component 0 may be known already.
        """
        if self.replayed:
            left, right = next(self.factors)
            lefts, rights = [left, *lefts[1:]], [right, *rights[1:]]
        else:
            self.recorded.append((lefts[0], rights[0]))
        for mask in self.masks:
            if mask == 0 and known is not None:
                target[0].copy_(known)
                continue
            beta = int(accumulate)
            for part in parts(mask):
                add_product(target[mask], lefts[part], rights[mask ^ part], beta)
                beta = 1

    def square(self, jet: list[Tensor]) -> list[Tensor]:
        halvings = self.plan.halvings
        for done in range(max(halvings, default=0)):
            due = [i for i, count in enumerate(halvings) if count > done]
            everyone = len(due) == len(halvings)
            factor = [x if everyone or not x.numel() else x[due] for x in jet]
            product = [torch.empty_like(x) for x in factor]
            self.multiply(factor, factor, product, accumulate=False)
            if everyone:
                jet = product
                continue
            for mask in self.masks:
                jet[mask][due] = product[mask]
        return jet


def span(row: Row) -> tuple[int, int]:
    """Return the first register but the identity that a row uses, and the end.

    Args:
        row: Coefficients, not all zero.

    Example:
        >>> span((1.0, 0.0, 2.0, 3.0, 0.0))
        (2, 4)
    """
    used = [i for i in range(1, len(row)) if row[i]]
    return used[0], used[-1] + 1


@cache
def prepare(dtype: torch.dtype, device: torch.device) -> None:
    """Copy the last scheme's coefficients to a device, before a graph is recorded.

    Args:
        dtype: Of the matrices.
        device: Where they are.
    """
    scheme = SCHEMES[-1]
    for row in (scheme.result, *(row for pair in scheme.products for row in pair)):
        first, end = span(row)
        on_device(row[first:end], dtype, device)


@cache
def on_device(row: Row, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Return coefficients as a tensor [1, coefficients], copied once.

    Args:
        row: The coefficients.
        dtype: Of the tensor.
        device: Of the tensor.

    Example:
        >>> on_device((1.0, 0.5), torch.float64, torch.device("cpu"))
        tensor([[1.0000, 0.5000]], dtype=torch.float64)
    """
    return torch.tensor([row], dtype=dtype, device=device)


def add_product(target: Tensor, left: Tensor, right: Tensor, beta: int) -> None:
    """Set ``target = beta * target + left @ right`` in place.

    Args:
        target: Written to [batch, n, n].
        left: [batch, n, n].
        right: [batch, n, n].
        beta: 0 ignores what the target held.
    """
    if target.shape[0] == 1:
        target[0].addmm_(left[0], right[0], beta=beta)
    else:
        target.baddbmm_(left, right, beta=beta)
