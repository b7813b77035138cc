"""Products of matrices as reductions: which axes are rows, which are columns."""

from dataclasses import dataclass

import torch

from .expression import Expression, leaves, make
from .kernel import Kernel, Reduction, Stage, Store
from .node import Axis, Product
from .points import Points
from .scalar import HALF_TYPES, apply, cast


@dataclass(frozen=True, slots=True)
class Factors:
    """A reduction that is a product of matrices.

    Attributes:
        result: Name of the sum.
        left: The load over rows and term.
        right: The load over term and columns.
        rows: Axes that only the left factor has, in the kernel's order.
        columns: Axes that only the right factor has, in the kernel's order.
        term: What is summed over.
    """

    result: str
    left: Expression
    right: Expression
    rows: tuple[Axis, ...]
    columns: tuple[Axis, ...]
    term: Axis


def stages_of(product: Product) -> tuple[Stage, ...]:
    """Return what a kernel does for a product: one reduction, then the stores.

    Law: a kernel over the product's axes and, inside, its term with these stages
    computes the product.
    """
    term = apply("mul", cast(product.left, "float32"), cast(product.right, "float32"))
    stages: list[Stage] = [Reduction((product.sum,), "sum", (term,), ("float32",))]
    written = zip(product.buffers, product.targets, product.values, strict=True)
    for buffer, target, value in written:
        stages.append(Store(buffer.name, target, value, False))
    return tuple(stages)


def sum_of(product: Product) -> Expression:
    """Return the leaf by which a product's values read the sum."""
    return make("local", (), "float32", product.sum)


def factors_of(kernel: Kernel) -> Factors | None:
    """Return a kernel's reduction as a product of matrices.

    Returns:
        None unless the kernel begins with one float32 sum, over one axis, of products
        of two loads of one half type, and has no other; and each outer axis occurs in
        exactly one of the loads, and some in each.
    """
    stage, *others = kernel.stages or (None,)
    if not isinstance(stage, Reduction) or len(kernel.inner) != 1 or stage.folded:
        return None
    if not all(isinstance(other, Store) and not other.inner for other in others):
        return None
    value = stage.values[0]
    if (stage.reducer, value.op, value.dtype) != ("sum", "mul", "float32"):
        return None
    loads = [arg.args[0] for arg in value.args if arg.op == "cast"]
    if len(loads) != 2 or any(load.op != "load" for load in loads):
        return None
    if loads[0].dtype not in HALF_TYPES or loads[1].dtype != loads[0].dtype:
        return None
    (term,) = kernel.inner
    left, right = (set(leaves("digit", *load.args)) for load in loads)
    digits = {axis.digit for axis in kernel.outer}
    if left | right != digits | {term.digit} or left & right != {term.digit}:
        return None
    rows = tuple(axis for axis in kernel.outer if axis.digit in left)
    columns = tuple(axis for axis in kernel.outer if axis.digit in right)
    if not rows or not columns:
        return None
    return Factors(stage.results[0], loads[0], loads[1], rows, columns, term)


def multiplied(
    factors: Factors, outer: tuple[Axis, ...], left: Points, right: Points
) -> torch.Tensor:
    """Return the product at all points of the outer axes, in float32.

    Args:
        factors: The product.
        outer: The axes in the order in which the result has them.
        left: All points over the rows and the term.
        right: All points over the term and the columns.
    """
    a = left.tensor(factors.left).to(torch.float32)
    b = right.tensor(factors.right).to(torch.float32)
    inner = a.shape[-1]
    made = a.reshape(-1, inner) @ b.reshape(inner, -1)
    made = made.reshape(*a.shape[:-1], *b.shape[1:])
    order = [*factors.rows, *factors.columns]
    return made.permute([order.index(axis) for axis in outer])
